"""What a benchmark says on stderr while it runs: a bar on a terminal, now and then a line anywhere else."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

LINE_EVERY_S = 5.0


class BenchProgress:
    """Use as a context manager; `say` names the step at hand, `expect` and `advance` count runs."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._total = 0
        self._done = 0
        self._last_line_s = 0.0
        self._begin_s = 0.0
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task("starts", total=None)

    def __enter__(self) -> BenchProgress:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def say(self, step: str) -> None:
        """Begins a step of unknown length."""
        self._bar.update(self._task, description=step)
        self._line(step)

    def expect(self, runs: int) -> None:
        """From now on `runs` runs are counted."""
        self._total, self._done, self._begin_s = runs, 0, time.monotonic()
        self._bar.reset(self._task, total=runs)

    def advance(self, what: str) -> None:
        """One run is done."""
        self._done += 1
        left = time_left(self._done, self._total, time.monotonic() - self._begin_s)
        self._bar.update(self._task, description=f"{what}, {left}" if left else what, completed=self._done)
        if self._done == self._total or time.monotonic() - self._last_line_s >= LINE_EVERY_S:
            self._line(f"{self._done}/{self._total} {what}" + (f", {left}" if left else ""))

    def _line(self, text: str) -> None:
        if not self._console.is_terminal:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)
            self._last_line_s = time.monotonic()


def time_left(done: int, total: int, elapsed_s: float) -> str:
    """`about 4 min left`, if the runs that are left take as long as those that are done; nothing when none is left or done."""
    if not 0 < done < total:
        return ""
    left_s = elapsed_s / done * (total - done)
    if left_s < 90:
        return f"about {max(left_s, 1):.0f} s left"
    return f"about {left_s / 60:.0f} min left" if left_s < 5400 else f"about {left_s / 3600:.1f} h left"
