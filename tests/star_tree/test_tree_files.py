"""A tree's files: what is read back is what was written, and damaged files are named."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from rtfilter.errors import IndexStorageError
from rtfilter.star_tree import tree_files
from rtfilter.star_tree.conditions import passing_codes
from rtfilter.star_tree.traverse import visit
from rtfilter.star_tree.tree_files import covered_files, open_segment
from rtfilter.store.index_files.storage import SCRATCH, LocalStorage
from rtfilter.store.index_files.tree_snapshot import TreeSegment
from tests.star_tree.stored_trees import DIMENSIONS, FILES, definition_of, stored_tree, wide_table


def read_rows(storage: LocalStorage, segment: TreeSegment) -> pa.Table:
    return pa.concat_tables([pq.read_table(storage.local_file(file.name)) for file in segment.rows])


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    storage, snapshot, segment, built = stored_tree(tmp_path)
    opened = open_segment(storage, snapshot.definition, segment)
    for name in tree_files.NODES_SCHEMA.names:
        assert np.array_equal(getattr(opened.nodes, name), getattr(built.tree.nodes, name))
    assert opened.sizes == built.tree.sizes and len(opened.nodes) > 100
    for mine, theirs in zip(opened.dimensions, built.dimensions, strict=True):
        assert (mine.name, mine.type, mine.has_null, list(mine.keys)) == (
            theirs.name,
            theirs.type,
            theirs.has_null,
            list(theirs.keys),
        )
    assert covered_files(storage, segment) == FILES
    rows = read_rows(storage, segment)
    assert rows.cast(built.rows.schema).to_pylist() == built.rows.to_pylist() or _equal(rows, built.rows)
    assert opened.row_counts == (len(rows),)


def _equal(one: pa.Table, other: pa.Table) -> bool:
    """NaN is NaN."""
    return all(str(a.to_pylist()) == str(b.to_pylist()) for a, b in zip(one.columns, other.columns, strict=True))


def test_a_walk_over_opened_nodes_is_that_over_the_tree(tmp_path: Path) -> None:
    storage, snapshot, segment, built = stored_tree(tmp_path)
    opened = open_segment(storage, snapshot.definition, segment)
    test = {"op": "eq", "column": "country", "type": "string", "value": b"MX".hex()}
    mine = visit(opened, passing_codes([test], opened.dimensions), [1])
    theirs = visit(built.tree, passing_codes([test], built.dimensions), [1])
    assert np.array_equal(mine.ranges, theirs.ranges) and mine.rows > 0


def test_rows_are_in_packs_with_statistics_and_pages(tmp_path: Path) -> None:
    storage, _, segment, built = stored_tree(tmp_path, wide_table(1, 6_000), dimensions=DIMENSIONS[:6], max_leaf=1)
    assert len(built.rows) > 2 * tree_files.ROW_GROUP_ROWS
    footer = pq.read_metadata(storage.local_file(segment.rows[0].name))
    assert footer.row_group(0).num_rows == tree_files.ROW_GROUP_ROWS
    for number in range(footer.num_columns):
        chunk = footer.row_group(0).column(number)
        assert chunk.has_offset_index and chunk.has_column_index and chunk.is_stats_set
    first = footer.row_group(1).column(0).statistics
    assert (first.min, first.max) == (4096, 8191)


def test_rows_go_on_from_file_to_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_files, "FILE_ROWS", 100)
    storage, snapshot, segment, built = stored_tree(tmp_path)
    assert len(segment.rows) > 3 and sum(file.rows for file in segment.rows) == len(built.rows)
    assert read_rows(storage, segment).column("row").to_pylist() == list(range(len(built.rows)))
    assert open_segment(storage, snapshot.definition, segment).row_counts[:2] == (100, 100)


def test_the_number_of_values_is_held_where_there_are_nulls(tmp_path: Path) -> None:
    storage, _, segment, _ = stored_tree(tmp_path)
    assert set(segment.nullable) == {"x", "price", "name", "day", "f", "at", "tiny", "raw"}
    names = set(read_rows(storage, segment).column_names)
    assert {f"count({name})" for name in segment.nullable} <= names and "count(big)" not in names
    assert segment.largest == {"x": 8, "price": 99999999999999999999999999 * 100 + 99, "big": 2**62, "tiny": 128, "small": 32768}


def test_an_empty_tree(tmp_path: Path) -> None:
    storage, snapshot, segment, _ = stored_tree(tmp_path, wide_table(1, 0))
    opened = open_segment(storage, snapshot.definition, segment)
    assert segment.rows == () and visit(opened, {}, []).rows == 0


def test_values_at_the_ends_of_their_type(tmp_path: Path) -> None:
    """S20: the lowest and the highest number stand where they belong."""
    keys = [2**63 - 1, -(2**63), 0, None]
    table = pa.table({"k": pa.array(keys, pa.int64()), "x": pa.array([1, 2, 4, 8], pa.int64())})
    storage, snapshot, segment, _ = stored_tree(tmp_path, table, dimensions=("k",), measures=("sum(x)",))
    (dimension,) = open_segment(storage, snapshot.definition, segment).dimensions
    assert list(dimension.keys) == [-(2**63), 0, 2**63 - 1] and dimension.has_null
    rows = read_rows(storage, segment).to_pylist()[:4]
    assert [(row["d0"], row["sum(x)"]) for row in rows] == [(-(2**63), 2), (0, 4), (2**63 - 1, 1), (None, 8)]


def test_damaged_files_are_named(tmp_path: Path) -> None:
    storage, snapshot, segment, _ = stored_tree(tmp_path)
    for file, read in ((segment.nodes, open_segment), (segment.values, open_segment)):
        path = Path(storage.local_file(file.name))
        content = path.read_bytes()
        path.write_bytes(content[:30] + bytes(30) + content[60:])
        with pytest.raises(IndexStorageError, match=file.name):
            read(storage, snapshot.definition, segment)
        os.unlink(path)
        with pytest.raises(IndexStorageError, match=file.name.partition("/")[2]):
            read(storage, snapshot.definition, segment)
        path.write_bytes(content)
    open_segment(storage, snapshot.definition, segment)


def changed(storage: LocalStorage, segment: TreeSegment, part: str, change: Any) -> TreeSegment:
    """The segment with another file of the same form: somebody else has written it."""
    file = getattr(segment, part)
    table = pq.read_table(storage.local_file(file.name))
    batch = change(table).combine_chunks().to_batches()[0]
    other = tree_files._written(storage, part, batch)
    return {
        "nodes": replace(segment, nodes=other),
        "values": replace(segment, values=other),
        "files": replace(segment, files=other),
    }[part]


def with_value(table: pa.Table, column: str, row: int, value: Any) -> pa.Table:
    values = table.column(column).to_pylist()
    values[row] = value
    field = table.schema.field(column)
    return table.set_column(table.column_names.index(column), field, pa.array(values, field.type))


@pytest.mark.parametrize(
    ("column", "row", "value"),
    [
        ("level", 0, 1),
        ("level", 5, 0),
        ("level", 3, 99),
        ("level", 3, -1),
        ("code", 1, 77),
        ("code", 1, -1),
        ("row_from", 4, -5),
        ("row_from", 4, 10**9),
        ("row_to", 4, 2**62),
        ("own_row", 2, 2**40),
        ("own_row", 2, -2),
        ("own_row", 2, -1),
        ("child_to", 0, 2**62),
        ("child_from", 0, 0),
        ("child_from", 2, -(2**62)),
        ("is_star", 0, True),
        ("is_star", 1, True),
        ("level", 2, None),
    ],
)
def test_nodes_that_lead_out_of_the_tree_are_refused(tmp_path: Path, column: str, row: int, value: Any) -> None:
    storage, snapshot, segment, _ = stored_tree(tmp_path)
    hostile = changed(storage, segment, "nodes", lambda table: with_value(table, column, row, value))
    with pytest.raises(IndexStorageError, match=hostile.nodes.name):
        open_segment(storage, snapshot.definition, hostile)


@pytest.mark.parametrize(
    ("column", "row", "value"),
    [
        ("dimension", 0, 1),
        ("dimension", 0, -1),
        ("dimension", -1, 10),
        ("dimension", 3, None),
        ("bytes", 0, b"zz"),
        ("bytes", 0, None),
        ("long", 0, 3),
        ("bytes", 1, b""),
    ],
)
def test_values_that_are_not_of_the_format_are_refused(tmp_path: Path, column: str, row: int, value: Any) -> None:
    storage, snapshot, segment, _ = stored_tree(tmp_path)
    hostile = changed(storage, segment, "values", lambda table: with_value(table, column, row, value))
    with pytest.raises(IndexStorageError, match=f"{hostile.values.name}|{hostile.nodes.name}"):
        open_segment(storage, snapshot.definition, hostile)


def test_fewer_values_than_the_nodes_are_of(tmp_path: Path) -> None:
    storage, snapshot, segment, _ = stored_tree(tmp_path)
    hostile = changed(storage, segment, "values", lambda table: table.filter(pc.field("dimension") != 3))
    with pytest.raises(IndexStorageError, match=segment.nodes.name):
        open_segment(storage, snapshot.definition, hostile)


def test_a_table_file_twice(tmp_path: Path) -> None:
    storage, _, segment, _ = stored_tree(tmp_path)
    hostile = changed(storage, segment, "files", lambda table: pa.concat_tables([table, table]))
    with pytest.raises(IndexStorageError, match="twice"):
        covered_files(storage, hostile)


def test_what_can_not_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", fail)
    with pytest.raises(IndexStorageError, match="No space left"):
        stored_tree(tmp_path)
    left = [name for _, _, names in os.walk(tmp_path) for name in names if name.startswith(SCRATCH)]
    assert left == []


def test_definition_has_all_types() -> None:
    assert set(definition_of(wide_table(0, 1)).types.values()) > {"timestamp", "timestamp_ntz", "tinyint", "smallint", "binary"}
