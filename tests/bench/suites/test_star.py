"""The suite `star`: its queries by class, and what its tables promise."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("duckdb")

import rtfilter.store.index_files.log as tree_log  # after the check that the bench extra is there
from rtfilter.bench.suites.data_cache import DataCache
from rtfilter.bench.suites.suite import DataRequest
from rtfilter.errors import BenchError
from rtfilter.store.index_files.storage import LocalStorage
from rtfilter.store.index_files.tree_snapshot import TREES_FOLDER
from tpcds import star, star_tables


def request_for(folder: Path, *queries: str) -> DataRequest:
    return DataRequest(0.01, None, "natural", DataCache(folder), lambda step: None, pack_rows=4096, query_ids=queries)


def test_there_are_thirty_queries_of_five_classes() -> None:
    queries = star.star_queries()
    assert len({query.id for query in queries}) == len(queries) == 30
    assert Counter(query.family for query in queries) == {"node": 8, "leaf": 6, "join": 6, "hybrid": 4, "refused": 6}
    assert all(query.tables for query in queries)
    assert {table for query in queries for table in query.tables} == set(star_tables.TABLES)


def test_a_tree_knows_all_files_but_those_that_came_later(tmp_path: Path) -> None:
    data = star.prepare(request_for(tmp_path, "hybrid all", "node months"))
    assert sorted(data.tables) == ["flat", "flat_grown"]
    rows = {}
    for name, table in data.tables.items():
        view = tree_log.read_log(LocalStorage(str(table / "_rtfilter" / TREES_FOLDER / "cube")))
        assert view.tree is not None
        (segment,) = view.tree.segments
        rows[name] = (len(list(table.glob("*.parquet"))), segment.files.rows, segment.table_rows)
    assert rows["flat"] == (8, 8, 28_810)
    files, known, covered = rows["flat_grown"]
    assert known == files - 1 and 0.98 < covered / 28_810 < 0.995


def test_a_tree_that_cannot_be_made_leaves_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = star_tables.Table("SELECT * FROM store", star_tables.Tree("cube", ("s_nothing",), ("count(*)",)))
    monkeypatch.setattr(star_tables, "TABLES", {**star_tables.TABLES, "flat": broken})
    with pytest.raises(BenchError, match=r"'cube' cannot be made of .*s_nothing"):
        star.prepare(request_for(tmp_path, "node months"))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("star-") and path.is_dir()]
