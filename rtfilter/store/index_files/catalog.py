"""The table files and packs that a snapshot knows, and where the packs of a listing are among them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rtfilter.errors import IndexStorageError
from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.index_files.data_files import concatenated, open_data_file
from rtfilter.store.index_files.index_problems import INDEX_TOO_LARGE, IndexProblemError
from rtfilter.store.index_files.open_limits import UNLIMITED, Allowance
from rtfilter.store.index_files.segments import FILES_SCHEMA, PACKS_SCHEMA
from rtfilter.store.index_files.snapshot import Snapshot
from rtfilter.store.index_files.storage import IndexFiles
from rtfilter.store.parquet.paths import below, local_path
from rtfilter.store.sketches.arrays import Bools, Int64s

# What a pack and a file take in memory, the file's path apart.
_PACK_BYTES = 16
_FILE_BYTES = 420


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as the index knows it; its packs are numbered through all segments."""

    path: str
    size_bytes: int
    mtime_ms: int
    digest: bytes
    first_pack: int
    packs: int


@dataclass(frozen=True, slots=True)
class Located:
    """The packs of a listing. `counts` (int32): packs of each file, -1 for one that the index does not know as it is now.

    The other arrays have an entry per pack of the known files, in list order: its number in the index, its start and its rows.
    """

    counts: npt.NDArray[np.int32]
    numbers: Int64s
    starts: Int64s
    rows: Int64s

    @property
    def files_unknown(self) -> int:
        return int(np.count_nonzero(self.counts < 0))


class Catalog:
    """All files and packs of one snapshot."""

    def __init__(self, files: Sequence[IndexedFile], starts: Int64s, rows: Int64s, root: str) -> None:
        # Of two entries of one path the later one is of the later segment.
        self.by_path = {file.path: file for file in files}
        self.starts, self.rows, self.root = starts, rows, root.rstrip("/")

    @property
    def bytes(self) -> int:
        """About what it takes in memory."""
        return _PACK_BYTES * len(self.starts) + _FILE_BYTES * len(self.by_path) + sum(map(len, self.by_path))

    def find(self, file: FileIdentity) -> IndexedFile | None:
        """The entry of a listed file, when size and time are as they were."""
        found = self.by_path.get(stored_path(file.path, self.root))
        if found is None or (found.size_bytes, found.mtime_ms) != (file.size_bytes, file.mtime_ms):
            return None
        return found

    def locate(self, files: Sequence[FileIdentity], trusted: Bools | None = None) -> Located:
        """Where the packs of these files are; files that are not `trusted` count as unknown."""
        found = [self.find(file) if trusted is None or trusted[i] else None for i, file in enumerate(files)]
        counts = np.array([-1 if each is None else each.packs for each in found], dtype=np.int32)
        known = [each for each in found if each is not None]
        lengths = np.array([each.packs for each in known], dtype=np.int64)
        firsts = np.array([each.first_pack for each in known], dtype=np.int64)
        before = np.cumsum(lengths) - lengths
        numbers = np.arange(int(lengths.sum()), dtype=np.int64)
        moved = firsts - before
        if len(moved) and bool((moved == moved[0]).all()):
            # All in the order of the index: a million packs need not be copied.
            numbers += moved[0]
            together = slice(int(moved[0]), int(moved[0]) + len(numbers))
            return Located(counts, numbers, self.starts[together], self.rows[together])
        numbers += np.repeat(moved, lengths)
        return Located(counts, numbers, self.starts[numbers], self.rows[numbers])


def stored_path(path: str, root: str) -> str:
    """How an index writes a file's path: below the table's root without it, else as Hadoop's text."""
    inside = below(path, root)
    if inside is not None:
        return inside
    local = local_path(path)
    return path if local is None else f"file:{local}"


def load_catalog(
    storage: IndexFiles, snapshot: Snapshot, root: str, allowance: Allowance = UNLIMITED, most_bytes: float = math.inf
) -> Catalog:
    """The files and packs of a snapshot.

    Raises:
        IndexStorageError: a file of the index is missing or damaged, or contradicts itself, or it takes more than is allowed.
    """
    files: list[IndexedFile] = []
    first = 0
    rows = sum(_PACK_BYTES * segment.packs.rows + _FILE_BYTES * segment.files.rows for segment in snapshot.segments)
    _check_memory(rows, most_bytes)
    path_bytes = 0
    # Filled one row group after the other: tables of all and arrays beside them would take twice as much.
    starts, pack_rows = (np.empty(snapshot.packs, dtype=np.int64) for _ in PACKS_SCHEMA.names)
    for segment in snapshot.segments:
        groups = []
        for table in open_data_file(storage, segment.files, FILES_SCHEMA).read_groups():
            allowance.check()
            path_bytes += table["path"].nbytes
            _check_memory(rows + path_bytes, most_bytes)
            groups.append(table)
        listed = concatenated(groups, FILES_SCHEMA)
        at = first
        for table in open_data_file(storage, segment.packs, PACKS_SCHEMA).read_groups():
            allowance.check()
            if any(column.null_count for column in table.columns):
                raise IndexStorageError(f"the packs of the index in {storage.place} have nulls where none can be.")
            starts[at : at + table.num_rows], pack_rows[at : at + table.num_rows] = (np.asarray(each) for each in table.columns)
            at += table.num_rows
        try:
            files += _indexed_files(listed, first, segment.packs.rows)
        except (pa.ArrowException, ValueError) as error:
            raise IndexStorageError(f"{segment.files.name} of the index is damaged: {error}.") from error
        first += segment.packs.rows
    return Catalog(files, starts, pack_rows, root)


def _check_memory(size_bytes: float, most_bytes: float) -> None:
    if size_bytes > most_bytes:
        raise IndexProblemError(
            INDEX_TOO_LARGE,
            f"its files and packs would take {size_bytes / 2**20:.0f} MiB of memory, and may take {most_bytes / 2**20:.0f}; raise "
            "rtfilter.footers.cacheBytes.",
        )


def _indexed_files(table: Any, first: int, packs: int) -> Iterator[IndexedFile]:
    """The files of a segment whose packs are numbered from `first` on.

    Raises:
        ValueError, pa.ArrowException: something is missing or impossible.
    """
    if any(column.null_count for column in table.columns):
        raise ValueError("something of a file is missing")
    begins, counts = (np.asarray(table[name]).astype(np.int64, copy=False) for name in ("first_pack", "packs"))
    # Without sums, which may be beyond 64 bits.
    if bool(((begins < 0) | (counts < 0) | (begins > packs) | (counts > packs - begins)).any()):
        raise ValueError(f"a file has packs that are not among the segment's {packs}")
    in_order = np.argsort(begins[counts > 0], kind="stable")
    ends = (begins + counts)[counts > 0][in_order]
    if bool((begins[counts > 0][in_order][1:] < ends[:-1]).any()):
        raise ValueError("two files have the same packs")
    if len(set(table["path"].to_pylist())) != table.num_rows:
        raise ValueError("a file is there twice")
    columns = (table[name].to_pylist() for name in ("path", "size_bytes", "mtime_ms", "footer_digest"))
    return map(IndexedFile, *columns, (begins + first).tolist(), counts.tolist())
