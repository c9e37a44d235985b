"""The differential harness finds a rule that is broken on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.differential.cases import Case
from tests.spark.differential.generate import generate
from tests.spark.differential.run import Harness, Outcome
from tests.spark.differential.sql import SPARK, render
from tests.spark.mutations.broken_rules import BROKEN, NOTHING, Broken

# Every rule must be found within as many cases that can meet it; what some rules need is rare.
CASES = 200
SEEDS = range(1, 20 * CASES)
# Enough to see that it is the broken rule that is found.
WHOLE_CASES = 8


def first_disagreement(harness: Harness, broken: Broken) -> tuple[int, int, Outcome] | None:
    """How many cases it took, the last seed, and what it gave. Cases that cannot meet the rule are neither run nor counted."""
    for number, (seed, case) in enumerate(islice(_cases_for(broken), CASES), start=1):
        outcome = harness.run(case)
        if not outcome.agree:
            return number, seed, outcome
    return None


def _cases_for(broken: Broken) -> Iterator[tuple[int, Case]]:
    for seed in (*broken.found_by, *SEEDS):
        case = generate(seed)
        shown = f"{render(case, SPARK)} {case.tables}"
        if any(text in shown for text in broken.needs):
            yield seed, case


@pytest.fixture(scope="module")
def harness(application: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    harness = Harness(application, tmp_path_factory.mktemp("cases"), always_off=False)
    yield harness
    harness.close()


def test_with_whole_rules_nothing_is_found(harness: Harness, rule: Path) -> None:
    rule.write_text(NOTHING, encoding="utf-8")
    outcomes = [harness.run(generate(seed)) for seed in SEEDS[:WHOLE_CASES]]
    assert all(outcome.agree and not outcome.warnings for outcome in outcomes)
    assert any(outcome.packs_rejected for outcome in outcomes)


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_rule_is_found(harness: Harness, rule: Path, broken: str) -> None:
    rule.write_text(broken, encoding="utf-8")
    found = first_disagreement(harness, BROKEN[broken])
    assert found is not None, f"{CASES} cases agree although {broken}"
    number, seed, outcome = found
    print(f"\n{broken}: case {number}, seed {seed}: {outcome.detail[:150]}")
    assert outcome.detail.startswith("on has"), "it is the layer that must be found, not the oracle"
