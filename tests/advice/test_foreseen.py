"""The packs that a sample foresees are those that the built index keeps: a small form of tests/measure/packs_foreseen.py."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.advice.foreseen import Case, cases


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    every = cases(tmp_path_factory.mktemp("foreseen"), packs=200, pack_rows=500, sampled=100, queries=24)
    return [case for case in every if case.is_between]


def test_nine_of_ten_are_right(found: list[Case]) -> None:
    cells = Counter((case.layout, case.kind) for case in found)
    assert len({kind for _, kind in cells}) == 5 and len({layout for layout, _ in cells}) == 3
    assert sum(count for count in cells.values() if count >= 20) > 0.8 * len(found)
    assert sum(case.is_right for case in found) >= 0.9 * len(found)


def test_a_guess_would_not_do(found: list[Case]) -> None:
    # The mean of all cases in place of each: what is foreseen has to do with the query.
    mean = sum(case.kept for case in found) / len(found)
    guessed = [Case(case.layout, case.kind, case.query, mean, case.kept, case.packs) for case in found]
    assert sum(case.is_right for case in guessed) < 0.5 * len(found)
