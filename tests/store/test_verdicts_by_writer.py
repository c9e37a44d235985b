"""Files of every writer that is installed: no pack that holds a key is rejected, and those whose bounds can be believed do reject.

Nothing here goes by what was handed to the writer: types and values are those of its files, the values read by DuckDB.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rtfilter.index.arrow_types import spark_type_of
from rtfilter.store.bounds.filters import EmptyFilter, KeyFilter
from rtfilter.store.parquet.footer_digest import read_tail
from rtfilter.store.parquet.key_values import LONGEST_SHORT_DECIMAL
from rtfilter.store.parquet.pack_statistics import FileStats, parse_footer_tail
from rtfilter.store.parquet.table_footer import table_footer
from rtfilter.store.tables.footer_store import FooterStore
from tests.store.handmade import DECIMAL, FIXED_LEN_BYTE_ARRAY, between, binary, footer_tail
from tests.store.tables_at_hand import loaded, verdict_on
from tests.store.test_random_files import double_key, filters_of, lets_through, long_decimal_key, micros, unscaled
from tests.writers.catalogue import WRITERS
from tests.writers.hand_over import write
from tests.writers.make_environment import installed, missing
from tests.writers.many_types import NOT_BELIEVED, ROWS, handed

# What this test can't read: ClickHouse marks bytes as text, and DuckDB insists that they are.
UNREADABLE = {"clickhouse": {"bytes"}}


@dataclass(frozen=True)
class WrittenColumn:
    """A column of a writer's files: Spark's type for it, and the keys of each pack, None for a null."""

    spark_type: str
    packs: tuple[tuple[Any, ...], ...]


def key_of(spark_type: str) -> Callable[[Any], Any]:
    decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", spark_type)
    if decimal is not None:
        precision, scale = int(decimal[1]), int(decimal[2])
        return unscaled(scale) if precision <= LONGEST_SHORT_DECIMAL else long_decimal_key(scale)
    plain: dict[str, Callable[[Any], Any]] = {
        "float": double_key,
        "double": double_key,
        "date": lambda value: (value - datetime.date(1970, 1, 1)).days,
        "timestamp": micros,
        "timestamp_ntz": micros,
        "string": lambda value: value.encode() if isinstance(value, str) else value,
        "binary": lambda value: value.encode() if isinstance(value, str) else value,
    }
    return plain.get(spark_type, int)


def spark_types(file: Path) -> dict[str, str]:
    with open(file, "rb") as opened:
        footer = table_footer(read_tail(opened, file.stat().st_size), None)
    return {field.name: spark_type_of(field.type) for field in footer.metadata.schema.to_arrow_schema()}


def read_columns(files: tuple[Path, ...]) -> dict[str, WrittenColumn]:
    """What is in the files, pack by pack."""
    types = spark_types(files[0])
    packs: dict[str, list[tuple[Any, ...]]] = {name: [] for name in types}
    with duckdb.connect(config={"threads": 1}) as connection:
        for file in files:
            sizes = connection.execute(
                f"select distinct row_group_id, row_group_num_rows from parquet_metadata('{file}') order by 1"
            ).fetchall()
            rows = (
                f"select * exclude (file_row_number) from read_parquet('{file}', file_row_number = true) order by file_row_number"
            )
            table = connection.execute(rows).to_arrow_table()
            for name, type in types.items():
                key = key_of(type)
                keys = [None if value is None else key(value) for value in table.column(name).to_pylist()]
                ends = [0, *itertools.accumulate(count for _, count in sizes)]
                packs[name] += [tuple(keys[begin:end]) for begin, end in itertools.pairwise(ends)]
    return {name: WrittenColumn(type, tuple(packs[name])) for name, type in types.items()}


def filters_for(column: WrittenColumn) -> Iterator[KeyFilter]:
    """Keys of one pack each, of the gap between two packs, and none, with and without nulls."""
    held = [sorted({key for key in pack if key is not None}) for pack in column.packs]
    for keys in filter(None, held):
        yield from filters_of([keys[0], keys[-1]], keep_nulls=False)
        yield from filters_of([keys[len(keys) // 2]], keep_nulls=False)
    for first, last in itertools.pairwise(filter(None, held)):
        yield from filters_of([first[-1], last[0]], keep_nulls=False)
    yield from filters_of(next(filter(None, held))[:1], keep_nulls=True)
    yield from filters_of([], keep_nulls=False)
    yield from filters_of([], keep_nulls=True)


def judged(files: tuple[Path, ...], columns: Mapping[str, WrittenColumn]) -> dict[str, int]:
    """For each column how many verdicts rejected a pack for a key; none may reject one that holds it."""
    rejected = dict.fromkeys(columns, 0)
    store = FooterStore()
    try:
        digest = loaded(store, list(files), *columns)
        for name, column in columns.items():
            for each in filters_for(column):
                verdict = verdict_on(store, digest, name, each, column.spark_type)
                assert verdict.files_unknown == 0, verdict.problem
                keep = verdict.keep[0].tolist()
                for keys, keeps in zip(column.packs, keep, strict=True):
                    assert keeps or not any(lets_through(each, key) for key in keys), (name, each, keys)
                rejected[name] += 0 if isinstance(each, EmptyFilter) else keep.count(False)
    finally:
        store.close()
    return rejected


NEEDS_A_JVM = "pyspark"


@pytest.mark.parametrize(
    "name",
    [pytest.param(each.name, marks=[pytest.mark.jvm] if each.name.startswith(NEEDS_A_JVM) else []) for each in installed()],
)
def test_no_pack_that_holds_a_key_is_rejected_and_believed_bounds_do_reject(tmp_path: Path, name: str) -> None:
    table = handed().drop_columns(sorted(UNREADABLE.get(name, ())))
    written = write(name, table, tmp_path / "written", ROWS)
    columns = read_columns(written.files)
    assert columns.keys() | written.without.keys() == set(table.column_names)
    rejected = judged(written.files, columns)
    print(name, {column: columns[column].spark_type for column, count in rejected.items() if not count}, set(written.without))
    assert {column for column, count in rejected.items() if not count} == NOT_BELIEVED.get(name, set())


def test_bounds_that_are_not_believed_are_told_from_missing_ones() -> None:
    decimals = [between(binary(b"\xff\xff\xff\x00"), binary(b"\x00\x00\x00\x07"))]
    for writer, told in (("somebody", True), ("parquet-mr version 1.13.1", False)):
        tail = footer_tail(decimals, FIXED_LEN_BYTE_ARRAY, DECIMAL, precision_scale=(9, 2), type_length=4, created_by=writer)
        found = parse_footer_tail(tail, ["a"])
        assert isinstance(found, FileStats)
        assert ("somebody stores of such columns" in found.problem_of("a", True)) == told
    nothing = parse_footer_tail(footer_tail([None], FIXED_LEN_BYTE_ARRAY, DECIMAL, precision_scale=(9, 2), type_length=4), ["a"])
    assert isinstance(nothing, FileStats) and nothing.problem_of("a", True) == ""


def test_writers_that_are_missing_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    names = [writer.name for writer in missing()]
    with capsys.disabled():
        if names:
            print(f"\nnot installed, so not judged: {', '.join(names)} (python tests/writers/make_environment.py)")
    assert {writer.name for writer in WRITERS} == {*names, *(writer.name for writer in installed())}
