"""Generated queries give the same rows with the layer on, off and in DuckDB.

`RTFILTER_FUZZ_CASES` and `RTFILTER_FUZZ_SEED` say how many cases, and from which seed on; `make fuzz N=1000 SEED=1` sets both.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.differential.generate import generate
from tests.spark.differential.run import Harness, Outcome
from tests.spark.differential.shrink import report, shrink

CASES = int(os.environ.get("RTFILTER_FUZZ_CASES", "100"))
SEED = int(os.environ.get("RTFILTER_FUZZ_SEED", "20240"))
# A test is as many cases as pytest may show nothing for.
CASES_PER_TEST = 15
SEEDS = range(SEED * 1_000_000, SEED * 1_000_000 + CASES)
STARTS = range(0, CASES, CASES_PER_TEST)
# The least share of cases in which packs were rejected, and of those that returned rows.
LEAST_REJECTING = 0.2
LEAST_RETURNING = 0.45
# Of those in which rows were dropped one by one, and in which a scan waited for a shuffled build side.
LEAST_DROPPING = 0.28
LEAST_WAITING = 0.4


@dataclass
class Tally:
    """The outcomes so far, by seed."""

    outcomes: dict[int, Outcome] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def rejecting(self) -> int:
        return sum(outcome.packs_rejected > 0 for outcome in self.outcomes.values())

    @property
    def dropping(self) -> int:
        return sum(outcome.rows_dropped > 0 for outcome in self.outcomes.values())

    @property
    def waiting(self) -> int:
        return sum(outcome.gates > 0 for outcome in self.outcomes.values())

    @property
    def returning(self) -> int:
        return sum(outcome.rows > 0 for outcome in self.outcomes.values())

    def __str__(self) -> str:
        total, read = (sum(getattr(each, name) for each in self.outcomes.values()) for name in ("packs_total", "packs_read"))
        return (
            f"{len(self.outcomes)} cases from seed {SEEDS.start} on in {self.seconds:.1f} s: {self.rejecting} had packs rejected "
            f"({total - read} of {total} packs of narrowed scans), {self.dropping} had rows dropped, "
            f"{self.waiting} had filters that a scan waited for, {self.returning} returned rows"
        )


@pytest.fixture(scope="module")
def tally() -> Tally:
    return Tally()


@pytest.mark.parametrize("start", STARTS)
def test_on_off_and_duckdb_agree(start: int, tally: Tally, spark: SparkSession, tmp_path: Path) -> None:
    harness = Harness(spark, tmp_path)
    for seed in SEEDS[start : start + CASES_PER_TEST]:
        began = time.monotonic()
        case = generate(seed)
        outcome = harness.run(case)
        tally.seconds += time.monotonic() - began
        tally.outcomes[seed] = outcome
        if not outcome.agree:
            small = shrink(case, lambda smaller: not harness.run(smaller).agree)
            pytest.fail(f"{outcome.detail}\n{report(small, harness.run(small).detail)}", pytrace=False)
        assert not outcome.warnings, f"seed {seed}: {outcome.warnings}"


def test_the_cases_exercise_the_layer(tally: Tally) -> None:
    if len(tally.outcomes) < CASES:
        pytest.skip("not all cases have run")
    print(f"\n{tally}")
    assert tally.rejecting >= LEAST_REJECTING * CASES, str(tally)
    assert tally.dropping >= LEAST_DROPPING * CASES, str(tally)
    assert tally.waiting >= LEAST_WAITING * CASES, str(tally)
    assert tally.returning >= LEAST_RETURNING * CASES, str(tally)
