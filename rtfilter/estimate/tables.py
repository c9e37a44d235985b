"""The tables of a log as they are now, where this machine can open them: footers of the large ones, keys of the small ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from planner.plan.types import INTEGRAL_WIDTH
from rtfilter.advice.event_logs.fingerprints import local_path
from rtfilter.advice.event_logs.queries import ScanFacts
from rtfilter.errors import RtFilterError
from rtfilter.estimate.pushed_filters import expression_of
from rtfilter.store.bounds.filters import BytesSetFilter, EmptyFilter, KeyFilter, RangesFilter, filter_of_keys
from rtfilter.store.index_actions.listing import ListedTable, list_directory
from rtfilter.store.sketches.arrays import ByteStrings
from rtfilter.store.sketches.domain import pack_values
from rtfilter.store.tables.footer_store import FooterStore
from rtfilter.store.tables.verdict import ColumnFilter

# A build side of more rows is not read; the bounds of its packs stand for its keys.
MOST_BUILD_ROWS = 20_000_000
MOST_TEXTS = 1_000_000
FOOTER_WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class PacksKept:
    """What is left of a table's packs. Bytes are those of the scan's columns."""

    packs: int
    kept: int
    rows: int
    rows_kept: int
    bytes: int
    bytes_kept: int


@dataclass(frozen=True, slots=True)
class BuildKeys:
    """Keys that the build side had at most. `rows`: how many of the table's `of_rows` passed the scan's own conditions, None where
    only bounds are known. `is_whole`: whether all conditions that Spark has pushed down were tried. `distinct`: number of keys."""

    keys: KeyFilter
    rows: int | None
    of_rows: int
    is_whole: bool
    distinct: int = 0

    @property
    def share(self) -> float | None:
        """The share of the table's rows that passed."""
        return None if self.rows is None or not self.of_rows else self.rows / self.of_rows


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of trying the build side's keys on the packs of the other side. `are_just_those`: whether it had just these keys;
    `key_share`: of its table's rows those that passed its own conditions; `keys`: how many were tried. None: not known."""

    packs: PacksKept | None = None
    are_just_those: bool = False
    key_share: float | None = None
    keys: int | None = None


NOT_TRIED = Tried()


class Tables:
    """Tables by the names and paths that a log has for them. `named`: paths that were given, by name."""

    def __init__(self, named: Mapping[str, str]) -> None:
        self.named = {name.lower(): path for name, path in named.items()}
        self.unreadable: dict[str, str] = {}
        self._footers = FooterStore()
        self.listed = cache(self._listed)
        self._bytes = cache(self._bytes_of_packs)

    def close(self) -> None:
        self._footers.close()

    def paths(self, scan: ScanFacts) -> tuple[str, ...]:
        """Where a scan's table is on this machine; empty where it is not."""
        names = [scan.name.lower(), *(scan.table.lower().split(".") if scan.table else ())]
        for name in (scan.table.lower() if scan.table else "", *names[::-1], names[0]):
            if name in self.named:
                return (self.named[name],)
        found = [local_path(path) for path in scan.paths]
        return tuple(path for path in found if path is not None) if None not in found and scan.has_all_paths else ()

    def packs_kept(self, scan: ScanFacts, column: str, type_: str, keys: KeyFilter) -> PacksKept | None:
        """Which packs of a scan's table can hold one of these keys; None where footers can't be read."""
        table = self._table(scan)
        if table is None:
            return None
        digest = "|".join(self.paths(scan))
        files = table.files
        self._footers.add_list(digest, [f.path for f in files], [f.size_bytes for f in files], [f.mtime_ms for f in files])
        self._footers.prefetch(digest, [column])
        verdict = self._footers.verdict(digest, [ColumnFilter(column, type_, keys)], wait_s=FOOTER_WAIT_S)
        sizes = self._bytes(self.paths(scan), tuple(name.lower() for name, _ in scan.columns))
        if verdict is None or bool((verdict.counts < 0).any()) or sizes is None or len(sizes) != len(verdict.rows):
            self.unreadable.setdefault(scan.name, "a footer of it can't be read")
            return None
        keep = verdict.keep[0]
        rows = verdict.rows
        return PacksKept(
            packs=len(rows),
            kept=int(keep.sum()),
            rows=int(rows.sum()),
            rows_kept=int(rows[keep].sum()),
            bytes=int(sizes.sum()),
            bytes_kept=int(sizes[keep].sum()),
        )

    def build_keys(self, scan: ScanFacts, column: str, type_: str) -> BuildKeys | None:
        """The keys that a build side's table has under the scan's own conditions; None where it can't be read."""
        table = self._table(scan)
        if table is None:
            return None
        try:
            return _read_keys([file.local for file in table.files], scan.filters, column, type_)
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            self.unreadable.setdefault(scan.name, str(error).split("\n", 1)[0])
            return None

    def _table(self, scan: ScanFacts) -> ListedTable | None:
        paths = self.paths(scan)
        if not paths:
            self.unreadable.setdefault(scan.name, "its files are not on this machine")
            return None
        found = self.listed(paths)
        if isinstance(found, str):
            self.unreadable.setdefault(scan.name, found)
            return None
        return found

    def _listed(self, paths: tuple[str, ...]) -> ListedTable | str:
        try:
            tables = [list_directory(path) for path in paths]
        except RtFilterError as error:
            return str(error)
        return ListedTable(tables[0].name, tables[0].root, tuple(file for table in tables for file in table.files))

    def _bytes_of_packs(self, paths: tuple[str, ...], columns: tuple[str, ...]) -> np.ndarray | None:
        table = self.listed(paths)
        sizes = []
        for file in table.files if isinstance(table, ListedTable) else ():
            try:
                metadata = pq.read_metadata(file.local or "")
            except (pa.ArrowException, OSError):
                return None
            for number in range(metadata.num_row_groups):
                group = metadata.row_group(number)
                chunks = [group.column(at) for at in range(group.num_columns)]
                sizes.append(sum(c.total_compressed_size for c in chunks if c.path_in_schema.split(".")[0].lower() in columns))
        return np.array(sizes, dtype=np.int64)


