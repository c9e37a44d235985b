"""Writes a stream of rows as Parquet files with packs (row groups) of an exact size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

VECTOR_ROWS = 2048
"""DuckDB's vector size: it can only make packs of a multiple of this many rows."""
WRITE_ROWS = 1 << 18
"""Rows handed to the Parquet writer at a time, at least one pack: large enough to amortise the call, small enough for memory."""
PAGE_ROWS = 20_000
"""Rows of a page at most: what parquet-java, and so Spark, has as its default (`parquet.page.row.count.limit`, 1.17)."""
FORMAT = "pages"
"""Part of the names of datasets that `parquet_writer` makes: data of before it wrote a page index stays apart."""


@dataclass(frozen=True)
class PackPlan:
    """How many rows go into a pack, and how many packs into each file."""

    rows_per_pack: int
    packs_per_file: tuple[int, ...]

    @property
    def packs(self) -> int:
        return sum(self.packs_per_file)


def rows_per_pack(rows: int, wanted_packs: int) -> int:
    """Rows a pack so that about `wanted_packs` come out.

    A multiple of DuckDB's vector size where that still makes packs of one vector or more (so SF1, SF10 and SF100 of
    inventory give 2,048, 20,480 and 65,536 rows for 6,000 packs, as the seed has it); any number of rows below that.
    """
    exact = -(-rows // wanted_packs)
    if exact * 2 <= VECTOR_ROWS:
        return max(exact, 1)
    return max(exact // VECTOR_ROWS, 1) * VECTOR_ROWS


def plan_packs(rows: int, wanted_packs: int, files: int, pack_rows: int | None = None) -> PackPlan:
    """Even shares: file k of n holds the packs from k/n to (k+1)/n of the whole. `pack_rows` overrules `wanted_packs`."""
    size = pack_rows or rows_per_pack(rows, wanted_packs)
    packs = -(-rows // size)
    return PackPlan(size, tuple(packs * (k + 1) // files - packs * k // files for k in range(files)))


def write_packs(batches: Iterable[pa.RecordBatch], schema: pa.Schema, plan: PackPlan, directory: Path) -> None:
    """Writes the rows in their order into `part-00000.parquet` and so on; only the last pack of all may be short."""
    directory.mkdir()
    stream = _Rows(iter(batches), schema)
    packs_at_a_time = max(WRITE_ROWS // plan.rows_per_pack, 1)
    for number, packs in enumerate(plan.packs_per_file):
        with parquet_writer(directory / f"part-{number:05}.parquet", schema) as writer:
            for first in range(0, packs, packs_at_a_time):
                rows = min(packs_at_a_time, packs - first) * plan.rows_per_pack
                writer.write_table(stream.take(rows), row_group_size=plan.rows_per_pack)


def parquet_writer(file: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """As Spark's own writer makes them by default: snappy, decimals as whole numbers where they fit, pages of 20,000 rows, and a
    page index."""
    return pq.ParquetWriter(
        file,
        schema,
        compression="snappy",
        store_decimal_as_integer=True,
        max_rows_per_page=PAGE_ROWS,
        write_page_index=True,
    )


def cut_into_packs(batches: Iterable[pa.RecordBatch], schema: pa.Schema, rows_per_pack: int) -> Iterator[pa.Table]:
    """The rows in their order, `rows_per_pack` at a time."""
    stream = _Rows(iter(batches), schema)
    while (pack := stream.take(rows_per_pack)).num_rows:
        yield pack


class _Rows:
    """Cuts a stream of batches of any size into tables of an asked number of rows."""

    def __init__(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> None:
        self._batches = batches
        self._schema = schema
        self._rest: list[pa.RecordBatch] = []

    def take(self, rows: int) -> pa.Table:
        """The next `rows` rows; fewer when the stream ends."""
        taken, held = self._rest, sum(batch.num_rows for batch in self._rest)
        while held < rows and (batch := next(self._batches, None)) is not None:
            taken.append(batch)
            held += batch.num_rows
        table = pa.Table.from_batches(taken, self._schema)
        self._rest = table.slice(rows).to_batches()
        return table.slice(0, rows).combine_chunks()
