"""The packs of a table, those of them that are looked at, and what all footers say."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.advice.statistics.collect import spark_type
from rtfilter.errors import AdviceError, RtFilterError
from rtfilter.store.index_actions.listing import ListedTable, list_directory
from rtfilter.store.index_files.sketching import TableFile
from rtfilter.store.sketches.arrays import Int64s
from rtfilter.store.sketches.domain import BYTES, LONG, domain_of, pack_values
from rtfilter.store.sketches.kinds import MinMax
from rtfilter.store.sketches.rows import SketchRows, load_rows, sketch_schema

SAMPLE_PACKS = 256
# Fewer packs are looked at where they are large, but not fewer than these.
SAMPLE_ROWS, LEAST_PACKS = 16_000_000, 16


@dataclass(frozen=True, slots=True)
class Pack:
    """A row group: its file, its number in it, and its rows."""

    file: TableFile
    number: int
    rows: int


@dataclass(frozen=True, slots=True, eq=False)
class TablePacks:
    """All packs in the order of the files. `types`: Spark's, of the columns that can have sketches and are in all files."""

    name: str
    listed: ListedTable
    packs: tuple[Pack, ...]
    types: Mapping[str, str]
    bounds: Mapping[str, SketchRows]

    @property
    def rows(self) -> int:
        return sum(pack.rows for pack in self.packs)

    def sampled(self, most_packs: int = SAMPLE_PACKS, most_rows: int = SAMPLE_ROWS) -> Int64s:
        """The packs to look at, by their places: of every so many in a row the one whose file and number have the smallest digest.

        Packs next to each other often hold the same values: so each part of the table has its share, and no rhythm of it is met.
        """
        rows, whole = self.rows, len(self.packs)
        count = min(whole, most_packs, max(whole * most_rows // max(1, rows), LEAST_PACKS))
        spans = (range(i * whole // count, (i + 1) * whole // count) for i in range(count))
        return np.array([min(span, key=self._digest) for span in spans], dtype=np.int64)

    def _digest(self, place: int) -> tuple[bytes, int]:
        pack = self.packs[place]
        name = f"{os.path.relpath(pack.file.local, self.listed.root)}#{pack.number}"
        return hashlib.blake2b(name.encode(), digest_size=8).digest(), place


def table_packs(name: str, path: str, columns: Sequence[str]) -> TablePacks:
    """Reads the footers of a table. `columns`: those of which bounds and types are wanted.

    Raises:
        AdviceError: the table, or one of its files, can't be read.
    """
    try:
        listed = list_directory(path)
    except RtFilterError as error:
        raise AdviceError(f"table {name!r}: {error}") from error
    packs: list[Pack] = []
    types: dict[str, set[str | None]] = {column: set() for column in columns}
    bounds: dict[str, list[Any]] = {column: [] for column in columns}
    arrow_types: dict[str, Any] = {}
    for file in listed.files:
        try:
            metadata = pq.read_metadata(file.local)
            schema = metadata.schema.to_arrow_schema()
        except Exception as error:  # pyarrow raises many kinds for a file that is broken
            raise AdviceError(f"table {name!r}: {file.local} can't be read as Parquet: {error}") from error
        leaves = {metadata.schema.column(i).path: i for i in range(len(metadata.schema))}
        for column in columns:
            held = column in leaves and column in schema.names
            types[column].add(spark_type(schema.field(column).type) if held else None)
            if held:
                arrow_types[column] = schema.field(column).type
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            packs.append(Pack(file, number, group.num_rows))
            for column in columns:
                bounds[column].append(_bounds_in_footer(group, leaves.get(column)))
    known = {column: type_ for column in columns if (type_ := _only_type(types[column])) is not None}
    counts = [pack.rows for pack in packs]
    found = {column: _as_sketches(bounds[column], counts, arrow_types[column], type_) for column, type_ in known.items()}
    return TablePacks(name, listed, tuple(packs), known, found)


def _only_type(found: set[str | None]) -> str | None:
    only = next(iter(found)) if len(found) == 1 else None
    return only if only is not None and domain_of(only) is not None else None


def _bounds_in_footer(group: Any, leaf: int | None) -> tuple[Any, Any, int] | None:
    """Lowest and highest value and the number of nulls, as the footer has them."""
    try:
        statistics = group.column(leaf).statistics if leaf is not None else None
        if statistics is None or not statistics.has_min_max:
            return None
        return statistics.min, statistics.max, statistics.null_count if statistics.has_null_count else 1
    except Exception:  # bounds that pyarrow can't decode
        return None


def _as_sketches(bounds: Sequence[tuple[Any, Any, int] | None], counts: Sequence[int], arrow_type: Any, type_: str) -> SketchRows:
    """Bounds as if an index had them; of a pack without, and of all where they are no keys, nothing is known."""
    sketch, domain = MinMax("bounds"), domain_of(type_) or LONG
    lows, highs = (_keys([each[end] for each in bounds if each is not None], arrow_type, type_) for end in (0, 1))
    is_known = [each is not None and lows is not None and highs is not None for each in bounds]
    numbers = iter(range(len(bounds)))
    rows: list[dict[str, Any]] = []
    for each, count, known in zip(bounds, counts, is_known, strict=True):
        if each is None or not known or lows is None or highs is None:
            rows.append({})
            continue
        at = next(numbers)
        low, high = (keys[at] for keys in (lows, highs))
        row = {"rows": count, "nulls": min(each[2], max(0, count - 1)), "low": low, "high": high}
        # A bound of text may have been cut.
        rows.append(row | ({"low_exact": False, "high_exact": False} if domain == BYTES else {}))
    return load_rows(sketch, domain, [pa.RecordBatch.from_pylist(rows, schema=sketch_schema(sketch, domain))])


def _keys(values: list[Any], arrow_type: Any, type_: str) -> list[Any] | None:
    """Values as keys, in their order; None where one of them has none."""
    try:
        if type_ in ("float", "double"):
            # Sorted and made distinct where there are many: one by one.
            each = [_keys_of(pa.array([value], arrow_type), type_) for value in values]
            return None if None in each else [keys[0] for keys in each if keys is not None]
        return _keys_of(pa.array(values, arrow_type), type_)
    except (pa.ArrowException, ValueError, TypeError):
        return None


def _keys_of(values: Any, type_: str) -> list[Any] | None:
    found = pack_values(pa.chunked_array([values]), type_, distinct=False)
    if found is None:
        return None
    return list(found.strings) if found.strings is not None else None if found.longs is None else found.longs.tolist()
