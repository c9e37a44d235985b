"""How many tasks read shuffles that filters made smaller.

Adaptive execution cuts the shuffles that a stage reads into partitions of an advisory size, so rows that a filter dropped take
tasks away from the stage. Where little work is left that is right. What is left may be most of the query all the same (a join of
each row with many others), and three long tasks on two cores leave one core idle for half of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Tasks for each core at most. With more of them the end of the stage is hardly shared out better.
ROUNDS = 4
# A task gets at least this share of Spark's advisory size: reading and joining 4 MB takes longer than starting a task, and what
# follows may take far longer (in TPC-DS Q95 at SF10, 6 s for 5 MB: each order's rows are joined with one another).
LEAST_SHARE = 1 / 16


@dataclass(frozen=True, slots=True)
class ReadShuffle:
    """A finished shuffle: its bytes, its rows (None: not known), and the rows that filters dropped in the stage that wrote it."""

    bytes: int
    rows: int | None
    dropped: int

    @property
    def bytes_without_filters(self) -> float:
        """What it would have been, with rows as wide as those that are left; never less than it is."""
        return self.bytes * (self.rows + self.dropped) / self.rows if self.rows else float(self.bytes)


@dataclass(frozen=True, slots=True)
class CutAlike:
    """Shuffles that are cut at the same reducers, each of them once.

    `reducer_bytes`: of all of them together, by reducer; `tasks`: what Spark made of them; `advisory_bytes`: Spark's own target.
    """

    shuffles: tuple[ReadShuffle, ...]
    reducer_bytes: tuple[int, ...]
    tasks: int
    advisory_bytes: int


def wanted_tasks(cut: CutAlike, cores: int) -> int:
    """As many tasks as Spark would have made without filters, no more than pay, and never fewer than it has made."""
    total = sum(shuffle.bytes for shuffle in cut.shuffles)
    if total <= 0:
        return cut.tasks
    before = cut.tasks * sum(shuffle.bytes_without_filters for shuffle in cut.shuffles) / total
    worth = total / max(cut.advisory_bytes * LEAST_SHARE, 1)
    return max(cut.tasks, int(min(before, ROUNDS * cores, worth, len(cut.reducer_bytes))))


def cut_again(cut: CutAlike, cores: int) -> list[tuple[int, int]] | None:
    """The reducers of each task, `(first, end)` from 0 to the last one without a gap; None where Spark's own cut is right."""
    tasks = wanted_tasks(cut, cores)
    if tasks <= cut.tasks:
        return None
    ranges = list(_ranges(cut.reducer_bytes, tasks))
    return ranges if len(ranges) > cut.tasks else None


def _ranges(sizes: Sequence[int], tasks: int) -> Iterator[tuple[int, int]]:
    """Runs of about equal size: a reducer belongs to that part of the whole in which its middle lies."""
    total = max(sum(sizes), 1)
    begin, part, before = 0, 0, 0
    for reducer, size in enumerate(sizes):
        own = min(int((before + size / 2) * tasks / total), tasks - 1)
        if own != part and reducer > begin:
            yield begin, reducer
            begin = reducer
        part, before = own, before + size
    yield begin, len(sizes)
