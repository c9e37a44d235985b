"""What is said while a benchmark runs."""

from __future__ import annotations

import io

from rich.console import Console

from rtfilter.bench.progress import BenchProgress


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
