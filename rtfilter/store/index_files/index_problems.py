"""What there is to say of an index of a scan's table: why it can't be used, or what it has done."""

from __future__ import annotations

from dataclasses import dataclass

from planner.counted import counted, part_of
from rtfilter.errors import IndexStorageError

# Some of the table is not indexed as it is now; of an index that is not asked: more than rtfilter.index.maxStale allows.
INDEX_STALE = "INDEX_STALE"
# Its log or its files can't be read, or contradict themselves.
INDEX_CORRUPT = "INDEX_CORRUPT"
# Written by another version of the format.
INDEX_VERSION = "INDEX_VERSION"
INDEX_DELETED = "INDEX_DELETED"
# It was there earlier, and its directory is not there any more.
INDEX_GONE = "INDEX_GONE"
# Being made, or left half made by a writer that died.
INDEX_UNFINISHED = "INDEX_UNFINISHED"
# On its way from a filesystem that only the bridge can open.
INDEX_COMING = "INDEX_COMING"
# The filesystem did not list or read it the last time that somebody tried.
INDEX_UNREACHABLE = "INDEX_UNREACHABLE"
# Its copy can't be kept on this machine: no room, or no right to write.
INDEX_CACHE = "INDEX_CACHE"
# Its copy would be larger than rtfilter.store.cacheBytes, or it has more of something than an index may have.
INDEX_TOO_LARGE = "INDEX_TOO_LARGE"
# It is not open yet, or took so long to open that it is left alone.
INDEX_SLOW = "INDEX_SLOW"

_REBUILD = "cancel it, then rebuild it (refresh in mode full; create, where cancel has left none)"
_WAYS_OUT = {
    INDEX_CORRUPT: _REBUILD,
    INDEX_VERSION: f"use the rtfilter that wrote it; or {_REBUILD}",
    INDEX_DELETED: "restore or vacuum it",
    INDEX_GONE: "make it anew, and set rtfilter.store.location for tables that are overwritten",
    INDEX_UNFINISHED: "wait for its writer, or cancel it",
    INDEX_SLOW: "optimize and vacuum it, or remove it, if this stays so",
    INDEX_UNREACHABLE: "check the path and the rights to it; later queries try again",
}


class IndexProblemError(IndexStorageError):
    """A problem of an index with a code of its own."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class IndexProblem:
    """A code, and what is the matter: a clause for people."""

    reason: str
    text: str


GONE = IndexProblem(INDEX_GONE, "it is not there any more, as after its table was overwritten")


def problem_of(error: Exception) -> IndexProblem:
    """What an error says of an index. One that has no code comes from what is in the index's files."""
    if isinstance(error, IndexProblemError):
        return IndexProblem(error.reason, str(error))
    return IndexProblem(INDEX_CORRUPT, str(error) if isinstance(error, IndexStorageError) else f"{type(error).__name__}: {error}")


def problem_sentence(problem: IndexProblem, name: str, place: str, *, is_used: bool) -> str:
    """What a problem means for an index in a place, and the way out; without a name for all that are there."""
    subject = f"Index {name} in {place} is" if name else f"The indexes in {place} are"
    way_out = _WAYS_OUT.get(problem.reason, "")
    what = problem.text.rstrip(".")
    return f"{subject} {'used only as far as possible' if is_used else 'not used'}: {what}{'; ' if way_out else ''}{way_out}."


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a file list an index knows as it is at that time, in files and bytes."""

    files: int
    files_unknown: int
    bytes: int
    bytes_unknown: int

    @property
    def stale_share(self) -> float:
        """Of the bytes, those that it does not know; of an empty table none."""
        return self.bytes_unknown / self.bytes if self.bytes else 0.0

    @property
    def text(self) -> str:
        """`4 of 5 files`: those that it knows."""
        return part_of(self.files - self.files_unknown, self.files, "file")


@dataclass(frozen=True, slots=True)
class IndexUse:
    """What an index has done for one scan. `packs_rejected`: beyond the footers. `refused`: the code of why it was not asked.

    `name` is empty for all indexes in `place`. `reason` is empty for one that was asked and has no problem.
    """

    name: str
    place: str
    coverage: Coverage
    packs_rejected: int
    problems: tuple[IndexProblem, ...]
    refused: str = ""

    @property
    def reason(self) -> str:
        # An index that can't tell which files it knows looks stale, too.
        return self.problems[0].reason if self.problems else self.refused

    @property
    def detail(self) -> str:
        """A sentence for reports and why_not."""
        if self.problems:
            return problem_sentence(self.problems[0], self.name, self.place, is_used=not self.refused)
        covers = f"it covers {self.coverage.text} as they are now"
        if self.refused:
            share = f"the others are {self.coverage.stale_share:.0%} of the table's bytes"
            return f"Index {self.name} is not used: {covers}, and {share}, more than rtfilter.index.maxStale allows; refresh it."
        rejected = counted(self.packs_rejected, "pack") if self.packs_rejected else "no pack"
        stale = f"; {covers}: refresh it" if self.coverage.files_unknown else ""
        return f"Index {self.name} rejects {rejected} beyond the footers{stale}."

    @property
    def remark(self) -> IndexProblem | None:
        """What a report should say of it besides its verdict; None where there is nothing the matter."""
        if self.reason:
            return IndexProblem(self.reason, self.detail)
        return IndexProblem(INDEX_STALE, self.detail) if self.coverage.files_unknown else None
