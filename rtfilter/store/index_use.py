"""What there is to say of an index of a scan's table: why it can't be used, or what it has done."""

from __future__ import annotations

from dataclasses import dataclass

INDEX_USED = "INDEX_USED"
# More of the table than rtfilter.index.maxStale allows is not indexed as it is now.
INDEX_STALE = "INDEX_STALE"
# Its log or its files can't be read, or contradict themselves.
INDEX_CORRUPT = "INDEX_CORRUPT"
# Written by another version of the format.
INDEX_VERSION = "INDEX_VERSION"
INDEX_DELETED = "INDEX_DELETED"
# Being made, or left half made by a writer that died.
INDEX_UNFINISHED = "INDEX_UNFINISHED"
# On its way from a filesystem that only the bridge can open.
INDEX_COMING = "INDEX_COMING"


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a file list an index knows as it is now, in files and bytes."""

    files: int
    files_unknown: int
    bytes: int
    bytes_unknown: int

    @property
    def stale_share(self) -> float:
        """Of the bytes, those that it does not know; of an empty table none."""
        return self.bytes_unknown / self.bytes if self.bytes else 0.0


@dataclass(frozen=True, slots=True)
class IndexUse:
    """What an index has done for one scan. `packs_rejected`: beyond the footers. `refused`: the code of why it was not asked."""

    name: str
    coverage: Coverage
    packs_rejected: int
    problems: tuple[str, ...]
    refused: str = ""

    @property
    def reason(self) -> str:
        if self.refused:
            return self.refused
        return INDEX_CORRUPT if self.problems else INDEX_USED

    @property
    def detail(self) -> str:
        """A sentence for reports and why_not."""
        files, unknown = self.coverage.files, self.coverage.files_unknown
        if self.refused == INDEX_COMING:
            return f"Index {self.name} is being copied from there; later queries use it."
        if self.refused == INDEX_STALE:
            return (
                f"Index {self.name} is not used: {self.coverage.stale_share:.0%} of the table ({unknown} of {files} files) is not "
                "indexed as it is now, more than rtfilter.index.maxStale allows; refresh it."
            )
        if self.problems:
            return f"Index {self.name} can't be used in full: {self.problems[0]}"
        stale = f"; {unknown} of {files} files are not indexed as they are now: refresh it" if unknown else ""
        return f"Index {self.name} rejects {self.packs_rejected} packs beyond the footers{stale}."


def unusable_sentence(name: str, reason: str, problem: str = "") -> str:
    """Why an index can't be used at all, and the way out."""
    said = {
        INDEX_CORRUPT: f"its log or its files can't be read{': ' if problem else ''}{problem.rstrip('.')}; cancel or rebuild it",
        INDEX_VERSION: "it was written by another version of rtfilter; rebuild it",
        INDEX_DELETED: "it is deleted; restore or vacuum it",
        INDEX_UNFINISHED: "it was never finished; wait for its writer, or cancel it",
    }
    return f"Index {name} is not used: {said[reason]}."
