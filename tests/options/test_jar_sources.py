"""Which Scala sources the bridge is compiled from: all folders below count, and the jar's name tells any change of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rtfilter.bridge import jar
from rtfilter.errors import UnsupportedSparkError

SPARK = jar.SparkInstall(Path("/opt/spark"), "4.3.1")
FILES = (
    "common/Top.scala",
    "common/place/Place.scala",
    "common/read/deep/Read.scala",
    "spark-4.3/Own.scala",
    "spark-4.3/more/Own.scala",
)
OTHERS = ("common/place/notes.txt", "spark-4.2/Other.scala")


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (*FILES, *OTHERS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"object {name}")
    monkeypatch.setattr(jar, "SOURCES", tmp_path)
    return tmp_path


def test_sources_of_all_folders_are_compiled_and_of_one_version_only(sources: Path) -> None:
    assert [path.relative_to(sources).as_posix() for path in jar.source_files(SPARK)] == sorted(FILES)


def test_a_version_without_a_folder_names_those_that_have_one(sources: Path) -> None:
    with pytest.raises(UnsupportedSparkError, match=r"no bridge for Spark 5\.0\.0; it has one for: 4\.2, 4\.3"):
        jar.source_files(jar.SparkInstall(Path("/opt/spark"), "5.0.0"))


def _write(folder: Path) -> None:
    (folder / "common/read/deep/Read.scala").write_text("object Another")


def _add(folder: Path) -> None:
    (folder / "common/place/More.scala").write_text("")


def _remove(folder: Path) -> None:
    (folder / "spark-4.3/more/Own.scala").unlink()


def _move(folder: Path) -> None:
    (folder / "common/place/Place.scala").rename(folder / "common/read/Place.scala")


@pytest.mark.parametrize("change", [_write, _add, _remove, _move])
def test_the_name_tells_a_change_in_any_folder(sources: Path, change: Callable[[Path], None]) -> None:
    before = jar.jar_name(SPARK)
    change(sources)
    assert jar.jar_name(SPARK) != before


def test_the_name_tells_nothing_else(sources: Path) -> None:
    before = jar.jar_name(SPARK)
    for name in OTHERS:
        (sources / name).write_text("something else")
    assert jar.jar_name(SPARK) == before


def test_every_scala_file_of_the_project_is_compiled_for_some_version() -> None:
    versions = [folder.name.removeprefix("spark-") for folder in jar.SOURCES.glob("spark-*")]
    compiled = {path for version in versions for path in jar.source_files(jar.SparkInstall(Path("/opt/spark"), version))}
    assert versions and compiled == set(jar.SOURCES.rglob("*.scala"))
