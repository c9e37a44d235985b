"""Files in the place of others with the same size and time, which Spark's listing can't tell apart."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa

from rtfilter.store.tables.footer_store import FooterStore
from tests.store.tables_at_hand import kept, keys, loaded, verdict_on, write


def numbers(*values: int) -> pa.Array:
    return pa.array(values, pa.int32())


def test_a_file_replaced_by_one_of_its_size_and_time_is_unknown_at_once_and_read_again(store: FooterStore, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    other = write(tmp_path / "other.parquet", {"a": numbers(*range(50, 70)), "b": numbers(*range(50, 70))})
    write(path, {"a": numbers(*range(20)), "b": numbers(*range(20))})
    digest = loaded(store, [path], "a")
    assert kept(store, digest, "a", keys(55)) == [False, False]
    used = store.used_bytes
    take_the_place_of(path, other)
    assert verdict_on(store, digest, "a", keys(55)).counts.tolist() == [-1]
    assert store.used_bytes < used
    store.prefetch(digest, ["b"])
    assert kept(store, digest, "b", keys(55)) == [True, False]
    # What was known of the other column is of the file before.
    assert kept(store, digest, "a", keys(55)) == [True, True]
    store.prefetch(digest, ["a"])
    assert kept(store, digest, "a", keys(55)) == [True, False]


def test_a_file_written_over_with_its_size_and_time_is_unknown_in_every_list(store: FooterStore, tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{i}.parquet", {"a": numbers(*range(20))}) for i in range(2)]
    digests = [loaded(store, paths, "a", digest="both"), loaded(store, paths[1:], "a", digest="one")]
    assert [kept(store, digest, "a", keys(55)) for digest in digests] == [[False] * 4, [False] * 2]
    take_the_place_of(paths[1], write(tmp_path / "other.parquet", {"a": numbers(*range(50, 70))}), in_place=True)
    assert [verdict_on(store, digest, "a", keys(55)).counts.tolist() for digest in digests] == [[2, -1], [-1]]
    for digest in digests:
        store.prefetch(digest, ["a"])
    assert [kept(store, digest, "a", keys(55)) for digest in digests] == [[False, False, True, False], [True, False]]


def take_the_place_of(path: Path, other: Path, in_place: bool = False) -> None:
    """Puts another file of the same size there, or its content, with the time that the file before had (`cp -p`, `touch -r`)."""
    status = path.stat()
    assert status.st_size == other.stat().st_size
    # A clock of files may tick slowly.
    time.sleep(0.02)
    if in_place:
        path.write_bytes(other.read_bytes())
    else:
        os.replace(other, path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
