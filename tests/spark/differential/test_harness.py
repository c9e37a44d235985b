"""The harness itself: tables that stay, a query that hangs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.differential.engines import Engines
from tests.spark.differential.generate import QUERIES_PER_SET, generate
from tests.spark.differential.run import Harness

SEEDS = range(QUERIES_PER_SET)


@pytest.fixture
def harness(session: SparkSession, tmp_path: Path) -> Iterator[Harness]:
    harness = Harness(session, tmp_path)
    yield harness
    harness.close()


def folders(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.glob("*/*") if path.is_dir()}


def test_a_table_is_written_once_for_all_queries_of_its_set(harness: Harness, tmp_path: Path) -> None:
    for seed in SEEDS:
        assert harness.run(generate(seed)).agree
    written = folders(tmp_path)
    assert len(written) == len({table.name for seed in SEEDS for table in generate(seed).tables})
    for seed in SEEDS:
        harness.run(generate(seed))
    assert folders(tmp_path) == written


def test_a_table_of_another_set_takes_the_place_of_the_old_one(session: SparkSession, tmp_path: Path) -> None:
    engines = Engines(session, tmp_path)
    for seed in (SEEDS.start, SEEDS.stop):
        (table,) = (table for table in generate(seed).tables if table.name == "t0")
        engines.show(table)
        assert engines.spark.table("t0").count() == table.rows
        assert engines.duck.execute("select count(*) from t0").fetchone() == (table.rows,)
    assert len(list(tmp_path.iterdir())) == 1
    engines.close()


def test_a_query_that_hangs_is_found_and_the_next_one_runs(harness: Harness) -> None:
    longest_s, harness.limit.longest_s = harness.limit.longest_s, 0.01
    outcome = harness.run(generate(SEEDS.start))
    assert outcome.hangs and not outcome.agree
    assert "no end within 0.01 s" in outcome.detail
    harness.limit.longest_s = longest_s
    assert all(harness.run(generate(seed)).agree for seed in SEEDS)


def test_a_result_that_is_too_large_to_collect_is_left_to_duckdb(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    (returning, *_) = [seed for seed in SEEDS if harness.run(generate(seed)).rows > 1]
    monkeypatch.setattr("tests.spark.differential.run.LARGEST_RESULT_ROWS", 1)
    outcome = harness.run(generate(returning))
    assert outcome.too_large and outcome.agree and outcome.rows == 0
    monkeypatch.undo()
    assert not harness.run(generate(returning)).too_large
