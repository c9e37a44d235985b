"""Answers of the host to `star`: whether a star-tree answers an aggregate of a query, and how (docs/protocol.md, "star")."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.counted import counted
from planner.inputs.table_hints import stored_of
from planner.plan.snapshot import parse_hints
from planner.star_tree.fit import Fit, fit
from planner.star_tree.fragment import Relation, parse_fragment, relations
from planner.star_tree.labels import aggregate_label, is_computed
from planner.star_tree.question import Question, question_of
from planner.star_tree.reasons import TreeReason, TreeRefusal, TreeRefusedError
from rtfilter.errors import IndexStorageError
from rtfilter.host.hinted_names import hint_remarks
from rtfilter.host.tree_facts import Known, facts_of, helpful_change
from rtfilter.options import Options
from rtfilter.star_tree.conditions import NOT_UNDERSTOOD, ConditionRefusedError, passing_codes
from rtfilter.star_tree.opened_trees import Covered, FoundTree, OpenedTrees, covered
from rtfilter.star_tree.row_types import spark_type_of_column
from rtfilter.star_tree.traverse import visit
from rtfilter.star_tree.tree_files import OpenedTree
from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.index_files.tree_measures import measure_parts
from rtfilter.store.index_files.tree_snapshot import TreeDefinition, TreeSegment
from rtfilter.store.index_reading.found_index import file_of_index
from rtfilter.store.open_indexes import store_places
from rtfilter.store.pack_store import PackStore
from rtfilter.store.parquet.paths import below
from rtfilter.store.tree_places import tree_root

# More ranges of rows than that are no small part of a tree.
MOST_RANGES = 50_000


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A tree that answers: how, by which segments and rows, and which files are read beside it."""

    tree: FoundTree
    relation: Relation
    fit: Fit
    covered: Covered
    ranges: tuple[np.ndarray[Any, Any], ...]
    rows_read: int
    base_rows: int


