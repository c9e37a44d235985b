"""Builds the items of an advice that somebody has named, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rtfilter.advice.packs.commands import index_name
from rtfilter.advice.tried.star_trees import NAME as TREE_NAME
from rtfilter.advisor.sorted_copy import require_empty, write_sorted_copy
from rtfilter.errors import AdviceError
from rtfilter.store.index_actions.build import Tell, silent
from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, MinMax, Sketch, ValueSet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SKETCHES: dict[str, Callable[[str], Sketch]] = {
    "minmax": MinMax,
    "bloom": Bloom,
    "cmap": CMap,
    "valueset": ValueSet,
    "histogram": Histogram,
}
NOT_YET = ("row_index",)


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of an item. `done` is a sentence; `built` says whether anything was made or dropped."""

    rank: int
    id: str
    built: bool
    done: str


def chosen_items(items: Sequence[Mapping[str, Any]], only: Sequence[int | str]) -> list[Mapping[str, Any]]:
    """The items that are named by rank or id, each once, in the order in which they are named.

    Raises:
        AdviceError: one is not there, or none is named.
    """
    if isinstance(only, str | int):
        only = [only]
    if not only:
        raise AdviceError("apply builds nothing unasked: name items by rank or id, such as only=[1, 3].")
    by_name = {str(name): item for item in items for name in (item["id"], item["rank"])}
    unknown = [str(each) for each in only if str(each) not in by_name]
    if unknown:
        there = ", ".join(f"{item['rank']} ({item['id']})" for item in items) or "none"
        raise AdviceError(f"there is no item {', '.join(unknown)}; there are: {there}.")
    return list({by_name[str(each)]["id"]: by_name[str(each)] for each in only}.values())


def apply_items(
    spark: SparkSession | None,
    items: Sequence[Mapping[str, Any]],
    only: Sequence[int | str],
    paths: Mapping[str, str],
    to: str | None,
    tell: Tell = silent,
) -> list[Applied]:
    """Builds the named items one after the other; all are looked at before the first is built. `paths`: of tables by name.

    Raises:
        AdviceError: an item is not there or can't be built, or `to` is not empty.
        IndexStateError, IndexDefinitionError, IndexStorageError: as `Index.create` and `Index.delete` do.
    """
    chosen = chosen_items(items, only)
    for item in chosen:
        _require_buildable(item, paths)
    copies = [item for item in chosen if item["kind"] == "cluster_by"]
    if to is not None:
        if len(copies) != 1:
            raise AdviceError(f"--to is for one item of kind cluster_by; {len(copies)} are named.")
        require_empty(spark, to)
    return [_applied(spark, item, paths, to, tell) for item in chosen]


def _require_buildable(item: Mapping[str, Any], paths: Mapping[str, str]) -> None:
    if item["kind"] in NOT_YET:
        raise AdviceError(f"item {item['rank']} ({item['id']}) is a {item['kind']}: this version does not build them.")
    if item["table"] not in paths:
        raise AdviceError(
            f"item {item['rank']} ({item['id']}): where the table {item['table']!r} lies is not known; "
            f"give it as --table {item['table']}=PATH, or put its path into the statistics."
        )


def _applied(spark: SparkSession | None, item: Mapping[str, Any], paths: Mapping[str, str], to: str | None, tell: Tell) -> Applied:
    # Loads pyspark, which nobody needs who only asks for advice.
    from rtfilter.index.api import Index

    path, columns = paths[item["table"]], item["columns"]
    if item["kind"] == "drop":
        index = Index.load(spark, path, item["index"])
        index.delete()
        return Applied(item["rank"], item["id"], True, f"index {index.name} of {path} is out of use; restore takes it back")
    if item["kind"] == "cluster_by":
        if to is None:
            return Applied(item["rank"], item["id"], False, f"not written, for it has no --to: {item['command']}")
        write_sorted_copy(spark, path, columns, to)
        return Applied(item["rank"], item["id"], True, f"a copy of {path} sorted by {', '.join(columns)} is in {to}")
    if item["kind"] == "star_tree":
        return _applied_tree(spark, item, path)
    (column,) = columns
    name = index_name(item["kind"], column)
    sketch = Bloom(column, item["fpp"]) if "fpp" in item else SKETCHES[item["kind"]](column)
    Index.create(spark, path, [sketch], name=name, tell=tell)
    return Applied(item["rank"], item["id"], True, f"index {name} of {path} is built")


def _applied_tree(spark: SparkSession | None, item: Mapping[str, Any], path: str) -> Applied:
    from rtfilter.index.star_tree_api import StarTree

    StarTree.create(spark, path, dimensions=item["columns"], measures=item["measures"], name=TREE_NAME)
    return Applied(item["rank"], item["id"], True, f"star-tree {TREE_NAME} of {path} is built")
