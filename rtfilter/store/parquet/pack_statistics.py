"""Pack statistics out of Parquet footers.

A footer is read with pyarrow, the asked columns go into arrays, pyarrow's object is dropped. Whatever is not certain becomes
"no bounds", which means that the pack is read; a file that cannot be understood becomes a `FooterProblem`. Nothing is raised.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rtfilter.store.parquet.arrays import Int64s
from rtfilter.store.parquet.column_bounds import ColumnBounds, column_bounds
from rtfilter.store.parquet.file_origin import file_origin
from rtfilter.store.parquet.footer_digest import SignedFooterError, pack_starts
from rtfilter.store.parquet.statistics_check import leaves_of_other_widths, needs_a_look, stored_width
from rtfilter.store.parquet.table_footer import TableFooter, table_footer, undecodable

# The size of most footers; a larger one costs a second read.
FIRST_READ_BYTES = 64 << 10
LARGEST_FOOTER_BYTES = 256 << 20
# What an array costs beyond its elements.
ARRAY_OVERHEAD_BYTES = 128
# A file that has not changed for this time is settled; on other filesystems, whose clock is another one.
SETTLED_S = 2.0
SETTLED_ELSEWHERE_S = 60.0

_MAGIC = b"PAR1"
_ENCRYPTED_MAGIC = b"PARE"


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A top-level column of a file under an asked name; `bounds` is None when its type cannot be used.

    `problem`: why this column of the file can't be understood, or its bounds not believed; else empty.
    """

    name: str
    bounds: ColumnBounds | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FileStats:
    """The packs of one file, in file order.

    `footer` is a 64-bit digest of the footer: it tells a file from another one of its size and time, which Spark's listing can't.
    `starts` are byte offsets as parquet-java's BlockMetaData.getStartingPos gives them. `columns` has an entry for every asked name
    in lower case: the top-level columns that it may mean. `status` is the `status_digest` of a local file, 0 for any other.
    `settled`: the file was old enough when it was read that whatever is put in its place has another time. `tail`: of a footer that
    the bridge has brought, the digest of the file's tail.
    """

    footer: int
    starts: Int64s
    rows: Int64s
    columns: Mapping[str, tuple[FileColumn, ...]]
    status: int = 0
    settled: bool = False
    tail: bytes = b""

    def bounds_of(self, name: str, case_sensitive: bool) -> ColumnBounds | None:
        """The bounds of a column by Spark's name for it; None when it is missing, ambiguous or of another kind."""
        matching = self._matching(name, case_sensitive)
        return matching[0].bounds if len(matching) == 1 else None

    def problem_of(self, name: str, case_sensitive: bool) -> str:
        """Why a column can't be understood, or its bounds not believed; else empty."""
        return next((column.problem for column in self._matching(name, case_sensitive) if column.problem), "")

    def _matching(self, name: str, case_sensitive: bool) -> tuple[FileColumn, ...]:
        matching = self.columns.get(name.lower(), ())
        return tuple(column for column in matching if column.name == name) if case_sensitive else matching

    def with_columns_of(self, other: FileStats) -> FileStats:
        """The same packs, with the columns of both; only these where the footers differ (a file replaced unnoticed)."""
        if self.footer != other.footer:
            return self
        return replace(self, columns={**other.columns, **self.columns})

    @property
    def memory_bytes(self) -> int:
        arrays: list[Any] = [self.starts, self.rows]
        for matching in self.columns.values():
            for column in matching:
                if column.bounds is not None:
                    arrays += column.bounds.arrays
        array_bytes: int = sum(array.nbytes + ARRAY_OVERHEAD_BYTES for array in arrays)
        return array_bytes + ARRAY_OVERHEAD_BYTES * (1 + len(self.columns))


@dataclass(frozen=True, slots=True)
class FooterProblem:
    """Why nothing is known of a file."""

    reason: str


def read_local_footer(path: str, size_bytes: int, mtime_ms: int, columns: Iterable[str]) -> FileStats | FooterProblem:
    """Statistics of the asked columns of a local file, which must still have the size and time of Spark's listing."""
    began_ns = time.time_ns()
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not matches_listing(status, size_bytes, mtime_ms):
                return FooterProblem("the file has changed since it was listed")
            tail = _read_at(file, max(0, size_bytes - FIRST_READ_BYTES))
            wanted_bytes = footer_tail_bytes(tail[-8:], size_bytes)
            if isinstance(wanted_bytes, FooterProblem):
                return wanted_bytes
            if wanted_bytes > len(tail):
                tail = _read_at(file, size_bytes - wanted_bytes)
    except OSError as error:
        return FooterProblem(f"the file can't be read: {error}")
    found = parse_footer_tail(tail[-wanted_bytes:], columns)
    if isinstance(found, FooterProblem):
        return found
    return replace(
        found, status=status_digest(status), settled=is_settled(max(status.st_mtime_ns, status.st_ctime_ns), began_ns, SETTLED_S)
    )


def is_settled(changed_ns: int, now_ns: int, margin_s: float) -> bool:
    """Whether a file that last changed then can't change again now and have the same time: clocks of files tick slowly."""
    return changed_ns + int(margin_s * 1e9) < now_ns


