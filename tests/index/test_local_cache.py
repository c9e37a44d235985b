"""What a cache directory holds beside copies is not the cache's, and a copy is believed only for its content."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rtfilter.errors import IndexStorageError
from rtfilter.store.index_files import local_cache
from rtfilter.store.index_files.index_problems import problem_of
from rtfilter.store.index_files.local_cache import LocalCache, digest_name

OLD = 0


def put(cache: LocalCache, content: bytes) -> Path:
    scratch = cache.scratch()
    Path(scratch).write_bytes(content)
    return Path(cache.admit(scratch, digest_name(scratch)))


def name_of(copy: Path) -> str:
    return f"data/{copy.name}"


@pytest.fixture
def cache(tmp_path: Path) -> LocalCache:
    return LocalCache(str(tmp_path / "cache"), limit_bytes=250)


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """As a process that has just begun."""
    return lambda: monkeypatch.setattr(local_cache, "_checked", local_cache._Checked())


def test_the_bound_removes_copies_and_nothing_else(cache: LocalCache) -> None:
    folder = Path(put(cache, b"").parent)
    names = ("notes.txt", "data.parquet", ".scratch-theirs", f"{'g' * 64}.parquet")
    theirs = [Path(at) / name for at in (cache.directory, folder) for name in names]
    for each in theirs:
        each.write_bytes(b"x" * 1_000)
        os.utime(each, (OLD, OLD))
    (folder / f"{'0' * 64}.parquet").mkdir()
    first, second, third = (put(cache, bytes([number]) * 100) for number in range(3))
    assert not first.exists() and second.exists() and third.exists()
    assert all(each.read_bytes() == b"x" * 1_000 for each in theirs) and (folder / f"{'0' * 64}.parquet").is_dir()


def test_what_others_have_there_does_not_count(cache: LocalCache) -> None:
    (put(cache, b"").parent / "large").write_bytes(b"x" * 1_000)
    assert all(put(cache, bytes([number]) * 100).exists() for number in range(2))


def test_scratch_files_of_processes_that_are_gone_are_removed(cache: LocalCache) -> None:
    left = Path(cache.scratch())
    os.utime(left, (OLD, OLD))
    put(cache, b"new")
    assert not left.exists()


def test_a_forged_copy_is_removed_when_a_process_first_meets_it(cache: LocalCache, forgetful: Callable[[], None]) -> None:
    copy = put(cache, b"true")
    forgetful()
    assert cache.find(name_of(copy)) == str(copy)
    forgetful()
    copy.write_bytes(b"lies")
    assert cache.find(name_of(copy)) is None and not copy.exists()
    assert cache.find(name_of(put(cache, b"true"))) == str(copy)


def test_a_copy_that_is_replaced_while_the_process_runs_is_looked_at_again(cache: LocalCache) -> None:
    copy = put(cache, b"true")
    other = copy.with_name("other")
    other.write_bytes(b"lies")
    other.replace(copy)
    assert cache.find(name_of(copy)) is None and not copy.exists()


def test_a_sound_copy_is_read_once_in_a_process(
    cache: LocalCache, forgetful: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = put(cache, b"true")
    read: list[str] = []

    def counted(path: str) -> str:
        read.append(path)
        return digest_name(path)

    forgetful()
    monkeypatch.setattr(local_cache, "digest_name", counted)
    assert [cache.find(name_of(copy)) for _ in range(3)] == [str(copy)] * 3 and read == [str(copy)]


@pytest.mark.parametrize("make", [lambda path, to: path.symlink_to(to), lambda path, _: os.mkfifo(path)])
def test_what_is_no_file_in_a_copys_place_is_not_followed_and_goes(
    cache: LocalCache, tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    copy = put(cache, b"true")
    outside = tmp_path / "outside"
    copy.rename(outside)
    make(copy, outside)
    assert cache.find(name_of(copy)) is None and not os.path.lexists(copy) and outside.read_bytes() == b"true"


def test_a_directory_that_others_can_write_to_gives_nothing_and_takes_nothing(cache: LocalCache) -> None:
    copy = put(cache, b"true")
    Path(cache.directory).chmod(0o777)
    uses: list[Callable[[], object]] = [cache.scratch, lambda: cache.find(name_of(copy)), lambda: cache.check_room(1)]
    for use in uses:
        with pytest.raises(IndexStorageError, match="others can write to it") as failure:
            use()
        assert problem_of(failure.value).reason == "INDEX_CACHE" and cache.directory in str(failure.value)


def test_copies_are_for_their_user_alone_whatever_the_umask(cache: LocalCache) -> None:
    before = os.umask(0)
    try:
        copy = put(cache, b"true")
        again = Path(cache.scratch())
        again.unlink()
        again.write_bytes(b"made anew by whoever copied")
        made_anew = Path(cache.admit(str(again), digest_name(str(again))))
    finally:
        os.umask(before)
    assert [each.stat().st_mode & 0o777 for each in (copy, made_anew, copy.parent)] == [0o600, 0o600, 0o700]
