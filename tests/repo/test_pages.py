"""Pages that can be read: short sentences, a short README, one page of benchmarks, and no path that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.repo.reason_codes import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LONG_WORDS, MOST_LONG = 34, 20
MOST_LINES = {"README.md": 120, "docs/benchmarks.md": 200}


def paragraphs(page: str) -> list[str]:
    """The running text of a page: without code, tables and headings; items of lists are paragraphs."""
    found: list[list[str]] = [[]]
    for line in re.sub(r"^```.*?^```[^\n]*$", "", page, flags=re.MULTILINE | re.DOTALL).splitlines():
        text = line.strip()
        item = re.sub(r"^(?:[-*+]|\d+\.)\s+", "", text)
        if not text or text.startswith(("#", "|")):
            found.append([])
        elif item != text:
            found.append([item])
        else:
            found[-1].append(text)
    return [" ".join(lines) for lines in found if lines]


def long_sentences(page: str) -> list[str]:
    sentences = [
        sentence for each in paragraphs(page) for sentence in re.split(r"(?<=[.!?])[\"')*\]]*\s+", re.sub(r"`[^`]*`", "CODE", each))
    ]
    return [sentence for sentence in sentences if len(sentence.split()) > LONG_WORDS]


def test_long_sentences_are_found() -> None:
    long = "word " * 35
    page = f"# {long}\n\nShort. {long}\nand on.\n\n```\n{long}\n```\n| {long} |\n- {long}. Short.\n"
    assert len(long_sentences(page)) == 2


def test_few_sentences_are_long() -> None:
    found = {str(page.relative_to(ROOT)): long_sentences(page.read_text(encoding="utf-8")) for page in PAGES}
    assert sum(map(len, found.values())) <= MOST_LONG, "\n".join(f"{name}: {text}" for name, each in found.items() for text in each)


@pytest.mark.parametrize("name", MOST_LINES)
def test_pages_that_everybody_reads_are_short(name: str) -> None:
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= MOST_LINES[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    linked = [target for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text) if not (page.parent / target).exists()]
    folders = "|".join(sorted(each.name for each in ROOT.iterdir() if each.is_dir() and each.name not in ("out", "dist", "build")))
    named = re.findall(rf"`((?:{folders})/[\w./*-]+)`", text)
    gone = [each for each in named if not list(ROOT.glob(each.rstrip("/"))) and not each.startswith("out/")]
    assert (linked, gone) == ([], [])
