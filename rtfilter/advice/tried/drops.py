"""Indexes that are there and serve nothing: no query of the log uses them, or another index tells the same."""

from __future__ import annotations

from collections.abc import Sequence

from planner.counted import counted
from rtfilter.advice.packs.commands import delete_command
from rtfilter.advice.packs.item import Item, path_of
from rtfilter.advice.trials.existing_indexes import ExistingIndex, covers
from rtfilter.advice.tried.tried_table import TriedTable


def idle_indexes(tried: TriedTable) -> list[Item]:
    """An item for each index that may go. What is dropped can be restored."""
    found: list[Item] = []
    staying = list(tried.trial.indexes)
    for index in reversed(tried.trial.indexes):
        others = [each for each in staying if each != index]
        reason = _why(index, others, tried)
        if reason is not None:
            staying = others
            found.append(_item(index, reason, tried))
    return found[::-1]


def _why(index: ExistingIndex, others: Sequence[ExistingIndex], tried: TriedTable) -> str | None:
    """Why an index may go while the others stay; None where it is of use."""
    covering = next((each.name for each in others if covers(each, index)), None)
    if covering is not None:
        return f"{covering} has the same sketches of the same columns, and knows all files."
    columns = {sketch.column.lower() for sketch in index.sketches}
    conditions = {name.lower() for each in tried.asked for name in each.columns}
    joins = {name.lower() for each in tried.asked for name in each.asking.use.join_keys}
    if not columns & (conditions | joins):
        return "No query of the log has a condition or a join on its columns."
    # What runtime filters find in it is not tried, nor what of a condition is not known.
    is_clear = index.is_whole and not columns & joins and not any(each.asking.use.is_partial for each in tried.asked)
    rest = frozenset(sketch for each in others if each.is_whole for sketch in each.sketches)
    if is_clear and not tried.gain(index.sketches, rest).bytes:
        asked = counted(len(tried.asked), "kind", "kinds")
        return f"It rejects no row group that footers and other indexes leave to the {asked} of queries of the log."
    return None


def _item(index: ExistingIndex, reason: str, tried: TriedTable) -> Item:
    return Item(
        kind="drop",
        table=tried.table.name,
        columns=tuple(dict.fromkeys(sketch.column for sketch in index.sketches)),
        queries=(),
        gain_bytes=None,
        gain_ms=None,
        cost_bytes=0,
        reason=f"{reason} It takes {index.bytes:,} bytes.",
        command=delete_command(path_of(tried.table), index.name),
        index=index.name,
    )
