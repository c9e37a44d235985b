"""Generated cases give the same rows, or the same error, with the layer on and off.

`RTFILTER_FUZZ_CASES` and `RTFILTER_FUZZ_SEED` say how many cases, and from which seed on; `make fuzz N=1000 SEED=1` sets both.
What is found stays in out/fuzz, with a program that shows it again.
"""

from __future__ import annotations

import os
import queue
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.differential.side_by_side import SIDE_BY_SIDE, check_all, free_ones
from tests.spark.kinds.case import KINDS, generate
from tests.spark.kinds.reproduce import keep
from tests.spark.kinds.run import Harness
from tests.spark.kinds.table_events import CASES_PER_WORLD
from tests.spark.kinds.tally import Tally

CASES = int(os.environ.get("RTFILTER_FUZZ_CASES", "300"))
SEED = int(os.environ.get("RTFILTER_FUZZ_SEED", "53"))
SEEDS = range(SEED * 1_000_000, SEED * 1_000_000 + CASES)
# A test is as many cases as pytest may show nothing for, in whole worlds.
CASES_PER_TEST = 5 * CASES_PER_WORLD
# The least shares of cases in which a filter was applied, packs were rejected and rows came back.
LEAST = {"applied": 0.5, "rejecting": 0.3, "returning": 0.6}
FOUND = Path(__file__).parents[3] / "out" / "fuzz"


@pytest.fixture(scope="module")
def tally() -> Tally:
    return Tally()


@pytest.fixture(scope="module")
def free(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[queue.SimpleQueue[Harness]]:
    """The harnesses that nobody uses at the moment."""
    harnesses = (Harness(session, tmp_path_factory.mktemp("worlds"), f"h{number}") for number in range(SIDE_BY_SIDE))
    with free_ones(harnesses) as free:
        yield free


def run_world(free: queue.SimpleQueue[Harness], seeds: Sequence[int], tally: Tally) -> list[str]:
    """Runs the cases of one world in their order, and returns what was found."""
    harness, found = free.get(), []
    try:
        for seed in seeds:
            case = generate(seed)
            outcome = harness.run(case)
            tally.count(case, outcome)
            if outcome.finding:
                found.append(keep(case, outcome, harness, FOUND))
        return found
    finally:
        free.put(harness)


@pytest.mark.parametrize("start", range(0, CASES, CASES_PER_TEST))
def test_on_and_off_agree(start: int, tally: Tally, free: queue.SimpleQueue[Harness]) -> None:
    seeds = SEEDS[start : start + CASES_PER_TEST]
    worlds = [seeds[first : first + CASES_PER_WORLD] for first in range(0, len(seeds), CASES_PER_WORLD)]
    check_all(worlds, lambda each: run_world(free, each, tally), tally)


def test_the_cases_exercise_the_layer(tally: Tally) -> None:
    if tally.counts["cases"] < CASES:
        pytest.skip("not all cases have run")
    few = {name: share for name, share in LEAST.items() if tally.share(name) < share}
    assert not few, f"less than a share of {few}: {tally}"
    # Spark answers otherwise from run to run, or refuses the query with and without the layer: such cases show nothing.
    assert tally.share("unsteady") < 0.02 and tally.share("invalid") < 0.03, str(tally)
    assert set(tally.kinds) == set(KINDS) or CASES < 300
