"""Golden pairs: a plan, and what the planner decides on it. `make golden` writes what is decided anew."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.golden_pairs import Pair, read_pairs, write_pairs
from tests.planner.golden.pairs import FIXTURES, lines_after
from tests.planner.golden.plan_text import parse_plan

FILES = sorted(FIXTURES.glob("*.txt"))
PAIRS = [(file, pair) for file in FILES for pair in read_pairs(file)]


@pytest.fixture(scope="module")
def written(request: pytest.FixtureRequest) -> dict[str, Pair]:
    """The pairs as they stand in their files, by title."""
    if request.config.getoption("--update-golden", default=False):
        for file in FILES:
            write_pairs(file, [replace(pair, after=tuple(lines_after(pair))) for pair in read_pairs(file)])
    return {pair.title: pair for file in FILES for pair in read_pairs(file)}


@pytest.mark.parametrize("pair", [pytest.param(pair, id=f"{file.stem}: {pair.title}") for file, pair in PAIRS])
def test_what_is_decided_on_a_plan(pair: Pair, written: dict[str, Pair]) -> None:
    assert lines_after(pair) == list(written[pair.title].after)


def test_each_pair_says_something_of_its_own() -> None:
    assert len(PAIRS) >= 60
    for said in ([pair.title for _, pair in PAIRS], ["\n".join(pair.before) for _, pair in PAIRS]):
        assert [text for text, times in Counter(said).items() if times > 1] == []


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "at least one operator"),
        (["Scan"], "a name and columns in brackets"),
        (["Project fact.x", "  Scan fact[k]"], "x is no column"),
        (["Scan fact[k]", "Scan dim[k]"], "beside the root"),
        (["Scan fact[k] rows=many"], "'many' is no number"),
    ],
)
def test_a_plan_that_is_none_is_told_with_its_line(lines: list[str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_plan(lines)
