"""The pages can be made, without the network and without a warning, and know every name that users import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import rtfilter
from tests.repo.reason_codes import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-b",
        "html",
        "-q",
        "-W",
        "--keep-going",
        "-d",
        str(out / "trees"),
        "docs",
        str(out / "html"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return out / "html"


def test_every_page_can_be_reached(site: Path) -> None:
    first = (site / "index.html").read_text(encoding="utf-8")
    pages = {str(page.relative_to(ROOT / "docs").with_suffix(".html")) for page in (ROOT / "docs").rglob("*.md")}
    assert [page for page in sorted(pages - {"index.html"}) if f'href="{page}"' not in first] == []


def test_links_to_functions_lead_to_their_line(site: Path) -> None:
    page = (site / "how-it-works.html").read_text(encoding="utf-8")
    lines = (ROOT / "planner/placement/gates.py").read_text(encoding="utf-8").splitlines()
    number = next(n for n, line in enumerate(lines, 1) if line.startswith("def place_filters("))
    assert f'href="_source_files/planner/placement/gates.py.html#line-{number}"' in page
    assert f'id="line-{number}"' in (site / "_source_files/planner/placement/gates.py.html").read_text(encoding="utf-8")


def test_every_name_that_users_import_is_explained(site: Path) -> None:
    page = (site / "python.html").read_text(encoding="utf-8")
    missing = [name for name in rtfilter.__all__ if name != "__version__" and f'id="rtfilter.{name}"' not in page]
    assert not missing, f"not in docs/python.md: {', '.join(missing)}"


def test_every_command_is_explained(site: Path) -> None:
    from rtfilter.cli.command import main

    page = (site / "cli.html").read_text(encoding="utf-8")
    assert main.commands and [name for name in main.commands if f'id="rtfilter-{name}"' not in page] == []