def can_compare(probe: str, build: str) -> bool:
    """Whether values of two columns have one domain of keys."""
    return probe == build or (probe in INTEGRAL_WIDTH and build in INTEGRAL_WIDTH)


def _read_keys(files: list[str], filters: str, column: str, type_: str) -> BuildKeys | None:
    data: Any = ds.dataset(files, format="parquet", partitioning=None)
    name = {each.lower(): each for each in data.schema.names}[column.lower()]
    expression, is_whole = expression_of(filters, data.schema)
    rows, of_rows = data.count_rows(filter=expression), data.count_rows()
    if rows > MOST_BUILD_ROWS:
        found = _bounds(files, name)
        return None if found is None else BuildKeys(found, None, of_rows, False)
    values = pack_values(data.to_table(columns=[name], filter=expression).column(0), type_)
    if values is None:
        return None
    if values.longs is not None:
        return BuildKeys(filter_of_keys(np.sort(values.longs)), rows, of_rows, is_whole, values.distinct)
    if values.strings is None or len(values.strings) > MOST_TEXTS:
        return None
    return BuildKeys(_byte_keys(values.strings), rows, of_rows, is_whole, values.distinct)


def _byte_keys(strings: ByteStrings) -> KeyFilter:
    keys = sorted(strings)
    if not keys:
        return EmptyFilter()
    offsets = np.zeros(len(keys) + 1, dtype=np.int64)
    np.cumsum([len(key) for key in keys], out=offsets[1:])
    return BytesSetFilter(offsets, np.frombuffer(b"".join(keys), dtype=np.uint8))


def _bounds(files: list[str], column: str) -> KeyFilter | None:
    """The ranges of a column's packs, those that meet made one; None unless all packs have bounds that are whole numbers."""
    found = []
    for file in files:
        metadata = pq.read_metadata(file)
        place = metadata.schema.names.index(column)
        for number in range(metadata.num_row_groups):
            statistics = metadata.row_group(number).column(place).statistics
            if statistics is None or not statistics.has_min_max or not isinstance(statistics.min, int):
                return None
            found.append((statistics.min, statistics.max))
    ranges: list[tuple[int, int]] = []
    for low, high in sorted(found):
        if ranges and low <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], max(high, ranges[-1][1]))
        else:
            ranges.append((low, high))
    lows, highs = (np.array(ends, dtype=np.int64) for ends in zip(*ranges, strict=True)) if ranges else (None, None)
    return EmptyFilter() if lows is None or highs is None else RangesFilter(lows, highs)
