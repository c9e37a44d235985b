"""What must never be tracked: large files, paths of one machine, a bridge that outgrows its bound."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_FILE_BYTES = 100_000
# The design's 1,000 lines were hooks, placeholders and reading. Gates, key structures and row tests run in tasks and came on top;
# then steps on files of any filesystem, hints, conditions as trees, plans without stages, cuts of shuffles, batches, what keeps
# failures of the layer out of queries, which expressions and functions go by the place or the order of rows, what the query log
# tells of plans that have run, and a file reader that is told rows and not row groups.
MAX_SCALA_LINES = 4_200
# Written so that this file does not hold what it looks for.
MACHINE_PATH = re.compile(r"(?<![\w.<$}{*-])/(?:root|work|home/\w+|Users/\w+)/")


def tracked_files() -> list[Path]:
    """What git tracks, and what it would: a new file counts before it is added."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def machine_paths(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if MACHINE_PATH.search(line)]


def test_no_tracked_file_is_large() -> None:
    files = tracked_files()
    large = {str(path.relative_to(ROOT)): path.stat().st_size for path in files if path.stat().st_size > MAX_FILE_BYTES}
    assert files and not large


def test_every_tracked_file_is_text() -> None:
    assert [str(path.relative_to(ROOT)) for path in tracked_files() if b"\0" in path.read_bytes()] == []


def test_no_tracked_file_names_a_path_of_one_machine() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for path in tracked_files()
        if path != Path(__file__).resolve() and (lines := machine_paths(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert not found


@pytest.mark.parametrize("line", ["open('/root/venv/bin/python')", "cd /work/main", "--data=/home/somebody/data", "/Users/me/x"])
def test_a_path_of_one_machine_is_found(line: str) -> None:
    assert machine_paths(line) == [line]


@pytest.mark.parametrize("line", ["/opt/rtfilter/jars", "s3a://bucket/work/t", "$HOME/work/x", "out/root/x", "in /data/work/t"])
def test_other_paths_are_not(line: str) -> None:
    assert machine_paths(line) == []


def code_lines(source: str) -> int:
    """Lines that are neither empty, nor comment, nor import."""
    lines = (line.strip() for line in source.splitlines())
    return sum(bool(line) and not line.startswith(("//", "/*", "*", "import ", "package ")) for line in lines)


def test_the_scala_side_stays_small() -> None:
    sources = (ROOT / "rtfilter" / "bridge" / "scala").rglob("*.scala")
    lines = {path.name: code_lines(path.read_text(encoding="utf-8")) for path in sources}
    assert 0 < sum(lines.values()) <= MAX_SCALA_LINES, lines
