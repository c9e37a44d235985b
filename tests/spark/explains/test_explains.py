"""Golden EXPLAINs: real queries, and the report of each as users see it.

`pytest tests/spark/explains --update-golden` writes the reports anew: read the difference, sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.golden_pairs import Pair, read_pairs, write_pairs
from tests.spark.explains.explained import run

FILES = sorted((Path(__file__).parent / "queries").glob("*.txt"))
PAIRS = [(file, pair) for file in FILES for pair in read_pairs(file)]


@pytest.fixture(scope="module")
def seen(request: pytest.FixtureRequest) -> Iterator[dict[str, tuple[str, ...]]]:
    """By title, what was seen; written into the files at the end where that is asked for."""
    found: dict[str, tuple[str, ...]] = {}
    yield found
    if request.config.getoption("--update-golden", default=False):
        for file in FILES:
            write_pairs(file, [replace(pair, after=found.get(pair.title, pair.after)) for pair in read_pairs(file)])


@pytest.mark.parametrize("pair", [pytest.param(pair, id=f"{file.stem}: {pair.title}") for file, pair in PAIRS])
def test_the_report_of_a_query(
    pair: Pair, spark: SparkSession, seen: dict[str, tuple[str, ...]], request: pytest.FixtureRequest
) -> None:
    ran = run(spark, pair)
    seen[pair.title] = tuple(ran.lines)
    assert ran.rows == ran.rows_without
    assert ran.rows or "no row" in pair.title, "a query that is to show something must have rows"
    if not request.config.getoption("--update-golden", default=False):
        assert ran.lines == list(pair.after)


def test_there_are_enough_and_each_is_of_its_own() -> None:
    assert len(PAIRS) >= 40 and len({pair.title for _, pair in PAIRS}) == len({pair.before for _, pair in PAIRS}) == len(PAIRS)
    kept = [line for _, pair in PAIRS for line in pair.after if line.startswith("scan of ")]
    assert len(kept) >= 20, "most of the queries read fewer packs than there are"
