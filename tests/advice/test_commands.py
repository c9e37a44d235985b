"""The commands of items: a shell takes them as they are meant, and each index has a name of its own."""

from __future__ import annotations

import shlex

import pytest

from rtfilter.advice.packs.commands import SKETCH_OPTIONS, create_command, delete_command, index_name, sort_command
from rtfilter.cli.index import create


@pytest.mark.parametrize("kind", SKETCH_OPTIONS)
def test_each_kind_has_its_option_of_index_create(kind: str) -> None:
    words = shlex.split(create_command(kind, "/data/a table", "a column"))
    option, column = words[-1].split("=")
    assert words[:4] == ["rtfilter", "index", "create", "/data/a table"] and column == "a column"
    assert option in {name for each in create.params for name in each.opts}


def test_names_that_differ_only_in_what_a_folder_can_not_have_stay_apart() -> None:
    names = {index_name(kind, column) for kind in SKETCH_OPTIONS for column in ("a_b", "a b", "a/b", "a;b")}
    assert len(names) == 4 * len(SKETCH_OPTIONS)
    assert index_name("bloom", "a_b") == "advised_bloom_a_b" and "/" not in index_name("bloom", "../b")


def test_other_commands() -> None:
    words = ["rtfilter", "index", "delete", "/data/a table", "--name", "keys"]
    assert shlex.split(delete_command("/data/a table", "keys")) == words
    assert "sort('`a.b`')" in sort_command("/data/sales", "a.b") and "sort('day')" in sort_command("/data/sales", "day")