def status_digest(status: os.stat_result) -> int:
    """64 bits, not 0, of a file's times in ns and its inode: a file put in another's place, or written over, has others, even where
    its size and its time of change were made those of the file before (`cp -p`, `touch -r`).

    Without the number of the device: machines that mount one disk give it numbers of their own, and no copy of a file has its inode
    and the time of its latest change of status.
    """
    return hash((status.st_mtime_ns, status.st_ctime_ns, status.st_ino)) & (2**64 - 1) or 1


def matches_listing(status: os.stat_result, size_bytes: int, mtime_ms: int) -> bool:
    """Whether a file is still the one that was listed (Hadoop's times are in ms)."""
    return status.st_size == size_bytes and status.st_mtime_ns // 1_000_000 == mtime_ms


def _read_at(file: Any, offset: int) -> bytes:
    file.seek(offset)
    data: bytes = file.read()
    return data


def footer_tail_bytes(end: bytes, size_bytes: int) -> int | FooterProblem:
    """From a file's last 8 bytes the size of its tail: footer, length, magic."""
    if end[-4:] == _ENCRYPTED_MAGIC:
        return FooterProblem("the footer is encrypted")
    if len(end) < 8 or end[-4:] != _MAGIC:
        return FooterProblem("not a Parquet file, or cut off")
    tail_bytes = int.from_bytes(end[:4], "little") + 8
    if tail_bytes > min(size_bytes, LARGEST_FOOTER_BYTES):
        return FooterProblem(f"the footer claims to have {tail_bytes - 8} bytes")
    return tail_bytes


def parse_footer_tail(tail: bytes, columns: Iterable[str]) -> FileStats | FooterProblem:
    """Statistics of the asked columns out of a file's raw tail: footer, 4-byte length, magic."""
    wanted_bytes = footer_tail_bytes(tail[-8:], len(tail))
    if isinstance(wanted_bytes, FooterProblem):
        return wanted_bytes
    try:
        wanted = sorted({name.lower() for name in columns})
        return _file_stats(table_footer(tail, wanted), tail[:-8], wanted)
    except SignedFooterError as error:
        return FooterProblem(str(error))
    except Exception as error:  # pyarrow raises many kinds; none may leave the store
        return FooterProblem(f"the footer can't be understood: {error}")


def _file_stats(parsed: TableFooter, footer: bytes, wanted: list[str]) -> FileStats | FooterProblem:
    metadata = parsed.metadata
    packs = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    try:
        starts = pack_starts(metadata)
    except ValueError as error:
        # The bridge tells packs apart by their start.
        return FooterProblem(str(error))
    rows = np.array([pack.num_rows for pack in packs], dtype=np.int64)
    found = _find_columns(metadata.schema, wanted)
    problems = {**_wrong_widths(metadata, footer, found), **parsed.lost}
    origin = file_origin(metadata, footer)

    def column(name: str, leaf: int | None) -> FileColumn:
        if leaf is None or name in problems:
            return FileColumn(name, None, problems.get(name, ""))
        try:
            bounds = column_bounds(metadata.schema.column(leaf), packs, leaf, origin)
            return FileColumn(name, bounds, "" if bounds is None or bounds.is_believed else _why_not_believed(metadata))
        except Exception as error:  # of many kinds, for statistics that pyarrow can't decode; the other columns stay
            return FileColumn(name, None, undecodable(error))

    columns = {name: tuple(column(*each) for each in matching) for name, matching in found.items()}
    return FileStats(_digest(footer), np.array(starts, dtype=np.int64), rows, columns)


def _why_not_believed(metadata: Any) -> str:
    return f"the bounds that {metadata.created_by or 'a writer without a name'} stores of such columns may leave values out"


def _wrong_widths(metadata: Any, footer: bytes, found: Mapping[str, list[tuple[str, int | None]]]) -> dict[str, str]:
    """The columns that pyarrow must not be asked about."""
    if not needs_a_look(metadata.created_by):
        return {}
    names = {leaf: name for matching in found.values() for name, leaf in matching if leaf is not None}
    widths = {leaf: width for leaf in names if (width := stored_width(metadata.schema.column(leaf))) is not None}
    return {names[leaf]: "its statistics have the wrong length" for leaf in leaves_of_other_widths(footer, widths)}


def _digest(footer: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(footer, digest_size=8).digest(), "little")


def _find_columns(schema: Any, wanted: list[str]) -> dict[str, list[tuple[str, int | None]]]:
    """For each asked name in lower case the top-level columns of that name: real name and leaf number, None for nested ones."""
    found: dict[str, list[tuple[str, int | None]]] = {name: [] for name in wanted}
    for leaf in range(len(schema)):
        column = schema.column(leaf)
        path: str = column.path
        lowered = path.lower()
        for name in wanted:
            if lowered == name and path == column.name:
                found[name].append((path, leaf))
            elif lowered.startswith(name + "."):
                # A group of that name, or one whose name begins so: a second meaning in either case.
                group = (path[: len(name)], None)
                if group not in found[name] and path != column.name:
                    found[name].append(group)
    return found
