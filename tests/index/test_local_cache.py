"""What a cache directory holds beside copies is not the cache's."""

from __future__ import annotations

import os
from pathlib import Path

from rtfilter.store.packindex.local_cache import LocalCache, digest_name

OLD = 0


def put(cache: LocalCache, content: bytes) -> Path:
    scratch = cache.scratch()
    Path(scratch).write_bytes(content)
    return Path(cache.admit(scratch, digest_name(scratch)))


def test_the_bound_removes_copies_and_nothing_else(tmp_path: Path) -> None:
    theirs = [tmp_path / name for name in ("notes.txt", "data.parquet", ".scratch-theirs", f"{'g' * 64}.parquet")]
    for each in theirs:
        each.write_bytes(b"x" * 1_000)
        os.utime(each, (OLD, OLD))
    (tmp_path / f"{'0' * 64}.parquet").mkdir()
    cache = LocalCache(str(tmp_path), limit_bytes=250)
    first, second, third = (put(cache, bytes([number]) * 100) for number in range(3))
    assert not first.exists() and second.exists() and third.exists()
    assert all(each.read_bytes() == b"x" * 1_000 for each in theirs) and (tmp_path / f"{'0' * 64}.parquet").is_dir()


def test_what_others_have_there_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 1_000)
    cache = LocalCache(str(tmp_path), limit_bytes=250)
    assert all(put(cache, bytes([number]) * 100).exists() for number in range(2))


def test_scratch_files_of_processes_that_are_gone_are_removed(tmp_path: Path) -> None:
    cache = LocalCache(str(tmp_path), limit_bytes=250)
    left = Path(cache.scratch())
    os.utime(left, (OLD, OLD))
    put(cache, b"new")
    assert not left.exists()