def answer_star(packs: PackStore, trees: OpenedTrees, message: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """The answer's JSON. `unknown`: tables whose files are to be told first."""
    fragment = parse_fragment(message["fragment"])
    for told in message.get("lists") or ():
        packs.add_list(told["digest"], told["paths"], told["sizes"], told["mtimes"])
    tables = list(relations(fragment.child))
    lists = {each.number: packs.listed_files(each.files) for each in tables}
    unknown = [number for number, files in lists.items() if files is None]
    if unknown:
        return {"unknown": unknown}
    entries: list[dict[str, Any]] = []
    candidates: list[_Candidate] = []
    names: list[str] = []
    known, master = Known(trees, packs.seen), str((message.get("spark") or {}).get("master", ""))
    for relation in tables:
        files = lists[relation.number] or ()
        found = _trees_of(trees, files, options.store_location)
        names += [each.name for each in found]
        question, refusal = _asked(fragment, relation)
        for tree in found:
            outcome = refusal if question is None else _considered(trees, tree, question, files, options, master)
            if isinstance(outcome, _Candidate):
                candidates.append(outcome)
            elif outcome is not None:
                change = helpful_change(known, tree, question, outcome.reason, files, options) if question else ""
                entries.append({**_entry(tree, relation, outcome), "change": change})
    best = min(candidates, key=lambda each: (each.rows_read, each.tree.name), default=None)
    for each in candidates:
        entries.append(_entry_of(each, is_used=each is best, best=best))
    warnings = hint_remarks(fragment, names, {number: files or () for number, files in lists.items()}, options.store_location)
    asked = {"aggregate": aggregate_label(fragment), "computed": is_computed(fragment)}
    told = [{**entry, **asked} for entry in entries]
    return {"used": None if best is None else _used(best), "trees": told, "warnings": list(warnings)}


def _asked(fragment: Any, relation: Relation) -> tuple[Question | None, TreeRefusal | None]:
    try:
        return question_of(fragment, relation), None
    except TreeRefusedError as error:
        return None, error.refusal


def _trees_of(trees: OpenedTrees, files: Sequence[FileIdentity], location: str) -> list[FoundTree]:
    """The trees of the table with these files; in a place that tables share only those of its root."""
    found = trees.find(store_places([file.path for file in files], location))
    return [each for each in found if _is_of(each, files)]


def _is_of(tree: FoundTree, files: Sequence[FileIdentity]) -> bool:
    """Whether the listed table is the tree's: several tables may share a location, or be files side by side."""
    if tree.snapshot is None or not files:
        return tree.snapshot is None
    root, only = tree_root(tree.place, tree.snapshot.definition.root), file_of_index(tree.place)
    inside = [below(file.path, root.rstrip("/")) for file in (files[0], files[-1])]
    return any(each is not None for each in inside) if only is None else all(each == only for each in inside)


def _considered(
    trees: OpenedTrees, tree: FoundTree, question: Question, files: Sequence[FileIdentity], options: Options, master: str
) -> _Candidate | TreeRefusal:
    try:
        if tree.snapshot is None:
            raise TreeRefusedError(TreeReason.UNREADABLE, tree.problem)
        if stored_of(parse_hints({"hints": list(question.relation.hints)}, "a table")).skips(tree.name):
            raise TreeRefusedError(TreeReason.HINT_SKIP, "a hint of the query says not to use it.")
        _require_reach(tree, master)
        if len({file.path for file in files}) != len(files):
            raise TreeRefusedError(TreeReason.LISTED_TWICE, "the query names a file of the table more than once.")
        found = covered(trees, tree, files)
        _require_fresh(found, files, options)
        fitted = fit(
            question, facts_of(tree.snapshot.definition, found.segments, raw=bool(found.raw)), floats=options.startree_floats
        )
        _require_rows(tree, found)
        opened = [trees.segment(tree, segment) for segment in found.segments]
        ranges = tuple(_ranges(each, question, fitted, tree.snapshot.definition) for each in opened)
        rows_read = sum(int((each[:, 1] - each[:, 0]).sum()) for each in ranges)
        base_rows = sum(segment.table_rows for segment in found.segments)
        if rows_read >= base_rows or sum(map(len, ranges)) > MOST_RANGES:
            detail = f"it has {counted(rows_read, 'row')} to read for this query, where the table has {base_rows:,}."
            raise TreeRefusedError(TreeReason.NOT_FEWER_ROWS, detail)
        return _Candidate(tree, question.relation, fitted, found, ranges, rows_read, base_rows)
    except TreeRefusedError as error:
        return error.refusal
    except IndexStorageError as error:
        return TreeRefusal(TreeReason.UNREADABLE, str(error))


def _require_reach(tree: FoundTree, master: str) -> None:
    """Raises TreeRefusedError where executors on other machines may not see what this one sees: a folder apart from the table."""
    assert tree.snapshot is not None, "only what was read is considered"
    if tree.snapshot.definition.root is not None and not master.startswith("local"):
        detail = f"it is in {tree.place}, which executors of {master} may not reach; leave rtfilter.store.location empty."
        raise TreeRefusedError(TreeReason.UNREADABLE, detail)


def _require_rows(tree: FoundTree, found: Covered) -> None:
    """Raises TreeRefusedError where a file with rows, which Spark is to read, is not there as it was written."""
    for file in (file for segment in found.segments for file in segment.rows):
        path = os.path.join(tree.place, file.name)
        try:
            is_whole = os.stat(path).st_size == file.bytes
        except OSError:
            is_whole = False
        if not is_whole:
            raise TreeRefusedError(TreeReason.UNREADABLE, f"{path} is gone or of another size; use refresh in mode full.")


def _require_fresh(found: Covered, files: Sequence[FileIdentity], options: Options) -> None:
    """Raises TreeRefusedError where too much of the table would be read beside the tree."""
    if not found.raw and found.segments:
        return
    changed = f" {found.changed[0]} was changed or removed." if found.changed else ""
    if not found.segments:
        raise TreeRefusedError(TreeReason.TOO_STALE, f"it covers no file of the table as it is now; use refresh.{changed}")
    if not options.startree_hybrid:
        raise TreeRefusedError(
            TreeReason.HYBRID_OFF,
            f"it does not cover {counted(len(found.raw), 'file')}, and rtfilter.startree.hybrid is false.{changed}",
        )
    total, beside = sum(file.size_bytes for file in files), sum(files[number].size_bytes for number in found.raw)
    if beside > options.index_max_stale * total:
        raise TreeRefusedError(
            TreeReason.TOO_STALE,
            f"it does not cover {beside / total:.0%} of the table's bytes, above rtfilter.index.maxStale; use refresh.{changed}",
        )


def _ranges(opened: OpenedTree, question: Question, fitted: Fit, definition: TreeDefinition) -> np.ndarray[Any, Any]:
    """The rows of a segment that answer, [n, 2], as few ranges as they are. Raises TreeRefusedError."""
    conditions: dict[int, Any] = {}
    apart = {definition.dimensions.index(name) for name in fitted.told_apart}
    for condition in question.conditions:
        if len(condition.columns) > 1:
            names = ", ".join(condition.columns)
            raise TreeRefusedError(TreeReason.OR_OVER_DIMENSIONS, f"a condition is about {names} together.")
        if not condition.columns:
            continue
        number = definition.dimensions.index(condition.columns[0])
        try:
            found = passing_codes([condition.test], opened.dimensions)
        except ConditionRefusedError as error:
            if error.reason != NOT_UNDERSTOOD:
                raise TreeRefusedError(TreeReason.OR_OVER_DIMENSIONS, f"a condition is about {error.text} together.") from error
            # Spark tests it, row by row, of which each has one value then.
            apart.add(number)
            continue
        for dimension, passes in found.items():
            conditions[dimension] = conditions[dimension] & passes if dimension in conditions else passes
    ranges = visit(opened, conditions, apart).ranges
    if not len(ranges):
        return ranges
    is_new = np.ones(len(ranges), bool)
    is_new[1:] = ranges[1:, 0] != ranges[:-1, 1]
    starts = np.flatnonzero(is_new)
    ends = np.append(starts[1:], len(ranges)) - 1
    return np.stack([ranges[starts, 0], ranges[ends, 1]], axis=1)


def _used(found: _Candidate) -> dict[str, Any]:
    assert found.tree.snapshot is not None, "only what was read is a candidate"
    definition = found.tree.snapshot.definition
    segments = zip(found.covered.segments, found.ranges, strict=True)
    return {
        "tree": found.tree.name,
        "relation": found.relation.number,
        "dimensions": [
            {"name": name, "stored": f"d{number}", "bit": number, "apart": name in found.fit.told_apart}
            for number, name in enumerate(definition.dimensions)
            if name in found.fit.used
        ],
        "stored": [_stored(name, definition) for name in found.fit.stored],
        "segments": [_segment(found, segment, ranges) for segment, ranges in segments],
        "raw": list(found.covered.raw),
        "recipes": [dict(recipe.form) for recipe in found.fit.recipes],
    }


def _stored(name: str, definition: TreeDefinition) -> dict[str, Any]:
    function, column, size = measure_parts(name)
    return {
        "name": name,
        "type": spark_type_of_column(definition, name),
        "function": function,
        "of": column or None,
        "size": size,
    }


def _segment(found: _Candidate, segment: TreeSegment, ranges: np.ndarray[Any, Any]) -> dict[str, Any]:
    paths = [os.path.join(found.tree.place, file.name) for file in segment.rows]
    files = [
        {"path": f"file:{path}", "bytes": file.bytes, "modified_ms": os.stat(path).st_mtime_ns // 1_000_000}
        for path, file in zip(paths, segment.rows, strict=True)
    ]
    # A column without nulls is counted as rows are.
    of_rows = [name for name in found.fit.stored if name.startswith("count(") and not _counts(found, segment, name)]
    return {"files": files, "ranges": ranges.tolist(), "as_rows": of_rows}


def _counts(found: _Candidate, segment: TreeSegment, name: str) -> bool:
    """Whether the segment has a column for this number of values."""
    assert found.tree.snapshot is not None, "only what was read is a candidate"
    return name in found.tree.snapshot.definition.measures or name[len("count(") : -1] in segment.nullable


def _entry(tree: FoundTree, relation: Relation, refusal: TreeRefusal) -> dict[str, Any]:
    return {
        "name": tree.name,
        "table": relation.label,
        "used": False,
        "reason": str(refusal.reason),
        "detail": refusal.detail,
        "lacking": list(refusal.columns),
        "rows_read": None,
        "base_rows": _base_rows(tree),
        "raw_files": None,
    }


def _base_rows(tree: FoundTree) -> int | None:
    return None if tree.snapshot is None else sum(segment.table_rows for segment in tree.snapshot.segments)


def _entry_of(found: _Candidate, *, is_used: bool, best: _Candidate | None) -> dict[str, Any]:
    other = "" if best is None or is_used else f"{best.tree.name} has fewer rows to read: {best.rows_read:,}."
    if other and best is not None and best.relation is not found.relation:
        other = f"it is of another table of the join than the tree that is used: of {best.relation.label} {other}"
    beside = f" {counted(len(found.covered.raw), 'file')} beside it." if found.covered.raw else ""
    return {
        "name": found.tree.name,
        "table": found.relation.label,
        "used": is_used,
        "reason": str(TreeReason.USED if is_used else TreeReason.OTHER_TREE),
        "detail": other or f"{counted(found.rows_read, 'row')} of the tree in place of {found.base_rows:,} of the table.{beside}",
        "lacking": [],
        "rows_read": found.rows_read,
        "base_rows": found.base_rows,
        "raw_files": len(found.covered.raw),
    }
