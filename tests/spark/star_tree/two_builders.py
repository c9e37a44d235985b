"""Trees that Spark builds, however small they are, and whether they are those that this process builds."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rtfilter import StarTree
from rtfilter.index import star_tree_base
from rtfilter.index.large_trees import spark_nodes
from rtfilter.store.index_files.log import read_log
from rtfilter.store.index_files.storage import LocalStorage
from rtfilter.store.index_files.tree_snapshot import TreeSnapshot


def built_by_spark(patch: pytest.MonkeyPatch, tmp_path: Path, run: Callable[..., Any], *given: Any, **more: Any) -> Any:
    """Runs something that builds trees, all of them by Spark, and checks that it has cleared away what it kept meanwhile."""
    folder, grown = tmp_path / "scratch", []
    folder.mkdir(exist_ok=True)

    def counted(*arguments: Any) -> Any:
        grown.append(arguments)
        return spark_nodes.grown(*arguments)

    with patch.context() as lowered:
        lowered.setattr(star_tree_base, "MOST_GROUPS_HERE", 0)
        lowered.setattr("rtfilter.index.large_trees.spark_groups.grown", counted)
        lowered.setattr(tempfile, "tempdir", str(folder))
        try:
            return run(*given, **more)
        finally:
            assert grown and os.listdir(folder) == []


def snapshot(tree: StarTree) -> TreeSnapshot:
    found = read_log(LocalStorage(tree.place)).tree
    assert found is not None
    return found


def assert_same(one: StarTree, other: StarTree) -> None:
    """The same nodes, values and rows in the same order, and the same files, which have the names of their content."""
    for mine, its in zip(snapshot(one).segments, snapshot(other).segments, strict=True):
        for file, same in zip((mine.values, mine.nodes, *mine.rows), (its.values, its.nodes, *its.rows), strict=True):
            tables = [pq.read_table(os.path.join(tree.place, each.name)) for tree, each in ((one, file), (other, same))]
            for name in tables[0].column_names:
                assert repr(tables[0].column(name).to_pylist()) == repr(tables[1].column(name).to_pylist()), name
        assert replace(mine, files=its.files) == its and its.tree_rows
