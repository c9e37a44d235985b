"""From a join's probe key down to the Parquet columns that it is.

The trace goes by structure, node by node: expression ids may occur twice in a plan (unions, inlined CTEs), so an id means something
only below the node where it was met. It branches into the arms of a union and across the equality of a join; each branch ends at a
scan or at the first thing that could make a filter there wrong or useless.

What holds on the way: for rows whose key the filter accepts, every node returns the same with and without the filter below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from planner.expressions import Alias, Attribute, Cast, CoalesceDefault, Expression, Normalize
from planner.legality import join_type_name, passes_key_down, reaches_across
from planner.nodes import (
    BROADCAST_EXCHANGE,
    LEFT,
    REUSED_EXCHANGE,
    RIGHT,
    Aggregate,
    Exchange,
    Expand,
    Filter,
    Generate,
    Join,
    OtherNode,
    Plan,
    Project,
    QueryStage,
    Scan,
    Sort,
    Union,
    Window,
    other_side,
)
from planner.reasons import (
    ALREADY_STARTED,
    AMBIGUOUS_COLUMN,
    CAST_NOT_WIDENING,
    FIELD_ID_READ,
    KEY_TYPE,
    MAY_RAISE,
    NOT_A_FILE_SCAN,
    NOT_A_PLAIN_COLUMN,
    NOT_DETERMINISTIC,
    NOT_PLAIN_PARQUET,
    OPERATOR_IN_BETWEEN,
    PARTITION_COLUMN,
    SHARED_EXCHANGE,
    Refusal,
)
from planner.types import comparable_with_key, is_key_type, keeps_values

# Joins that return none of the right side's columns.
LEFT_COLUMNS_ONLY = ("LeftSemi", "LeftAnti", "ExistenceJoin")

# What a row may have before it, the dearest first.
SHUFFLE, AGGREGATE, WINDOW, SORT, JOIN = "shuffle", "aggregate", "window", "sort", "join"
DEAREST_FIRST = (SHUFFLE, AGGREGATE, WINDOW, SORT, JOIN)


@dataclass(frozen=True, slots=True)
class ProbeColumn:
    """Where a probe key comes from: a scan of the plan and one of its columns."""

    scan: int
    table: str
    column: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Branch:
    """One end of a trace.

    `column` is known for every branch that reached a scan, `refusal` says why there is no filter nevertheless. `keep_nulls`: a
    filter must keep the column's nulls. `ahead`: the dearest thing that a row has before it on the way up, None for nothing.
    `other_stage`: an exchange lies in between. `across`: the branch came over an equality of a join on the way.
    """

    column: ProbeColumn | None
    refusal: Refusal | None
    keep_nulls: bool
    ahead: str | None
    other_stage: bool
    across: bool


@dataclass(frozen=True, slots=True)
class _Way:
    """What is known on the way down. After `stop` the way goes on only to tell which scan it would have been."""

    keep_nulls: bool = False
    ahead: str | None = None
    other_stage: bool = False
    across: bool = False
    stop: Refusal | None = None

    def past(self, what: str) -> _Way:
        if self.ahead is not None and DEAREST_FIRST.index(self.ahead) <= DEAREST_FIRST.index(what):
            return self
        return replace(self, ahead=what)

    def stopped(self, refusal: Refusal) -> _Way:
        return self if self.stop is not None else replace(self, stop=refusal)

    def end(self, refusal: Refusal | None, column: ProbeColumn | None = None) -> Branch:
        return Branch(column, self.stop or refusal, self.keep_nulls, self.ahead, self.other_stage, self.across)


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column looked for, and whether a null of it may stand for a value further up."""

    id: int
    name: str
    keep_nulls: bool = False


@dataclass(frozen=True, slots=True)
class _Trace:
    """The plan and what does not change on the way."""

    plan: Plan
    key_type: str
    field_id_read: bool


