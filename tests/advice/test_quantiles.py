"""`rtfilter quantiles`: golden cases A19 and A20, and what a log may hold."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from rtfilter.advice.logs.quantiles import UNABLE, Fit, fitted, quantiles, quantiles_of
from rtfilter.cli.command import main

# By hand: with entries in the middle of bins (50, 150, 250, 350), R² is 42² / (84 · 30) = 0.7.
EXACTLY = [(50, 0), (150, 1), (250, 5), (350, 2)]


def log(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def lines(points: Sequence[tuple[int, float]]) -> list[dict[str, Any]]:
    return [{"sql": "select 1", "entries_in_filter": entries, "ms": ms} for entries, ms in points]


@pytest.mark.parametrize(("percent", "value"), [(10, 1), (50, 5), (95, 9), (25, 2.5), (90, 9)])
def test_a19_quantiles_by_position(percent: int, value: float) -> None:
    assert quantiles_of(Counter(range(1, 10)), [percent]) == [value]


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=50), st.integers(1, 99))
def test_quantiles_are_those_of_weibull(values: list[int], percent: int) -> None:
    (found,) = quantiles_of(Counter(values), [percent])
    assert found == pytest.approx(np.quantile(values, percent / 100, method="weibull"))


def test_a20_the_least_r2_is_strict(tmp_path: Path) -> None:
    assert not Fit(Fraction(1), Fraction(0), Fraction(7, 10)).explains
    assert Fit(Fraction(1), Fraction(0), Fraction(71, 100)).explains
    found = quantiles([log(tmp_path / "q.jsonl", lines([*EXACTLY]))])
    assert found["fit"]["r2"] == 0.7 and found["maximum_optimisation_ms"] == UNABLE
    found = quantiles([log(tmp_path / "q.jsonl", lines([*EXACTLY[:3], (350, 3)]))])
    assert found["fit"]["r2"] == pytest.approx(49**2 / (84 * 35))
    assert found["maximum_optimisation_ms"]["50"] == pytest.approx(200 * found["fit"]["alpha"])


def test_the_shortest_time_of_a_bin_counts(tmp_path: Path) -> None:
    noisy = lines([(i * 100 + j, i + 1 + 50 * j) for i in range(9) for j in range(3)])
    found = quantiles([log(tmp_path / "q.jsonl", noisy)])
    x, y = np.arange(9) * 100 + 50, np.arange(9) + 1
    assert found["fit"]["alpha"] == pytest.approx((x @ y) / (x @ x)) and found["fit"]["beta"] == 0


def test_entries_after_the_filter_have_a_share_of_their_own(tmp_path: Path) -> None:
    random_ = np.random.default_rng(1)
    x, z = random_.integers(0, 90, 40) * 100 + 50, random_.integers(0, 90, 40) * 100 + 50
    triples = [(int(a), int(b)) for a, b in zip(x, z, strict=True)]
    points = [{"entries_in_filter": a, "entries_post_filter": b, "ms": 3 * a + 2 * b} for a, b in triples]
    found = quantiles([log(tmp_path / "q.jsonl", points)])
    assert found["fit"] == {"alpha": 3.0, "beta": 2.0, "r2": 1.0}


@pytest.mark.parametrize("points", [{}, {(0, None): 0}, {(0, 0): 1}])
def test_no_fit_where_there_is_no_single_best_one(points: dict[tuple[int, int | None], int]) -> None:
    assert fitted(dict(points)) is None


def test_no_order_matters_and_weights_count(tmp_path: Path) -> None:
    weighted = [{**line, "weight": i + 0.5} for i, line in enumerate(lines([(i * 37 % 1000, 0.1 * i) for i in range(50)]))]
    shuffled = list(weighted)
    random.Random(4).shuffle(shuffled)
    first, second = (quantiles([log(tmp_path / name, each)]) for name, each in (("a", weighted), ("b", shuffled)))
    assert first == second
    heavy = quantiles([log(tmp_path / "c", [{"ms": 1, "weight": 98}, {"ms": 7}])])
    assert (heavy["ms"]["50"], heavy["ms"]["95"], heavy["rows"]["50"], heavy["fit"]) == (1, 1, None, None)


def test_the_command(tmp_path: Path) -> None:
    path = log(tmp_path / "q.jsonl", lines(EXACTLY))
    with open(path, "a") as file:
        file.write("{broken\n")
    printed = CliRunner().invoke(main, ["quantiles", "--log", str(path), "--log", str(path)])
    assert printed.exit_code == 0 and UNABLE in printed.output and "Read 4 queries" in printed.output
    assert f"skipped 1: broken lines, which are no JSON ({path}:5)" in printed.output
    as_json = CliRunner().invoke(main, ["quantiles", "--log", str(path), "--json"])
    assert json.loads(as_json.stdout)["rows"]["50"] == 200
    empty = CliRunner().invoke(main, ["quantiles", "--log", str(log(tmp_path / "e.jsonl", []))])
    assert empty.exit_code == 0 and "Read 0 queries" in empty.output
    gone = CliRunner().invoke(main, ["quantiles", "--log", str(tmp_path / "gone")])
    assert gone.exit_code == 2 and "can't be read" in gone.output
