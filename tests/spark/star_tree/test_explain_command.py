"""`rtfilter explain` and `rtfilter whynot` of a query on a table with a star-tree."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.star_tree.made_trees import make_tree, sales, write_table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_table(tmp_path_factory.mktemp("told") / "sales", sales())
    make_tree(folder, "cube", ["store", "day"], ["sum(x)"])
    return folder


def run(command: str, sql: str, table: Path, *options: str) -> str:
    arguments = [sys.executable, "-m", "rtfilter", command, "--sql", sql, "--table", f"sales={table}", *options]
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout


def test_explain_shows_the_tree(table: Path) -> None:
    text = run("explain", "select store, sum(x) from sales group by store", table)
    assert text.splitlines() == [
        "0 filters planned, 1 star-tree used",
        "star-tree cube of sales for sum(x) by store: USED: 8 rows of the tree in place of 20,000 of the table.",
    ]


def test_whynot_shows_the_first_check_that_fails(table: Path) -> None:
    told = json.loads(run("whynot", "select name, sum(x) from sales group by name", table, "--json"))
    (tree,) = told["trees"]
    assert (tree["name"], tree["used"], tree["reason"], tree["lacking"]) == ("cube", False, "NO_DIMENSION", ["name"])
    assert tree["change"] == "one dimension more: name" and told["reason"] == "NO_JOIN"
