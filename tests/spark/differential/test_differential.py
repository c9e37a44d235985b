"""Generated queries give the same rows with the layer on, off and in DuckDB.

`RTFILTER_FUZZ_CASES` and `RTFILTER_FUZZ_SEED` say how many queries, and from which seed on; `make fuzz N=1000 SEED=1` sets both.
With `RTFILTER_FUZZ_OFF=differing` a query runs with the layer off only where on and DuckDB differ, which saves a third of the time.
"""

from __future__ import annotations

import os
import queue
from collections.abc import Iterator, Sequence

import pytest
from pyspark.sql import SparkSession

from tests.spark.differential.generate import QUERIES_PER_SET, generate
from tests.spark.differential.run import Harness, InvalidCaseError
from tests.spark.differential.shrink import report, shrink
from tests.spark.differential.side_by_side import SIDE_BY_SIDE, check_all, free_ones
from tests.spark.differential.tally import Tally

QUERIES = int(os.environ.get("RTFILTER_FUZZ_CASES", "300"))
SEED = int(os.environ.get("RTFILTER_FUZZ_SEED", "20240"))
ALWAYS_OFF = os.environ.get("RTFILTER_FUZZ_OFF", "always") != "differing"
# A test is as many queries as pytest may show nothing for, in whole sets of tables.
QUERIES_PER_TEST = 10 * QUERIES_PER_SET
SEEDS = range(SEED * 1_000_000, SEED * 1_000_000 + QUERIES)
STARTS = range(0, QUERIES, QUERIES_PER_TEST)
# The least shares of queries in which packs were rejected, rows were dropped one by one, batches stayed in the reader, a scan
# waited for a shuffled build side, and rows came back.
LEAST = {"rejecting": 0.2, "dropping": 0.28, "skipping": 0.003, "waiting": 0.4, "returning": 0.45}


@pytest.fixture(scope="module")
def tally() -> Tally:
    return Tally(SEEDS.start)


@pytest.fixture(scope="module")
def free(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[queue.SimpleQueue[Harness]]:
    """The harnesses that nobody uses at the moment."""
    harnesses = (Harness(session, tmp_path_factory.mktemp("cases"), always_off=ALWAYS_OFF) for _ in range(SIDE_BY_SIDE))
    with free_ones(harnesses) as free:
        yield free


def run_set(free: queue.SimpleQueue[Harness], seeds: Sequence[int], tally: Tally) -> list[str]:
    """Runs the cases of some seeds one after the other, and returns what was found."""
    harness = free.get()
    try:
        return [finding for seed in seeds if (finding := run_seed(harness, seed, tally))]
    finally:
        free.put(harness)


def run_seed(harness: Harness, seed: int, tally: Tally) -> str:
    """What is wrong with the case of a seed, as small as it gets; empty if nothing is."""
    case = generate(seed)
    try:
        outcome = harness.run(case)
    except InvalidCaseError as e:
        return f"the generator is wrong: {e}"
    tally.count(outcome)
    if outcome.hangs:
        return report(case, f"hangs {outcome.detail}")
    if not outcome.agree:
        small = shrink(case, lambda smaller: not harness.run(smaller).agree)
        return f"seed {seed}: {outcome.detail}\n{report(small, harness.run(small).detail)}"
    return f"seed {seed}: {outcome.warnings}" if outcome.warnings else ""


@pytest.mark.parametrize("start", STARTS)
def test_on_off_and_duckdb_agree(start: int, tally: Tally, free: queue.SimpleQueue[Harness]) -> None:
    seeds = SEEDS[start : start + QUERIES_PER_TEST]
    sets = [seeds[first : first + QUERIES_PER_SET] for first in range(0, len(seeds), QUERIES_PER_SET)]
    check_all(sets, lambda each: run_set(free, each, tally), tally)


def test_the_queries_exercise_the_layer(tally: Tally) -> None:
    if tally.queries < QUERIES:
        pytest.skip("not all queries have run")
    few = {name: share for name, share in LEAST.items() if getattr(tally, name) < share * QUERIES}
    assert not few, f"less than a share of {few}: {tally}"
