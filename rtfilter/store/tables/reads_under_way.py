"""Which footers somebody reads just now, so that nobody else does, and so that a verdict can wait for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeAlias

from rtfilter.store.footer_cache.footer_memory import FileIdentity

# Longest time that a footer asked of the bridge counts as being under way.
BRIDGE_ANSWERS_WITHIN_S = 30.0
# Files asked of the bridge that are waited for together.
MOST_ASKED_TOGETHER = 256
# More than these, and those that nobody reads any more are looked for.
MOST_READS = 1_000_000

Read: TypeAlias = tuple[int, tuple[str, ...]]
"""The position of a file in its list, and the columns that are read of it, in lower case."""


@dataclass(slots=True)
class _Group:
    """Footers that somebody reads: done when `done` is. Of those asked of the bridge: when they expire (monotonic), and how many
    are left."""

    done: Future[None]
    expires: float | None = None
    left: int = 0

    def is_pending(self, now: float) -> bool:
        return not self.done.done() and (self.expires is None or now < self.expires)


class ReadsUnderWay:
    """By file and column, in groups that are waited for together. Not thread-safe, its owner locks. Times are monotonic."""

    def __init__(self) -> None:
        self._groups: dict[tuple[FileIdentity, str], _Group] = {}

    def has(self, file: FileIdentity, name: str, now: float) -> bool:
        """Whether somebody reads this column of the file."""
        group = self._groups.get((file, name))
        return group is not None and group.is_pending(now)

    def begin(self, files: Sequence[FileIdentity], reads: Iterable[Read], done: Future[None]) -> None:
        """A task reads these; it sets `done` at its end."""
        self._mark(files, reads, _Group(done))

    def expect_of_bridge(self, files: Sequence[FileIdentity], reads: Sequence[Read], now: float) -> None:
        """The bridge is asked for these, and may never answer."""
        if len(self._groups) > MOST_READS:
            self._groups = {read: each for read, each in self._groups.items() if each.is_pending(now)}
        expires = now + BRIDGE_ANSWERS_WITHIN_S
        for begin in range(0, len(reads), MOST_ASKED_TOGETHER):
            group = reads[begin : begin + MOST_ASKED_TOGETHER]
            self._mark(files, group, _Group(Future(), expires, sum(len(names) for _, names in group)))

    def end(self, file: FileIdentity, columns: Iterable[str]) -> None:
        """What was read of the file is there."""
        for name in columns:
            group = self._groups.pop((file, name), None)
            # A task's future is the task's to set.
            if group is not None and group.expires is not None:
                group.left -= 1
                if not group.left:
                    group.done.set_result(None)

    def pending(self, files: Iterable[FileIdentity], columns: Sequence[str], now: float) -> set[Future[None]]:
        """What to wait for before these columns are known."""
        if not self._groups:
            return set()
        found = (self._groups.get((file, name)) for file in files for name in columns)
        return {each.done for each in found if each is not None and each.is_pending(now)}

    def _mark(self, files: Sequence[FileIdentity], reads: Iterable[Read], group: _Group) -> None:
        for i, names in reads:
            for name in names:
                self._groups[files[i], name] = group
