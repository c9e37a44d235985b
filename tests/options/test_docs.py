"""docs/options.md is the option table, written out."""

from __future__ import annotations

from pathlib import Path

from rtfilter.docs import main, options_page
from rtfilter.options import BY_KEY, Option

PAGE = Path(__file__).resolve().parents[2] / "docs" / "options.md"


def test_the_committed_page_is_the_one_that_make_docs_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == options_page(), "run `make docs`"


def test_the_page_has_a_row_for_every_option() -> None:
    rows = [line.split(" | ")[0] for line in options_page().splitlines() if line.startswith("| `")]
    assert rows == [f"| `{key}`" for key in BY_KEY]


def test_a_bar_in_a_sentence_does_not_break_the_row() -> None:
    page = options_page([Option("rtfilter.x", "text", "", "", "One of a | b.", str)])
    assert page.splitlines()[-1] == "| `rtfilter.x` | text |  |  | session | One of a \\| b. |"


def test_the_command_writes_the_file(tmp_path: Path) -> None:
    assert main([str(tmp_path / "o.md")]) == 0
    assert (tmp_path / "o.md").read_text(encoding="utf-8") == options_page()