def trace(plan: Plan, start: int, key: Expression, field_id_read: bool) -> tuple[Branch, ...]:
    """Follows `key`, an expression over the output of node `start`, down to the columns of scans that it is.

    Returns at least one branch. A branch across an equality is there only if nothing stopped it: whoever wrote the query did not
    ask for it.
    """
    found = (
        _plain_column(key) if is_key_type(key.type) else Refusal(KEY_TYPE, f"The key is of type {key.type}, which no filter holds.")
    )
    if not isinstance(found, Refusal) and key.may_raise:
        found = Refusal(MAY_RAISE, "The key is computed by an expression that can fail; a row that is dropped would not.")
    if isinstance(found, Refusal):
        return (_Way().end(found),)
    branches = _follow(_Trace(plan, key.type, field_id_read), start, found, _Way())
    seen: set[tuple[int, int]] = set()
    kept = []
    for branch in branches:
        if branch.across and branch.refusal is not None:
            continue
        if branch.column is not None and (place := (branch.column.scan, branch.column.column)) in seen:
            continue
        elif branch.column is not None:
            seen.add(place)
        kept.append(branch)
    return tuple(kept)


def _follow(trace: _Trace, at: int, wanted: KeyColumn, way: _Way) -> Iterator[Branch]:
    """The ends of the way from the output column `wanted` of node `at`."""
    plan = trace.plan
    if wanted.keep_nulls:
        way = replace(way, keep_nulls=True)
    node = plan.nodes[at]
    if isinstance(node, Scan):
        found = _column_of(node, wanted)
        yield way.end(found) if isinstance(found, Refusal) else way.end(_refuse_column(node, found, trace), found)
        return
    if isinstance(node, OtherNode):
        yield way.end(_refuse_operator(node))
        return
    way = _past_node(trace, node, way)
    if isinstance(node, Join):
        yield from _through_join(trace, node, wanted, way)
        return
    if isinstance(node, Union):
        yield from _into_arms(trace, node, wanted, way)
        return
    below = _below(plan, node, wanted)
    if isinstance(below, Refusal):
        yield way.end(below)
    else:
        yield from _follow(trace, node.children[0], below, way)


def _past_node(
    trace: _Trace,
    node: Filter | Project | Sort | Aggregate | Window | Union | Generate | Expand | Join | Exchange | QueryStage,
    way: _Way,
) -> _Way:
    """The way below a node: what its rows have before them there, and whether the node stops a filter."""
    if isinstance(node, QueryStage):
        return replace(way, other_stage=True).stopped(Refusal(ALREADY_STARTED, f"{node.op} has started: its scans run already."))
    if not trace.plan.is_deterministic(node.id):
        # A non-deterministic neighbour counts rows or draws numbers: it would see other rows.
        way = way.stopped(Refusal(NOT_DETERMINISTIC, f"{node.op} in between computes something that is not deterministic."))
    if trace.plan.may_raise(node.id):
        way = way.stopped(Refusal(MAY_RAISE, f"{node.op} in between can fail on some row; a row that is dropped would not."))
    if isinstance(node, Exchange):
        if node.kind == REUSED_EXCHANGE:
            way = way.stopped(Refusal(SHARED_EXCHANGE, f"{node.op} takes the rows that another exchange has made."))
        way = replace(way, other_stage=True)
        # A broadcast is no shuffle: what its rows have before them is the join that it is for.
        return way if node.kind == BROADCAST_EXCHANGE else way.past(SHUFFLE)
    if isinstance(node, Aggregate):
        return way.past(AGGREGATE)
    if isinstance(node, Window):
        return way.past(WINDOW)
    if isinstance(node, Sort):
        return way.past(SORT)
    return way.past(JOIN) if isinstance(node, Join) else way


