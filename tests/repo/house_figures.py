"""How well a stranger finds the way through this repository, in figures: `python -m tests.repo.house_figures`.

Each figure has a limit. The script prints them all, and its status is 1 where one is above its limit.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.repo.placing_walk import ROOT, placing_walk
from tests.repo.test_hygiene import tracked_files
from tests.repo.test_pages import MOST_LINES, MOST_LONG, PAGES, long_sentences

# Names of files that say nothing to somebody who does not know what is inside.
RIDDLES = frozenset(
    ("raw", "past", "ahead", "waits", "settled", "running", "looks", "carried", "shared", "by_place", "seen_rows", "asked", "held")
)
MOST_SOURCE_LINES, MOST_TEST_LINES, MOST_FUNCTION_LINES = 400, 500, 50
MOST_FILES_IN_A_FOLDER = {"rtfilter/bridge/scala": 12, "rtfilter/store": 16, "rtfilter/bench": 16, "planner": 20}
# The walk was to have 12 files, 30 stops and 6 returns. Files of one subject each come to more of them.
MOST_WALK_FILES, MOST_WALK_STOPS, MOST_WALK_RETURNS = 18, 30, 9


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured figure and the most that it may be; `where` names the place that it is of."""

    name: str
    value: int
    most: int
    where: str = ""

    @property
    def is_met(self) -> bool:
        return self.value <= self.most

    def __str__(self) -> str:
        return f"{'  ' if self.is_met else '! '}{self.name:<52}{self.value:>6}  of at most {self.most:>5}  {self.where}".rstrip()


def figures() -> list[Figure]:
    """All figures of the checkout."""
    sources = [path for path in tracked_files() if path.suffix in (".py", ".scala")]
    return [*_of_the_walk(), *_of_folders(sources), *_of_files(sources), *_of_pages()]


def _of_the_walk() -> Iterator[Figure]:
    walk = placing_walk()
    yield Figure("placing the filters of one query: files", walk.files, MOST_WALK_FILES)
    yield Figure("placing the filters of one query: stops", len(walk.stops), MOST_WALK_STOPS)
    yield Figure("placing the filters of one query: returns", walk.returns, MOST_WALK_RETURNS)


def _of_folders(sources: list[Path]) -> Iterator[Figure]:
    for root, most in MOST_FILES_IN_A_FOLDER.items():
        folders = {path.parent for path in sources if path.is_relative_to(ROOT / root)}
        counts = {folder: sum(path.parent == folder for path in sources) for folder in folders}
        fullest = max(counts, key=lambda folder: counts[folder])
        yield Figure(f"files in one folder of {root}", counts[fullest], most, _named(fullest))


def _of_files(sources: list[Path]) -> Iterator[Figure]:
    riddles = [path for path in sources if path.stem.lower().removeprefix("test_") in RIDDLES]
    yield Figure("files with a name that is a riddle", len(riddles), 0, ", ".join(map(_named, riddles)))
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources}
    for what, tests, most in (("source", False, MOST_SOURCE_LINES), ("test", True, MOST_TEST_LINES)):
        longest = max((path for path in sources if path.is_relative_to(ROOT / "tests") == tests), key=lambda path: lines[path])
        yield Figure(f"lines of the longest {what} file", lines[longest], most, _named(longest))
    functions = [(node.end_lineno or 0) - node.lineno + 1 for node in _functions(sources)]
    yield Figure("lines of the longest function", max(functions), MOST_FUNCTION_LINES)


def _functions(sources: list[Path]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for path in sources:
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield node


def _of_pages() -> Iterator[Figure]:
    long = sum(len(long_sentences(page.read_text(encoding="utf-8"))) for page in PAGES)
    yield Figure("sentences of more than 34 words in README and docs", long, MOST_LONG)
    for name, most in MOST_LINES.items():
        yield Figure(f"lines of {name}", len((ROOT / name).read_text(encoding="utf-8").splitlines()), most)


def _named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def main() -> int:
    """Prints all figures; 1 where one is above its limit."""
    found = figures()
    print(*found, sep="\n")
    return 0 if all(figure.is_met for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
