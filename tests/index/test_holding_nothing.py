"""Sketches of columns that files hold in an unusual way: their values are held, or the index is refused with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtfilter import Bloom, Index, MinMax, ValueSet
from rtfilter.errors import IndexDefinitionError
from rtfilter.store.index_actions.listing import list_directory
from rtfilter.store.index_files.sketching import Portion, PortionSketches, sketch_portion
from rtfilter.store.sketches.domain import pack_values
from rtfilter.store.sketches.kinds import Sketch


def written(folder: Path, columns: Mapping[str, Any]) -> Path:
    folder.mkdir()
    pq.write_table(pa.table(dict(columns)), folder / "0.parquet", row_group_size=2)
    return folder


def sketched(folder: Path, sketch: Sketch, spark_type: str) -> PortionSketches:
    file = list_directory(str(folder)).files[0]
    return sketch_portion(Portion(file, 0, file.size_bytes), [sketch], {sketch.column: spark_type})


@pytest.mark.parametrize("group_first", [True, False])
def test_a_dotted_column_is_not_the_field_of_a_group(tmp_path: Path, group_first: bool) -> None:
    both = {"a": pa.array([{"b": 7}] * 4), "a.b": pa.array([1, 2, 3, 4])}
    folder = written(tmp_path / "t", both if group_first else dict(reversed(both.items())))
    found = sketched(folder, MinMax("a.b"), "bigint")
    assert found.problem is None and not found.not_held
    assert found.batches[0].column("low").to_pylist() == [1, 3]
    assert found.batches[0].column("high").to_pylist() == [2, 4]


def test_nanoseconds_that_spark_reads_as_numbers_are_held_as_they_are(tmp_path: Path) -> None:
    folder = written(tmp_path / "t", {"at": pa.array([5, 1_001, 2**62, -1], pa.timestamp("ns"))})
    found = sketched(folder, MinMax("at"), "bigint")
    assert found.batches[0].column("low").to_pylist() == [5, -1]
    assert found.batches[0].column("high").to_pylist() == [1_001, 2**62]


def test_unsigned_numbers_of_64_bits_are_the_decimals_that_spark_reads() -> None:
    numbers = [0, 1, 2**63 - 1, 2**63, 2**64 - 1]
    unsigned = pack_values(pa.chunked_array([pa.array(numbers, pa.uint64())]), "decimal(20,0)")
    decimals = pack_values(pa.chunked_array([pa.array(numbers, pa.decimal128(20, 0))]), "decimal(20,0)")
    assert unsigned is not None and unsigned.strings is not None and decimals is not None and decimals.strings is not None
    assert unsigned.distinct == len(numbers)
    assert bytes(unsigned.strings.blob) == bytes(decimals.strings.blob)
    # In no other decimal: Spark does not read it so.
    assert pack_values(pa.chunked_array([pa.array(numbers, pa.uint64())]), "decimal(20,1)") is None


def test_an_index_of_unsigned_numbers_is_made_without_spark(tmp_path: Path) -> None:
    folder = written(tmp_path / "t", {"u": pa.array([1, 2, 2**64 - 1, 4], pa.uint64())})
    assert sketches_held(Index.create(None, str(folder), [Bloom("u"), MinMax("u"), ValueSet("u")], name="u")) == 3


def sketches_held(index: Index) -> int:
    """The sketches of an index that is in use, each with something in it."""
    stats = index.stats()
    assert stats["state"] == "ACTIVE"
    return sum(each["bytes"] > 0 for each in stats["sketches"])


REFUSED = {
    "another case": (
        {"k": [1, 2], "K": [3, 4]},
        "k",
        r"Bloom\('k'\) .*only one in these letters: 'k', 'K'\. Leave it out",
    ),
    "nanoseconds": (
        {"at": pa.array(np.array([1, 2]), pa.timestamp("ns"))},
        "at",
        r"timestamp\[ns\] where Spark reads",
    ),
    "old dates": ({"d": pa.array([-200_000, -200_001], pa.date32())}, "d", "before 1582-10-15"),
    "old times": ({"t": pa.array([-(10**17), -(10**16)], pa.timestamp("us"))}, "t", "before 1900-01-01"),
}


@pytest.mark.parametrize(("columns", "column", "reason"), REFUSED.values(), ids=list(REFUSED))
def test_a_sketch_that_can_hold_nothing_is_refused_with_the_reason(tmp_path: Path, columns: Any, column: str, reason: str) -> None:
    folder = written(tmp_path / "t", columns)
    with pytest.raises(IndexDefinitionError, match=reason):
        Index.create(None, str(folder), [Bloom(column)], name="nothing")
    # Nothing is left behind, and the name is free.
    assert not list((folder / "_rtfilter" / "nothing").rglob("*.parquet"))
    pq.write_table(pa.table({column: pa.array([1, 2])}), folder / "0.parquet")
    Index.create(None, str(folder), [Bloom(column)], name="nothing")


def test_what_only_some_files_hold_is_accepted(tmp_path: Path) -> None:
    folder = written(tmp_path / "t", {"k": [1, 2]})
    pq.write_table(pa.table({"k": [1, 2], "K": [3, 4]}), folder / "1.parquet")
    made = Index.create(None, str(folder), [Bloom("k")], name="some")
    assert sketches_held(made) == 1 and made.last_build is not None
    assert [(each.column, each.files) for each in made.last_build.not_held] == [("k", 1)]


def test_a_column_of_nulls_is_held(tmp_path: Path) -> None:
    folder = written(tmp_path / "t", {"n": pa.array([None, None], pa.int64())})
    assert sketches_held(Index.create(None, str(folder), [Bloom("n")], name="nulls")) == 1
