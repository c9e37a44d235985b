"""Trials take turns, the best time counts, and the promised time is kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rtfilter.calibrate.measure import REPEATS, best_times
from rtfilter.errors import CalibrationError


class Clock:
    """A clock that only trials move."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.runs: list[str] = []

    def trial(self, name: str, takes_s: float, *ms: float) -> Callable[[], float]:
        """A trial that takes its time and gives one ms after the other, the last one for ever."""
        left = list(ms)

        def run() -> float:
            self.now_s += takes_s
            self.runs.append(name)
            return left.pop(0) if len(left) > 1 else left[0]

        return run


def quiet(name: str, done: int, total: int) -> None:
    assert done <= total


def test_the_best_time_counts_and_the_first_run_does_not() -> None:
    clock = Clock()
    trials = {"a": clock.trial("a", 1, 0.5, 7.0, 3.0, 9.0), "b": clock.trial("b", 1, 99.0, 20.0)}
    assert best_times(trials, quiet, 100, lambda: clock.now_s) == {"a": 3.0, "b": 20.0}
    assert clock.runs == ["a", "b"] * REPEATS


def test_when_time_is_up_what_was_measured_is_enough() -> None:
    clock = Clock()
    trials = {name: clock.trial(name, 10, 5.0) for name in "abc"}
    assert best_times(trials, quiet, 65, lambda: clock.now_s) == {"a": 5.0, "b": 5.0, "c": 5.0}
    assert clock.runs == list("abcabca")


def test_a_machine_that_is_far_too_slow_is_an_error_that_says_what_to_do() -> None:
    clock = Clock()
    with pytest.raises(CalibrationError, match="--rows") as caught:
        best_times({name: clock.trial(name, 100, 5.0) for name in "abc"}, quiet, 50, lambda: clock.now_s)
    assert "2 of at least 6 runs" in str(caught.value)


def test_progress_is_told_run_by_run() -> None:
    told: list[tuple[str, int, int]] = []
    clock = Clock()
    best_times({"a": clock.trial("a", 1, 1.0)}, lambda *what: told.append(what), 100, lambda: clock.now_s)
    assert told == [("a", number + 1, REPEATS) for number in range(REPEATS)]
