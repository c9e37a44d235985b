"""Which column of a node's child a column of the node is, node by node."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from planner.plan.expressions import (
    Alias,
    Attribute,
    Cast,
    CoalesceDefault,
    Expression,
    Normalize,
    OtherExpression,
    Shifted,
    innermost,
    shortened,
    text_of,
)
from planner.plan.nodes import (
    REUSED_EXCHANGE,
    Aggregate,
    Exchange,
    Expand,
    Filter,
    Generate,
    Project,
    QueryStage,
    Sort,
    Union,
    Window,
)
from planner.plan.shifts import UNMOVED, Shift
from planner.plan.tree import Plan
from planner.plan.types import keeps_values
from planner.reasons import CAST_NOT_WIDENING, NOT_A_PLAIN_COLUMN, NOT_DETERMINISTIC, OPERATOR_IN_BETWEEN, Refusal

# How Spark shows its padding of char(n).
_PADDED = re.compile(r"readSidePadding\(.*, (\d+)\)")


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column looked for, whether a null of it may stand for a value further up, and how the key is made of its values."""

    id: int
    name: str
    keep_nulls: bool = False
    shift: Shift = UNMOVED


@dataclass(frozen=True, slots=True)
class ProbeColumn:
    """Where a probe key comes from: a scan of the plan and one of its columns, with names for people."""

    scan: int
    table: str
    column: int
    name: str
    type: str


def column_below(
    plan: Plan, node: Filter | Project | Sort | Aggregate | Window | Generate | Expand | Exchange | QueryStage, wanted: KeyColumn
) -> KeyColumn | Refusal:
    """The column of a node's only child that an output column of the node is."""
    if isinstance(node, Project):
        named = plan.named(node).get(wanted.id)
        return _not_named(node.op, wanted) if named is None else source_column(named, wanted)
    if isinstance(node, Aggregate):
        return _grouping_column(plan, node, wanted)
    if isinstance(node, Window):
        return _partition_column(node, wanted)
    if isinstance(node, Expand):
        source = next((source for id_, source in node.sources if id_ == wanted.id), None)
        return (
            Refusal(NOT_A_PLAIN_COLUMN, f"{node.op} computes {column_text(wanted)} anew for each copy of a row.")
            if source is None
            else source_column(source, wanted)
        )
    if isinstance(node, Exchange) and node.kind == REUSED_EXCHANGE:
        return column_at_place(plan, node, node.children[0], wanted)
    if isinstance(node, Generate) and not plan.has_output(node.children[0], wanted.id):
        return Refusal(NOT_A_PLAIN_COLUMN, f"{column_text(wanted)} is computed by {node.op}, not read from a file.")
    if isinstance(node, QueryStage) and not plan.has_output(node.children[0], wanted.id):
        return column_at_place(plan, node, node.children[0], wanted)
    return wanted


def plain_column(key: Expression) -> KeyColumn | Refusal:
    """The column under aliases, widening casts and what Spark wraps around keys: one that has the key's own values."""
    column = source_column(key)
    if isinstance(column, KeyColumn) and not column.shift.is_plain:
        return _computed(key)
    return column


def source_column(key: Expression, above: KeyColumn | None = None) -> KeyColumn | Refusal:
    """The column that a key is made of, one value of the key for one of the column, and how.

    `above` is what is known of the way from the key that is traced to the column that `key` makes.
    """
    at = key
    keep_nulls, shift = (False, UNMOVED) if above is None else (above.keep_nulls, above.shift)
    while True:
        if not at.deterministic:
            return Refusal(NOT_DETERMINISTIC, "The key is computed by an expression that is not deterministic.")
        if isinstance(at, Attribute):
            return KeyColumn(at.id, at.name, keep_nulls, shift)
        if isinstance(at, Cast) and not keeps_values(at.child.type, at.type):
            return Refusal(CAST_NOT_WIDENING, f"The key is cast from {at.child.type} to {at.type}, which may change values.")
        if isinstance(at, Shifted):
            shift = shift.of(at.sign, at.by, at.type)
        elif not isinstance(at, Alias | Cast | Normalize | CoalesceDefault):
            return _computed(at)
        # A null may equal the literal that stands for it, so nulls stay whatever the build side has.
        keep_nulls = keep_nulls or isinstance(at, CoalesceDefault)
        at = at.child


def padded_to(text: str) -> str | None:
    """The n of a char(n) column whose padding stands in this text of an expression."""
    found = _PADDED.search(text)
    return None if found is None else found[1]


def as_padded(width: str) -> str:
    return f"Spark pads char({width}) as it reads, and files may hold it without the blanks."


def _computed(expr: Expression) -> Refusal:
    text, inner = shortened(text_of(expr)), innermost(expr)
    width = padded_to(text_of(expr))
    if width is not None:
        return Refusal(
            NOT_A_PLAIN_COLUMN,
            f"The key is of type char({width}): Spark pads it as it reads, and files may hold it without the blanks.",
        )
    if isinstance(inner, OtherExpression) and not inner.refs:
        return Refusal(NOT_A_PLAIN_COLUMN, f"The key of the probe side is the same for every row: {text}.")
    return Refusal(NOT_A_PLAIN_COLUMN, f"The key is computed: {text}.")


def _grouping_column(plan: Plan, node: Aggregate, wanted: KeyColumn) -> KeyColumn | Refusal:
    """A column that all rows of a group share: dropping rows by it drops whole groups."""
    if not node.grouping:
        return Refusal(OPERATOR_IN_BETWEEN, f"{node.op} lies in between and makes one row of all.")
    named = plan.named(node).get(wanted.id)
    if named is None:
        return _not_named(node.op, wanted)
    result = source_column(named, wanted)
    if isinstance(result, Refusal):
        return result
    for group in node.grouping:
        if isinstance(group, Attribute | Alias) and group.id == result.id:
            return source_column(group, result)
    return Refusal(OPERATOR_IN_BETWEEN, f"{node.op} lies in between and does not group by {column_text(wanted)}.")


def _partition_column(node: Window, wanted: KeyColumn) -> KeyColumn | Refusal:
    """A column that all rows of a window's partition share: dropping rows by it drops whole partitions."""
    for part in node.partition:
        column = plain_column(part)
        if isinstance(column, KeyColumn) and column.id == wanted.id and not column.keep_nulls:
            return wanted
    return Refusal(OPERATOR_IN_BETWEEN, f"{node.op} lies in between and is not partitioned by {column_text(wanted)}.")


def column_at_place(plan: Plan, node: Union | Exchange | QueryStage, child: int, wanted: KeyColumn) -> KeyColumn | Refusal:
    """The column of a child that stands where `wanted` stands in the node's own output."""
    places = [place for place, id_ in enumerate(node.output) if id_ == wanted.id]
    output = plan.nodes[child].output
    if len(places) != 1 or len(output) != len(node.output):
        return Refusal(NOT_A_PLAIN_COLUMN, f"{node.op} does not say which column of its inputs {column_text(wanted)} is.")
    return replace(wanted, id=output[places[0]])


def _not_named(op: str, wanted: KeyColumn) -> Refusal:
    return Refusal(NOT_A_PLAIN_COLUMN, f"{op} does not say what {column_text(wanted)} is.")


def column_text(wanted: KeyColumn) -> str:
    """A column for people: its name."""
    return wanted.name
