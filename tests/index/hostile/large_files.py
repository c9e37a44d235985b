"""Data files that unpack to very much, and files of as much as a reader takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.index.hostile.index_folder import (
    PACKS,
    IndexFolder,
    all_rows,
    column,
    kind,
)


def _much(index: IndexFolder, role: str | int, batch: Any, times: int, **options: Any) -> None:
    """A file that unpacks to very much, written a bit at a time."""
    path = index.file(role)
    with pq.ParquetWriter(path, batch.schema, compression="zstd", **{"use_dictionary": False, **options}) as writer:
        for _ in range(times):
            writer.write_table(batch)
    index.fit(role, path, batch.num_rows * times)


@kind
def packs_that_unpack_to_a_gigabyte(index: IndexFolder) -> None:
    million = pa.table({"start": pa.array([0] * 1_000_000, pa.int64()), "rows": pa.array([0] * 1_000_000, pa.int64())})
    _much(index, "packs", million, 64)
    all_rows(64_000_000)(index)


@kind
def packs_in_one_group_that_unpack_to_much(index: IndexFolder) -> None:
    rows = 30_000_000
    index.replace("packs", pa.table({name: np.zeros(rows, dtype=np.int64) for name in ("start", "rows")}), row_group_size=rows)
    all_rows(rows)(index)


@kind
def paths_that_unpack_to_a_gigabyte(index: IndexFolder) -> None:
    table = pq.read_table(index.file("files")).slice(0, 1)
    long = column(table, "path", ["p" * (1 << 20)])
    _much(index, "files", pa.concat_tables([long] * 50).combine_chunks(), 20)


@kind
def bounds_by_a_dictionary_that_unpack_to_much(index: IndexFolder) -> None:
    """A megabyte once, and ten thousand times named."""
    rows = 2_000
    table = pq.read_table(index.file(4)).slice(0, 1)
    long = column(table, "low", [b"k" * (1 << 20)])
    one = pa.concat_tables([long] * 100).combine_chunks()
    _much(index, 4, one, rows // 100, use_dictionary=True)
    all_rows(rows)(index)


@kind
def values_that_unpack_to_much(index: IndexFolder) -> None:
    """One pack with tens of millions of values, all equal."""
    table = pq.read_table(index.file(2))
    count = 30_000_000
    offsets = pa.array([0, *[count] * PACKS], pa.int32())
    values = pa.ListArray.from_arrays(offsets, pa.array(np.zeros(count, dtype=np.int64)))
    at = table.schema.get_field_index("values")
    index.replace(2, table.set_column(at, "values", values), column_encoding={"values.list.element": "DELTA_BINARY_PACKED"})


@kind
def bits_that_unpack_to_much(index: IndexFolder) -> None:
    table = pq.read_table(index.file(1))
    index.replace(1, column(table, "bits", [b"\xff" * (16 << 20)] * PACKS))


@kind
def packs_as_many_as_may_be(index: IndexFolder) -> None:
    million = pa.table({name: np.zeros(1_000_000, dtype=np.int64) for name in ("start", "rows")})
    _much(index, "packs", million, 4)
    all_rows(4_000_000)(index)


@kind
def files_as_many_as_may_be(index: IndexFolder) -> None:
    rows = 150_000
    table = pq.read_table(index.file("files")).slice(0, 1)
    many = pa.concat_tables([table] * rows).combine_chunks()
    many = column(column(many, "path", [f"part-{number:09d}" for number in range(rows)]), "packs", [0] * rows)
    index.replace("files", many, row_group_size=20_000)
    index.fit("files", index.file("files"), rows)


@kind
def values_as_many_as_may_be(index: IndexFolder) -> None:
    table = pq.read_table(index.file(2))
    count = 150_000
    offsets = pa.array(range(0, count * PACKS + 1, count), pa.int32())
    numbers = np.tile(np.arange(count, dtype=np.int64), PACKS)
    at = table.schema.get_field_index("values")
    many = table.set_column(at, "values", pa.ListArray.from_arrays(offsets, pa.array(numbers)))
    index.replace(2, many, column_encoding={"values.list.element": "DELTA_BINARY_PACKED"})


@kind
def bounds_as_long_as_may_be(index: IndexFolder) -> None:
    index.replace(4, column(pq.read_table(index.file(4)), "high", [b"l" * (3_000_000)] * PACKS))
