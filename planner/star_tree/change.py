"""The smallest change that would let a star-tree answer an aggregate that it does not answer now."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner.counted import counted
from planner.star_tree.facts import TreeFacts
from planner.star_tree.fit import fit
from planner.star_tree.question import Question
from planner.star_tree.reasons import TreeReason, TreeRefusal, TreeRefusedError
from planner.star_tree.stored_names import source_of

# Of dimensions and measures: nobody adds more of them.
MOST_STEPS = 12
FLOATS_OPTION = "rtfilter.startree.floats=true"


@dataclass(frozen=True, slots=True)
class Change:
    """What would be added to a tree or allowed."""

    dimensions: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    floats: bool = False


def smallest_change(question: Question, facts: TreeFacts, *, floats: bool) -> Change | None:
    """What lets the tree answer, found by adding what each check that fails asks for; None where nothing of that helps.

    Of measures that the tree would hold it takes for granted that their sums stay in their types.
    """
    change, types = Change(), {column.name: column.type for column in question.relation.columns}
    for _ in range(MOST_STEPS):
        try:
            fit(question, facts, floats=floats or change.floats)
            return change
        except TreeRefusedError as error:
            more = _with(change, error.refusal)
            if more is None or more == change:
                return None
            change, facts = more, _extended(facts, error.refusal, types)
    return None


def _with(change: Change, refusal: TreeRefusal) -> Change | None:
    if refusal.measure:
        return replace(change, measures=(*change.measures, refusal.measure))
    if refusal.columns:
        return replace(change, dimensions=(*change.dimensions, *refusal.columns))
    return replace(change, floats=True) if refusal.reason == TreeReason.FLOATS_OFF else None


def _extended(facts: TreeFacts, refusal: TreeRefusal, types: Mapping[str, str]) -> TreeFacts:
    column = source_of(refusal.measure)
    names = [name for name in (*refusal.columns, column) if name in types]
    return replace(
        facts,
        types={**{name: types[name] for name in names}, **facts.types},
        dimensions=(*facts.dimensions, *refusal.columns),
        # Whatever a tree holds of a column, it holds its number of values too.
        stored=facts.stored | ({refusal.measure, f"count({column})"} if refusal.measure else set()),
        largest={**facts.largest, **({column: 0} if column else {})},
    )


def change_text(change: Change, rows_factor: float | None) -> str:
    """`one dimension more: i_class (about 1.4x the rows)`."""
    parts = []
    if change.dimensions:
        factor = "" if rows_factor is None else f" (about {rows_factor:,.{1 if rows_factor < 10 else 0}f}x the rows)"
        parts.append(f"{_number(len(change.dimensions), 'dimension')} more: {', '.join(change.dimensions)}{factor}")
    if change.measures:
        parts.append(f"{_number(len(change.measures), 'measure')} more: {', '.join(change.measures)}")
    if change.floats:
        parts.append(FLOATS_OPTION)
    return ", and ".join(parts)


def _number(count: int, word: str) -> str:
    return f"one {word}" if count == 1 else counted(count, word)


def rows_factor(table_rows: int, base_rows: int, distinct: float) -> float:
    """How many times the rows without stars a tree has with one more dimension of so many values, which stand in no relation to the
    others': of the rows of a group, as large as the mean, so many have values of their own."""
    group = table_rows / max(base_rows, 1)
    return max(1.0, -distinct * math.expm1(group * math.log1p(-1.0 / distinct))) if distinct > 1.0 else 1.0
