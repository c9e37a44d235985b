"""An index as it was found in a place: open, or with what is the matter with it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from rtfilter.store.index_files.index_problems import (
    INDEX_COMING,
    INDEX_CORRUPT,
    INDEX_DELETED,
    INDEX_UNFINISHED,
    INDEX_VERSION,
    IndexProblem,
    problem_sentence,
)
from rtfilter.store.index_files.log import ACTIVE, DELETED, OTHER_VERSION, UNREADABLE, LogView
from rtfilter.store.index_reading.reader import PackIndex

# An index that has a problem is opened anew after this time, though its log has not gone on.
TRY_AGAIN_S = 60.0
# In the name of an index's directory: what comes behind it is the file that is the whole table. No index has it in its own name.
OF_FILE = "@"


@dataclass(frozen=True, slots=True)
class ShelvedIndex:
    """An index that is there: open, or with the problem that keeps it from being used. With both it is used as far as it goes.

    `name` is that of its directory, empty for all that is in `place`. `root`: where its table is, None while nobody knows.
    """

    name: str
    place: str
    index: PackIndex | None
    problem: IndexProblem | None = None
    root: str | None = None

    @property
    def problems(self) -> tuple[IndexProblem, ...]:
        """What is the matter. What an open index lacks of itself is no news beside the reason why it does not come."""
        if self.problem is not None:
            return (self.problem,)
        return () if self.index is None else tuple(self.index.problems.values())

    @property
    def sentence(self) -> str:
        """The first problem for people; empty without one."""
        return "".join(problem_sentence(each, self.name, self.place, is_used=self.index is not None) for each in self.problems[:1])

    @property
    def is_unseen(self) -> bool:
        """Whether nobody has looked at the place yet."""
        return not self.name and self.problem is not None and self.problem.reason == INDEX_COMING

    def concerns(self, is_table: Callable[[str, str | None], bool], is_shared: bool) -> bool:
        """Whether a table has to do with it. `is_table` gets its root, and the file there that is the whole table, None for all.

        Of an index that can't be read in a place for many tables nobody knows whose it is.
        """
        root = self.root if self.index is None else self.index.root
        if root is not None:
            return is_table(root, file_of_index(self.name))
        return not self.name or not is_shared


def file_of_index(folder: str) -> str | None:
    """The file that is the table of the index in this directory; None where the table is a directory."""
    return os.path.basename(folder).partition(OF_FILE)[2] or None


def shelved_in(folder: str, index: PackIndex | None, problem: IndexProblem | None = None, root: str | None = None) -> ShelvedIndex:
    """What was found in an index's directory."""
    return ShelvedIndex(os.path.basename(folder), os.path.dirname(folder), index, problem, root)


def problem_of_log(view: LogView) -> IndexProblem | None:
    """What the end of a log says against an index; None where all is well, and for a directory in which there is none, or no more.

    An entry behind the latest stable one that nobody can read may be a refresh that readers don't see.
    """
    if view.state == DELETED:
        return IndexProblem(INDEX_DELETED, "it is deleted")
    if view.latest is None or view.latest.is_stable:
        return None
    if view.latest.state == UNREADABLE:
        return IndexProblem(INDEX_CORRUPT, f"entry {view.latest.number} of its log can't be read ({view.latest.why})")
    if view.latest.state == OTHER_VERSION:
        return IndexProblem(INDEX_VERSION, f"entry {view.latest.number} of its log was written by another version of rtfilter")
    return None if view.state == ACTIVE else IndexProblem(INDEX_UNFINISHED, "it was never finished")
