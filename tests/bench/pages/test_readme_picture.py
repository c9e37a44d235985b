"""The picture of README.md: small, whole by itself, and drawn from a result as the report has it."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from tests.bench.suites.test_demo import shown
from tests.measure.readme_picture import picture

ROOT = Path(__file__).parents[3]


def test_the_picture_has_the_figures_of_the_result_and_needs_no_page() -> None:
    svg = picture(shown().to_dict())
    ElementTree.fromstring(svg)
    assert svg.count(">100<") >= 3 and ">4<" in svg and "var(" not in svg


def test_the_readme_shows_a_small_picture_that_is_there() -> None:
    (name,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    text = (ROOT / name).read_text(encoding="utf-8")
    assert len(text) < 100_000
    ElementTree.fromstring(text)
