"""What is said while a benchmark runs."""

from __future__ import annotations

import io

from rich.console import Console

from rtfilter.bench.run.progress import BenchProgress, time_left


def test_without_a_terminal_there_are_plain_lines_and_not_too_many() -> None:
    text = io.StringIO()
    with BenchProgress(Console(file=text)) as progress:
        progress.say("starts Spark")
        progress.expect(100)
        for number in range(100):
            progress.advance(f"p=0.1 [off] run {number}: 5 ms")
    lines = text.getvalue().splitlines()
    assert lines[0] == "starts Spark"
    assert lines[-1] == "100/100 p=0.1 [off] run 99: 5 ms"
    assert len(lines) < 10


def test_the_time_left_follows_from_the_runs_that_are_done() -> None:
    assert time_left(10, 90, 10.0) == "about 80 s left"
    assert time_left(1, 100, 30.0) == "about 50 min left"
    assert time_left(10, 1010, 100.0) == "about 2.8 h left"
    assert time_left(99, 100, 1.0) == "about 1 s left"
    assert time_left(0, 100, 1.0) == time_left(100, 100, 1.0) == ""
