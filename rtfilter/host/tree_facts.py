"""What the planner is told of a star-tree, and what people are told that would let it answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.star_tree.change import Change, change_text, rows_factor, smallest_change
from planner.star_tree.facts import COUNT, TreeFacts
from planner.star_tree.question import Question
from planner.star_tree.reasons import TreeReason
from rtfilter.errors import IndexStorageError
from rtfilter.options import Options
from rtfilter.star_tree.measures import parse_measures
from rtfilter.star_tree.opened_trees import FoundTree, OpenedTrees
from rtfilter.star_tree.states import count_name, sum_name
from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.index_files.tree_snapshot import TreeDefinition, TreeSegment, TreeSnapshot
from rtfilter.store.tables.remembered_counts import SeenTables

# What a refresh mends, where all else fits.
_OF_UNCOVERED_FILES = (TreeReason.TOO_STALE, TreeReason.HYBRID_OFF, TreeReason.MAY_OVERFLOW)


def facts_of(definition: TreeDefinition, segments: Sequence[TreeSegment], *, raw: bool) -> TreeFacts:
    """A tree of these segments; `raw`: files are read beside it."""
    measures = parse_measures(definition.measures, definition.types, floats=True)
    stored = {COUNT}
    for measure in measures:
        if measure.column is not None:
            stored.add(sum_name(measure.column) if measure.function == "avg" else str(measure))
            stored.add(count_name(measure.column))
    largest = {name: max(each.largest.get(name, 0) for each in segments) for name in segments[0].largest}
    rows = sum(segment.table_rows for segment in segments)
    with_nulls = {name for segment in segments for name in segment.nullable}
    full = frozenset() if raw else frozenset(each.column for each in measures if each.column is not None) - with_nulls
    return TreeFacts(definition.name, definition.types, definition.dimensions, frozenset(stored), rows, largest, raw, full)


@dataclass(frozen=True, slots=True)
class Known:
    """What a host knows of trees and tables: `seen` counts distinct values."""

    trees: OpenedTrees
    seen: SeenTables


def helpful_change(
    known: Known, tree: FoundTree, question: Question, reason: TreeReason, files: Sequence[FileIdentity], options: Options
) -> str:
    """The smallest change that would let a tree answer, for people; empty where none is known."""
    if reason == TreeReason.HINT_SKIP or tree.snapshot is None or not tree.snapshot.segments:
        return ""
    facts = facts_of(tree.snapshot.definition, tree.snapshot.segments, raw=False)
    change = smallest_change(question, facts, floats=options.startree_floats)
    if change is None:
        return ""
    refresh = "a refresh" if reason in _OF_UNCOVERED_FILES else ""
    return ", and ".join(filter(None, (refresh, change_text(change, _factor(known, tree, tree.snapshot, change, files)))))


def _factor(known: Known, tree: FoundTree, snapshot: TreeSnapshot, change: Change, files: Sequence[FileIdentity]) -> float | None:
    """How many times the rows; None where the values of a column were never counted."""
    if not change.dimensions or not files:
        return None
    table = known.seen.facts([files[0].path, files[-1].path], sum(file.size_bytes for file in files))
    counts = [None if table is None else table.distinct.get(name.lower()) for name in change.dimensions]
    distinct = 1.0
    for count in counts:
        if count is None:
            return None
        distinct *= count
    try:
        nodes = [known.trees.segment(tree, segment).nodes for segment in snapshot.segments]
    except IndexStorageError:
        return None
    base_rows = sum(int(each.row_to[0] - each.row_from[0]) for each in nodes if len(each))
    return rows_factor(sum(segment.table_rows for segment in snapshot.segments), base_rows, distinct)
