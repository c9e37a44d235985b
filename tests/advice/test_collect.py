"""Statistics of tables: out of footers and values, and a file that is checked when it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtfilter.advice.statistics.collect import collect
from rtfilter.advice.statistics.tables import parse_statistics, read_statistics
from rtfilter.errors import AdviceError

ROWS, PACK = 20_000, 1_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("t")
    random = np.random.default_rng(7)
    values = pa.table(
        {
            "ordered": pa.array(np.arange(ROWS)),
            "spread": pa.array(random.integers(0, 10_000, ROWS)),
            "few": pa.array([None if i % 10 == 0 else i % 3 for i in range(ROWS)]),
            "s": pa.array([f"n{i % 50}" for i in range(ROWS)]).dictionary_encode(),
            "d": pa.array(np.arange(ROWS) // 100, pa.int32()).cast(pa.date32()),
            "nothing": pa.nulls(ROWS, pa.float64()),
            "list": pa.array([[i] for i in range(ROWS)]),
            "struct": pa.array([{"x": i} for i in range(ROWS)]),
        }
    )
    for number in range(4):
        part = values.slice(number * ROWS // 4, ROWS // 4)
        pq.write_table(part, folder / f"part-{number}.parquet", row_group_size=PACK)
    (folder / "_SUCCESS").touch()
    (folder / "_rtfilter").mkdir()
    (folder / "_rtfilter" / "x.parquet").write_text("no Parquet")
    return folder


def test_what_a_table_is_like(folder: Path) -> None:
    found = collect("t", folder)
    assert (found["rows"], found["packs"], found["files"], found["sampled_packs"]) == (ROWS, 20, 4, 20)
    assert found["left_out"] == ["list: nested", "struct: nested"]
    columns = found["columns"]
    told = {name: (each["type"], each["cardinality"], each["sorted_share"]) for name, each in columns.items()}
    values = np.concatenate([pq.read_table(file).column("spread").to_numpy() for file in sorted(folder.glob("*.parquet"))])
    assert told == {
        "ordered": ("bigint", ROWS, 1.0),
        "spread": ("bigint", len(np.unique(values)), 0.0),
        "few": ("bigint", 3, 0.0),
        "s": ("string", 50, 0.0),
        "d": ("date", 200, 1.0),
        "nothing": ("double", 0, 0.0),
    }
    assert columns["ordered"]["depth"] == 1.0
    # Bounds of a thousand random values leave out next to nothing.
    assert columns["spread"]["depth"] > 19.9
    assert columns["nothing"]["depth"] is None
    chunks = sum(
        pq.read_metadata(file).row_group(i).column(0).total_compressed_size for file in folder.glob("*.parquet") for i in range(5)
    )
    assert columns["ordered"]["bytes"] == chunks > 0


def test_a_sample_estimates_distinct_values(folder: Path) -> None:
    found = collect("t", folder, sample_rows=5_000)
    assert found["sampled_packs"] == 5 and found["rows"] == ROWS
    cardinality = {name: each["cardinality"] for name, each in found["columns"].items()}
    assert cardinality["few"] == 3 and cardinality["s"] == 50
    assert 4_000 < cardinality["spread"] < 20_000
    assert 10_000 <= cardinality["ordered"] <= ROWS


def test_what_is_collected_can_be_read(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps({"tables": {"t": collect("t", folder)}}))
    table = read_statistics(tmp_path / "s.json")["t"]
    assert table.rows == ROWS and table.packs == 20 and table.path == str(folder) and table.has_bytes
    ordered = table.column("ORDERED")
    assert ordered is not None and (ordered.depth, ordered.cardinality) == (1.0, ROWS)


def test_folders_of_partitions_are_told(tmp_path: Path) -> None:
    (tmp_path / "t" / "day=1").mkdir(parents=True)
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "t" / "day=1" / "x.parquet")
    found = collect("t", tmp_path / "t")
    assert (found["left_out"], list(found["columns"])) == (["day: a partition column"], ["a"])


@pytest.mark.parametrize("name", ["gone", "empty", "broken.parquet", "mixed"])
def test_tables_that_cannot_be_described(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 nothing PAR1")
    (tmp_path / "mixed").mkdir()
    for each in "ab":
        pq.write_table(pa.table({each: [1]}), tmp_path / "mixed" / f"{each}.parquet")
    with pytest.raises(AdviceError, match=f"table 't': .*{name}"):
        collect("t", tmp_path / name)


def test_a_table_without_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "t.parquet")
    found = collect("t", tmp_path / "t.parquet")
    assert found["rows"] == 0 and found["columns"]["a"]["cardinality"] == 0


BAD: list[tuple[Any, str]] = [
    ([], 'no object "tables"'),
    ({}, 'no object "tables"'),
    ({"tables": {"t": {}}}, "table 't' has no object \"columns\""),
    ({"tables": {"t": {"columns": {"a": 1}}}}, "column 'a' is 1"),
    ({"tables": {"t": {"columns": {"a": {"cardinality": "many"}}}}}, "\"cardinality\" is 'many'"),
    ({"tables": {"t": {"columns": {"a": {"cardinality": -1}}}}}, '"cardinality" is -1'),
    ({"tables": {"t": {"columns": {"a": {"cardinality": True}}}}}, '"cardinality" is True'),
    ({"tables": {"t": {"columns": {"a": {"sorted_share": 1.5}}}}}, "from 0 to 1"),
    ({"tables": {"t": {"columns": {"a": {"index": "btree"}}}}}, "\"index\" is 'btree'"),
    ({"tables": {"t": {"columns": {"a": {"type": 3}}}}}, '"type" is 3'),
    ({"tables": {"t": {"columns": {"a": {}, "A": {}}}}}, "differ in case only"),
    ({"tables": {"t": {"columns": {}}, "T": {"columns": {}}}}, "differ in case only"),
    ({"tables": {"t": {"rows": 1.5, "columns": {}}}}, '"rows" is 1.5'),
    ({"tables": {"t": {"path": 1, "columns": {}}}}, '"path" is 1'),
]


@pytest.mark.parametrize(("content", "said"), BAD)
def test_a_statistics_file_is_checked(content: Any, said: str) -> None:
    with pytest.raises(AdviceError) as error:
        parse_statistics(content, "s.json")
    assert str(error.value).startswith("s.json") and said in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "NaN x", "[" * 100_000])
def test_a_file_that_is_no_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(AdviceError, match=r"s\.json"):
        read_statistics(tmp_path / "s.json")
    with pytest.raises(AdviceError, match="can't be read"):
        read_statistics(tmp_path / "gone.json")


def test_what_is_missing_is_unknown() -> None:
    table = parse_statistics({"tables": {"T": {"columns": {"A": {"more": 1}}}}}, "s")["T"]
    column = table.column("a")
    assert column is not None and (column.cardinality, column.sorted_share, column.entries_per_row) == (None, 0, 1)
    assert (table.rows, table.has_bytes, table.bytes) == (None, False, None)
