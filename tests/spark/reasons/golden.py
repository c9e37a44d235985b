"""The texts of the table of reasons, in one file for people to read: under each row's name what users see."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

FILE = Path(__file__).with_name("reasons.txt")
MARK = "## "
# What depends on the machine or the run: times, numbers of expressions, sizes of files, folders of tests.
_VARIES = (
    (re.compile(r"\d[\d,]*(\.\d+)?(?= (ms|ns)\b)"), "N"),
    (re.compile(r"#\d+L?"), "#N"),
    # Guesses go by the sizes of files, which are another writer version's.
    (re.compile(r"\d[\d,]*(?= build rows| bytes)|(?<=expected to have )\d[\d,]*"), "N"),
    (re.compile(r"(file:|viewfs://far)?(/[\w.\-]+)+/(?=[\w.\-@]+)"), "…/"),
)


def without_what_varies(text: str) -> str:
    """A text as it stands in the file."""
    for pattern, instead in _VARIES:
        text = pattern.sub(instead, text)
    return text


@dataclass
class Golden:
    """By the name of a row, its lines; `seen`: those of the rows that ran."""

    known: dict[str, list[str]]
    seen: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls) -> Golden:
        blocks = FILE.read_text(encoding="utf-8").split(MARK)[1:] if FILE.exists() else []
        parts = [block.strip().splitlines() for block in blocks]
        return cls({lines[0]: lines[1:] for lines in parts})

    def write(self, names: Iterable[str]) -> None:
        """The file anew for rows of these names, with what was seen in place of what was known."""
        texts = {**self.known, **self.seen}
        blocks = ["\n".join([MARK + name, *texts[name]]) for name in sorted(names) if name in texts]
        FILE.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