def _below(
    plan: Plan, node: Filter | Project | Sort | Aggregate | Window | Generate | Expand | Exchange | QueryStage, wanted: KeyColumn
) -> KeyColumn | Refusal:
    """The column of a node's only child that an output column of the node is."""
    if isinstance(node, Project):
        named = plan.named(node).get(wanted.id)
        return _not_named(node.op, wanted) if named is None else _plain_column(named)
    if isinstance(node, Aggregate):
        return _grouping_column(plan, node, wanted)
    if isinstance(node, Window):
        return _partition_column(node, wanted)
    if isinstance(node, Expand):
        source = next((source for id_, source in node.sources if id_ == wanted.id), None)
        return (
            Refusal(NOT_A_PLAIN_COLUMN, f"{node.op} makes {_text(wanted)} anew in each copy of a row.")
            if source is None
            else _plain_column(source)
        )
    if isinstance(node, Exchange) and node.kind == REUSED_EXCHANGE:
        return _at_place(plan, node, node.children[0], wanted)
    if isinstance(node, Generate) and not plan.has_output(node.children[0], wanted.id):
        return Refusal(NOT_A_PLAIN_COLUMN, f"{node.op} makes {_text(wanted)} itself.")
    if isinstance(node, QueryStage) and not plan.has_output(node.children[0], wanted.id):
        return _at_place(plan, node, node.children[0], wanted)
    return wanted


def _plain_column(key: Expression) -> KeyColumn | Refusal:
    """The column under aliases, widening casts and what Spark wraps around keys."""
    at, keep_nulls = key, False
    while True:
        if not at.deterministic:
            return Refusal(NOT_DETERMINISTIC, "The key is computed by an expression that is not deterministic.")
        if isinstance(at, Attribute):
            return KeyColumn(at.id, at.name, keep_nulls)
        if isinstance(at, Cast) and not keeps_values(at.child.type, at.type):
            return Refusal(CAST_NOT_WIDENING, f"The key is cast from {at.child.type} to {at.type}, which may change values.")
        if not isinstance(at, Alias | Cast | Normalize | CoalesceDefault):
            return Refusal(NOT_A_PLAIN_COLUMN, f"The key is computed: {at.text}.")
        # A null may equal the literal that stands for it, so nulls stay whatever the build side has.
        keep_nulls = keep_nulls or isinstance(at, CoalesceDefault)
        at = at.child


def _grouping_column(plan: Plan, node: Aggregate, wanted: KeyColumn) -> KeyColumn | Refusal:
    """A column that all rows of a group share: dropping rows by it drops whole groups."""
    if not node.grouping:
        return Refusal(OPERATOR_IN_BETWEEN, f"{node.op} lies in between and makes one row of all.")
    named = plan.named(node).get(wanted.id)
    if named is None:
        return _not_named(node.op, wanted)
    result = _plain_column(named)
    if isinstance(result, Refusal):
        return result
    for group in node.grouping:
        if isinstance(group, Attribute | Alias) and group.id == result.id:
            below = _plain_column(group)
            return below if isinstance(below, Refusal) else replace(below, keep_nulls=below.keep_nulls or result.keep_nulls)
    return Refusal(OPERATOR_IN_BETWEEN, f"{node.op} lies in between and does not group by {_text(wanted)}.")


def _partition_column(node: Window, wanted: KeyColumn) -> KeyColumn | Refusal:
    """A column that all rows of a window's partition share: dropping rows by it drops whole partitions."""
    for part in node.partition:
        column = _plain_column(part)
        if isinstance(column, KeyColumn) and column.id == wanted.id and not column.keep_nulls:
            return wanted
    return Refusal(OPERATOR_IN_BETWEEN, f"{node.op} lies in between and is not partitioned by {_text(wanted)}.")


def _at_place(plan: Plan, node: Union | Exchange | QueryStage, child: int, wanted: KeyColumn) -> KeyColumn | Refusal:
    """The column of a child that stands where `wanted` stands in the node's own output."""
    places = [place for place, id_ in enumerate(node.output) if id_ == wanted.id]
    output = plan.nodes[child].output
    if len(places) != 1 or len(output) != len(node.output):
        return Refusal(AMBIGUOUS_COLUMN, f"{node.op} has {_text(wanted)} {len(places)} times, or its inputs have other columns.")
    return replace(wanted, id=output[places[0]])


def _into_arms(trace: _Trace, node: Union, wanted: KeyColumn, way: _Way) -> Iterator[Branch]:
    for child in node.children:
        below = _at_place(trace.plan, node, child, wanted)
        if isinstance(below, Refusal):
            yield way.end(below)
        else:
            yield from _follow(trace, child, below, way)


