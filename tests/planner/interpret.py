"""Carries out plans on lists of rows, with and without filters: slow, small, and written from what the operators mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.placement.answer import Placeholder
from planner.plan.expressions import Alias, Attribute, CoalesceDefault, Expression, OtherExpression, Shifted
from planner.plan.nodes import Aggregate, Exchange, Expand, Filter, Generate, Join, Project, QueryStage, Scan, Sort, Union, Window
from planner.plan.tree import Plan
from tests.planner.random_plans import Rows

Value = int | None
Row = dict[int, Value]
# What coalesce_default puts for a null: a value that columns have too.
DEFAULT = 0


class WaitsForItself(Exception):
    """A stage waits in a circle."""


@dataclass
class Run:
    """One run of a plan; `dropped` counts the rows that filters took out of scans."""

    plan: Plan
    tables: dict[str, Rows]
    placeholders: Sequence[Placeholder] = ()
    dropped: int = 0
    _rows: dict[int, list[Row]] = field(default_factory=dict)
    _busy: set[int] = field(default_factory=set)

    def result(self) -> Counter[tuple[Value, ...]]:
        return self.output_of(0)

    def output_of(self, node: int) -> Counter[tuple[Value, ...]]:
        """The rows of a node, by place."""
        output = self.plan.nodes[node].output
        return Counter(tuple(row[id_] for id_ in output) for row in self.rows(node))

    def rows(self, at: int) -> list[Row]:
        if at not in self._rows:
            if at in self._busy:
                raise WaitsForItself(f"node {at}")
            self._busy.add(at)
            self._rows[at] = self._compute(at)
        return self._rows[at]

    def _compute(self, at: int) -> list[Row]:
        node = self.plan.nodes[at]
        if isinstance(node, Scan):
            return self._scan(node)
        if isinstance(node, Join):
            return list(self._join(node))
        children = [self.rows(child) for child in node.children]
        if isinstance(node, Union):
            arms = zip(node.children, children, strict=True)
            return [_renamed(self.plan.nodes[child].output, node.output, row) for child, rows in arms for row in rows]
        (rows,) = children
        if isinstance(node, Project):
            named = [expr for expr in node.exprs if isinstance(expr, Attribute | Alias)]
            return [{expr.id: value(expr, row) for expr in named} for row in rows]
        if isinstance(node, Filter):
            return [row for row in rows if value(node.condition, row)]
        if isinstance(node, Aggregate):
            return _aggregated(node, rows)
        if isinstance(node, Window):
            counts = Counter(tuple(value(part, row) for part in node.partition) for row in rows)
            made = node.output[-1]
            return [{**row, made: counts[tuple(value(part, row) for part in node.partition)]} for row in rows]
        if isinstance(node, Generate):
            return [{**row, node.output[-1]: number} for row in rows for number in (0, 1)]
        if isinstance(node, Expand):
            return [
                {id_: (number if source is None else value(source, row)) for id_, source in node.sources}
                for row in rows
                for number in (0, 1)
            ]
        assert isinstance(node, Sort | Exchange | QueryStage), node.op
        return rows

    def _scan(self, scan: Scan) -> list[Row]:
        ids = [column.id for column in scan.columns]
        rows = [dict(zip(ids, row, strict=True)) for row in self.tables[scan.table]]
        for placeholder in self.placeholders:
            if placeholder.scan == scan.id:
                keys = self.keys_of(placeholder)
                kept = [row for row in rows if _passes(placeholder, keys, row)]
                self.dropped += len(rows) - len(kept)
                rows = kept
        return rows

    def keys_of(self, placeholder: Placeholder) -> set[tuple[Value, ...]]:
        """The keys of a build side, as the filter gets them; rows with a null among them can match nothing."""
        join = self.plan.nodes[placeholder.join]
        assert isinstance(join, Join)
        self.rows(placeholder.source)
        exprs = [join.keys_of(placeholder.build_side)[key] for key in placeholder.keys]
        keys = {tuple(value(expr, row) for expr in exprs) for row in self.rows(join.child_of(placeholder.build_side))}
        return {key for key in keys if None not in key}

    def _join(self, join: Join) -> list[Row]:
        left, right = self.rows(join.left), self.rows(join.right)
        no_left: Row = dict.fromkeys(self.plan.nodes[join.left].output)
        no_right: Row = dict.fromkeys(self.plan.nodes[join.right].output)
        pairs = [(i, j) for i, one in enumerate(left) for j, two in enumerate(right) if _matches(join, one, two)]
        matched_left, matched_right = {i for i, _ in pairs}, {j for _, j in pairs}
        joined = [{**left[i], **right[j]} for i, j in pairs]
        lonely_left = [{**row, **no_right} for i, row in enumerate(left) if i not in matched_left]
        lonely_right = [{**no_left, **row} for j, row in enumerate(right) if j not in matched_right]
        name = join.join_type.split("(")[0]
        if name == "LeftSemi":
            return [left[i] for i in sorted(matched_left)]
        if name == "LeftAnti":
            alone = [row for i, row in enumerate(left) if i not in matched_left]
            return [row for row in alone if not (join.null_aware and _unsure(join, row, right))]
        if name == "ExistenceJoin":
            return [{**row, join.output[-1]: int(i in matched_left)} for i, row in enumerate(left)]
        added_left = lonely_left if name in ("LeftOuter", "FullOuter") else []
        added_right = lonely_right if name in ("RightOuter", "FullOuter") else []
        return joined + added_left + added_right


def _unsure(join: Join, row: Row, right: list[Row]) -> bool:
    """NOT IN: a null on either side makes the answer unknown, unless the right side is empty."""
    keys = [value(join.right_keys[0], other) for other in right]
    return bool(keys) and (value(join.left_keys[0], row) is None or None in keys)


def _matches(join: Join, left: Row, right: Row) -> bool:
    for one, two in zip(join.left_keys, join.right_keys, strict=True):
        first, second = value(one, left), value(two, right)
        if first is None or second is None or first != second:
            return False
    return join.condition is None or bool(value(join.condition, {**left, **right}))


def _passes(placeholder: Placeholder, keys: set[tuple[Value, ...]], row: Row) -> bool:
    found = tuple(_shifted(placeholder, row[column]) for column in placeholder.columns)
    return found in keys or (placeholder.keep_nulls and found == (None,))


def _shifted(placeholder: Placeholder, value: Value) -> Value:
    """The key of a column's value. No value here is one that a shift can't tell the key of."""
    shift = placeholder.shift
    return value if shift is None or value is None else shift.sign * value + shift.by


def _aggregated(node: Aggregate, rows: list[Row]) -> list[Row]:
    counts = Counter(tuple(value(group, row) for group in node.grouping) for row in rows)
    if not node.grouping and not rows:
        counts[()] = 0
    ids = [expr.id for expr in node.grouping if isinstance(expr, Attribute)]
    return [{**dict(zip(ids, group, strict=True)), node.output[-1]: count} for group, count in counts.items()]


def _renamed(old: Sequence[int], new: Sequence[int], row: Row) -> Row:
    return {to: row[from_] for from_, to in zip(old, new, strict=True)}


def value(expr: Expression, row: Row) -> Value:
    """The value of an expression; true and false are 1 and 0."""
    if isinstance(expr, Attribute):
        return row[expr.id]
    if isinstance(expr, OtherExpression):
        return _computed(expr.text, row)
    inner = value(expr.child, row)
    if isinstance(expr, Shifted):
        return None if inner is None else expr.sign * inner + expr.by
    return DEFAULT if isinstance(expr, CoalesceDefault) and inner is None else inner


def _computed(text: str, row: Row) -> Value:
    found = re.fullmatch(r"(\w+)\(#(\d+)(?:,(#?)(\d+))?\)", text)
    assert found is not None, text
    name, first = found[1], row[int(found[2])]
    if name == "isnull":
        return int(first is None)
    second = row[int(found[4])] if found[3] else int(found[4])
    if first is None or second is None:
        return None
    return {"gt": int(first > second), "ne": int(first != second), "plus": first + second}[name]
