"""Fixture files of pairs, as people read them: a comment, what is asked, `=>`, what comes of it; a blank line ends a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pair:
    """One pair as it stands in its file."""

    comments: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def title(self) -> str:
        """The comment in one line."""
        return " ".join(comment.lstrip("# ") for comment in self.comments)

    @property
    def text(self) -> str:
        return "\n".join([*self.comments, *self.before, "=>", *self.after])


def read_pairs(file: Path) -> list[Pair]:
    """The pairs of a fixture file.

    Raises:
        ValueError: one of them has no comment, or nothing is asked in it.
    """
    return [_pair(block.splitlines(), file) for block in file.read_text(encoding="utf-8").strip().split("\n\n") if block.strip()]


def _pair(lines: Sequence[str], file: Path) -> Pair:
    comments = tuple(line for line in lines if line.startswith("#"))
    rest = [line.rstrip() for line in lines if not line.startswith("#")]
    at = rest.index("=>") if "=>" in rest else len(rest)
    if not comments or not at:
        raise ValueError(f"{file.name}: a pair must have a comment and ask something: {' / '.join(lines)}")
    return Pair(comments, tuple(rest[:at]), tuple(rest[at + 1 :]))


def write_pairs(file: Path, pairs: Sequence[Pair]) -> None:
    """The fixture file anew."""
    file.write_text("\n\n".join(pair.text for pair in pairs) + "\n", encoding="utf-8")