def _through_join(trace: _Trace, join: Join, wanted: KeyColumn, way: _Way) -> Iterator[Branch]:
    side = _side_of(trace.plan, join, wanted)
    if isinstance(side, Refusal):
        yield way.end(side)
        return
    yield from _follow(trace, join.child_of(side), wanted, way)
    if not reaches_across(join.join_type, side, join.null_aware):
        return
    other = other_side(side)
    for mine, theirs in zip(join.keys_of(side), join.keys_of(other), strict=True):
        here, there = _plain_column(mine), _plain_column(theirs)
        if not isinstance(here, KeyColumn) or here.id != wanted.id or here.keep_nulls:
            continue
        if isinstance(there, KeyColumn) and not there.keep_nulls:
            yield from _follow(trace, join.child_of(other), there, replace(way, across=True))


def _side_of(plan: Plan, join: Join, wanted: KeyColumn) -> str | Refusal:
    """The side of a join in between that the key comes from, if rows may be dropped there."""
    sides = [side for side in (LEFT, RIGHT) if plan.has_output(join.child_of(side), wanted.id)]
    if join_type_name(join.join_type) in LEFT_COLUMNS_ONLY:
        sides = [side for side in sides if side == LEFT]
    if not sides:
        return Refusal(NOT_A_PLAIN_COLUMN, f"{join.op} computes {_text(wanted)} itself.")
    if len(sides) > 1:
        return Refusal(AMBIGUOUS_COLUMN, f"{_text(wanted)} comes from both sides of {join.op}.")
    side = sides[0]
    if not passes_key_down(join.join_type, side):
        return Refusal(OPERATOR_IN_BETWEEN, f"{join.op} ({join.join_type}) lies in between and needs every row of its {side} side.")
    return side


def _column_of(scan: Scan, wanted: KeyColumn) -> ProbeColumn | Refusal:
    matching = [column for column in scan.columns if column.id == wanted.id]
    if len(matching) != 1:
        return Refusal(NOT_A_PLAIN_COLUMN, f"The scan of {scan.table} has {len(matching)} columns with the id {wanted.id}.")
    (column,) = matching
    return ProbeColumn(scan.id, scan.table, column.id, column.name, column.type)


def _refuse_column(scan: Scan, column: ProbeColumn, trace: _Trace) -> Refusal | None:
    """Why a column of a scan can't carry a filter of the traced key."""
    named = f"{scan.table}.{column.name}"
    if any(each.partition for each in scan.columns if each.id == column.column):
        return Refusal(PARTITION_COLUMN, f"{named} is a partition column: Spark's dynamic partition pruning covers it.")
    if not scan.plain_parquet:
        return Refusal(NOT_PLAIN_PARQUET, f"{scan.table} is read as {scan.format}, not by Spark's own Parquet reader.")
    if trace.field_id_read:
        return Refusal(FIELD_ID_READ, "spark.sql.parquet.fieldId.read.enabled is on: columns are matched by field id, not by name.")
    if not is_key_type(column.type):
        return Refusal(KEY_TYPE, f"{named} is {column.type}, which no filter holds.")
    if not comparable_with_key(column.type, trace.key_type):
        return Refusal(CAST_NOT_WIDENING, f"{named} is {column.type}, and the keys of the filter are {trace.key_type}.")
    return None


def _refuse_operator(node: OtherNode) -> Refusal:
    if node.children:
        return Refusal(OPERATOR_IN_BETWEEN, f"{node.op} lies between the join and the scan.")
    return Refusal(NOT_A_FILE_SCAN, f"The key comes from {node.op}, which is not a scan of files.")


def _not_named(op: str, wanted: KeyColumn) -> Refusal:
    return Refusal(NOT_A_PLAIN_COLUMN, f"{op} does not say what {_text(wanted)} is.")


def _text(wanted: KeyColumn) -> str:
    return f"{wanted.name}#{wanted.id}"
