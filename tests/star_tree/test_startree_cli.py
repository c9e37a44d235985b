"""`rtfilter startree`: the whole life from the command line, in words and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rtfilter.cli.command import main
from rtfilter.cli.startree import _measures
from rtfilter.store.index_files import log
from tests.star_tree.small_tables import check_answers, storage_of, write_part


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_part(tmp_path / "t", "a.parquet", 0)
    write_part(tmp_path / "t", "b.parquet", 50)
    return tmp_path / "t"


def run(*arguments: str, status: int = 0) -> str:
    result = CliRunner().invoke(main, ["startree", *arguments])
    assert result.exit_code == status, result.output
    return result.stdout if status == 0 else result.output


def create(folder: Path, *more: str, status: int = 0) -> str:
    wanted = ("--dimensions", "k,s", "--measures", "count(*), sum(x),min(x),avg(price)", "--max-leaf", "2")
    return run("create", str(folder), "--name", "cube", *wanted, *more, status=status)


def told(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


def test_the_whole_life(folder: Path) -> None:
    path = str(folder)
    assert "ACTIVE, files 2, table rows 100" in create(folder)
    assert "cube  ACTIVE" in run("list", path) and "count(*), sum(x), min(x), avg(price) by k, s" in run("list", path)
    assert "dimensions: k, s" in run("show", path, "--name", "cube")
    write_part(folder, "c.parquet", 100)
    assert told("refresh", path, "--name", "cube")["files"] == 1
    assert told("show", path, "--name", "cube")["segments"] == 2
    assert told("optimize", path, "--name", "cube")["segments"] == 1
    assert told("refresh", path, "--name", "cube", "--mode", "full")["files"] == 3
    assert len(check_answers(folder)) == 3
    assert told("delete", path, "--name", "cube")["state"] == "DELETED"
    assert told("restore", path, "--name", "cube")["state"] == "ACTIVE"
    log.begin(storage_of(folder), log.REFRESH)
    assert "run cancel" in run("refresh", path, "--name", "cube", status=2)
    assert told("cancel", path, "--name", "cube")["state"] == "ACTIVE"
    assert told("vacuum", path, "--name", "cube")["files_removed"] == 0, "queries may still read what was replaced just now"
    run("delete", path, "--name", "cube")
    run("vacuum", path, "--name", "cube")
    assert told("list", path) == [] and run("list", path) == "no star-tree\n"


def test_a_dry_run(folder: Path) -> None:
    assert create(folder, "--dry-run").startswith("cube: ")
    estimate = json.loads(create(folder, "--dry-run", "--json"))
    assert estimate["table_rows"] == 100 and estimate["values"] == {"k": 5, "s": 3} and not (folder / "_rtfilter").exists()


def test_a_location(folder: Path, tmp_path: Path) -> None:
    here = str(tmp_path / "store")
    assert json.loads(create(folder, "--location", here, "--no-star", "s", "--json"))["place"] == f"{here}/@star_trees/cube"
    assert told("show", str(folder), "--name", "cube", "--location", here)["no_star"] == ["s"]
    assert [each["name"] for each in told("list", str(folder), "--location", here)] == ["cube"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--dimensions", "k,z"), "'z'"),
        (("--measures", "sum(s)"), "s is a string"),
        (("--measures", ""), "needs a measure"),
        (("--max-rows", "many"), "max_rows='many'"),
        (("--max-rows", "3"), "may have 3 rows"),
        (("--no-star", "x"), "'x', which is no dimension"),
    ],
)
def test_bad_input_is_named(folder: Path, options: tuple[str, str], text: str) -> None:
    assert text in create(folder, *options, status=2) and not (folder / "_rtfilter").exists()


def test_what_is_not_there(folder: Path) -> None:
    assert "no star-tree 'nope'" in run("show", str(folder), "--name", "nope", status=2)
    assert "nowhere" in run("list", str(folder / "nowhere"), status=2)


def test_measures_are_told_apart() -> None:
    assert _measures("count(*), sum(a, b) ,max(x),") == ["count(*)", "sum(a, b)", "max(x)"]
