"""What an installation gets: everything of the packages, Scala sources and templates among it."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("rtfilter", "planner", "tpch", "tpcds")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and a source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def files() -> set[str]:
    found = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()]
    names = {path.relative_to(ROOT).as_posix() for path in found if "__pycache__" not in path.parts}
    # The kinds of files that the test is about are among them.
    assert {Path(name).suffix for name in names} >= {".py", ".scala", ".j2", ".typed"}
    return names


def test_a_wheel_has_every_file_of_the_packages(built: Path, files: set[str]) -> None:
    (wheel,) = built.glob("*.whl")
    assert files - set(zipfile.ZipFile(wheel).namelist()) == set()


def test_a_source_distribution_has_every_file_of_the_packages(built: Path, files: set[str]) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        assert files - {name.partition("/")[2] for name in tar.getnames()} == set()
