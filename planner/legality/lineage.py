"""From a join's probe key down to the Parquet columns that it is.

The trace goes by structure, node by node: expression ids may occur twice in a plan (unions, inlined CTEs), so an id means something
only below the node where it was met. It branches into the arms of a union and across the equality of a join; each branch ends at a
scan or at the first thing that could make a filter there wrong or useless.

What holds on the way: for rows whose key the filter accepts, every node returns the same with and without the filter below it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from planner.plan import columns
from planner.plan.columns import KeyColumn, ProbeColumn, column_text
from planner.plan.equalities import are_equal, equal_columns
from planner.plan.expressions import Attribute, Expression, OtherExpression, innermost, raises_past_its_type_only, source_type
from planner.plan.join_types import join_type_name, passes_key_down, reaches_across
from planner.plan.nodes import (
    BROADCAST,
    BROADCAST_EXCHANGE,
    LEFT,
    NESTED_LOOP,
    REUSED_EXCHANGE,
    RIGHT,
    Aggregate,
    Exchange,
    Expand,
    Filter,
    Generate,
    Join,
    OtherNode,
    Project,
    QueryStage,
    Scan,
    Sort,
    Union,
    Window,
    other_side,
)
from planner.plan.shifts import LEAST, MOST, UNMOVED, Shift
from planner.plan.tree import Plan
from planner.plan.types import comparable_with_key, is_key_type, is_whole_number
from planner.reasons import (
    ALREADY_STARTED,
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
    SKIPS_CORRUPT_FILES,
    Refusal,
)

# Joins that return none of the right side's columns.
LEFT_COLUMNS_ONLY = ("LeftSemi", "LeftAnti", "ExistenceJoin")

# What a row may have before it, the dearest first.
SHUFFLE, AGGREGATE, WINDOW, SORT, JOIN = "shuffle", "aggregate", "window", "sort", "join"
DEAREST_FIRST = (SHUFFLE, AGGREGATE, WINDOW, SORT, JOIN)


@dataclass(frozen=True, slots=True)
class Branch:
    """One end of a trace.

    `column` is known for every branch that reached a scan, `refusal` says why there is no filter nevertheless. `keep_nulls`: a
    filter must keep the column's nulls. `ahead`: the dearest thing that a row has before it on the way up, None for nothing.
    `other_stage`: an exchange lies in between. `across`: the join on the way over whose equality the branch came, the lowest of
    them; None without any. `shift`: how the key is made of the column's values.
    """

    column: ProbeColumn | None
    refusal: Refusal | None
    keep_nulls: bool
    ahead: str | None
    other_stage: bool
    across: int | None
    shift: Shift = UNMOVED


@dataclass(frozen=True, slots=True)
class _Way:
    """What is known on the way down. After `stop` the way goes on only to tell which scan it would have been."""

    keep_nulls: bool = False
    ahead: str | None = None
    other_stage: bool = False
    across: int | None = None
    stop: Refusal | None = None

    def past(self, what: str) -> _Way:
        if self.ahead is not None and DEAREST_FIRST.index(self.ahead) <= DEAREST_FIRST.index(what):
            return self
        return replace(self, ahead=what)

    def stopped(self, refusal: Refusal) -> _Way:
        return self if self.stop is not None else replace(self, stop=refusal)

    def end(self, refusal: Refusal | None, column: ProbeColumn | None = None, shift: Shift = UNMOVED) -> Branch:
        return Branch(column, self.stop or refusal, self.keep_nulls, self.ahead, self.other_stage, self.across, shift)


# Any node between a join and its scans.
_InnerNode: TypeAlias = Filter | Project | Sort | Aggregate | Window | Union | Generate | Expand | Join | Exchange | QueryStage
# A node, the column of its output that is looked for (or why there is none), and what is known on the way to it.
_Step: TypeAlias = tuple[int, KeyColumn | Refusal, _Way]


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
    column = _key_column(key)
    if isinstance(column, Refusal):
        return (_Way().end(column),)
    branches = _follow(_Trace(plan, key.type, field_id_read), start, column)
    wanted = [branch for branch in branches if branch.refusal is None or branch.across is None]
    # A scan that is reached over two equalities is one target.
    first: dict[object, Branch] = {}
    for number, branch in enumerate(wanted):
        first.setdefault(number if branch.column is None else branch.column, branch)
    return tuple(first.values())


def _key_column(key: Expression) -> KeyColumn | Refusal:
    if not is_key_type(key.type):
        return Refusal(KEY_TYPE, f"The key is of type {key.type}: filters hold no values of that type.")
    if not raises_past_its_type_only(key):
        return Refusal(MAY_RAISE, "Computing the key can raise an error, and a filter could drop the row that raises it.")
    return columns.source_column(key)


def _follow(trace: _Trace, start: int, key: KeyColumn) -> list[Branch]:
    """The ends of all ways from the output column `key` of node `start`, in the order of the plan.

    A loop and no recursion: plans are deep, and this is done for every key.
    """
    branches: list[Branch] = []
    stack: list[_Step] = [(start, key, _Way(keep_nulls=key.keep_nulls))]
    while stack:
        at, wanted, way = stack.pop()
        node = trace.plan.nodes[at]
        if isinstance(wanted, Refusal):
            branches.append(way.end(wanted))
        elif isinstance(node, Scan):
            branches.append(_end_at_scan(trace, node, wanted, way))
        elif isinstance(node, OtherNode):
            branches.append(way.end(_refuse_operator(node)))
        else:
            stack.extend(reversed(_steps(trace, node, wanted, _past_node(trace, node, wanted, way))))
    return branches


def _steps(trace: _Trace, node: _InnerNode, wanted: KeyColumn, way: _Way) -> list[_Step]:
    """Where the way goes on below a node."""
    if isinstance(node, Join):
        return _through_join(trace.plan, node, wanted, way)
    if isinstance(node, Union):
        return [(child, columns.column_at_place(trace.plan, node, child, wanted), way) for child in node.children]
    below = columns.column_below(trace.plan, node, wanted)
    keeps = isinstance(below, KeyColumn) and below.keep_nulls and not way.keep_nulls
    return [(node.children[0], below, replace(way, keep_nulls=True) if keeps else way)]


def _is_steady(plan: Plan, node: _InnerNode) -> bool:
    """Whether a node gives the rows that are left what it gave them among all.

    The functions of an aggregate see whole groups or nothing of them, so it does not matter that some depend on the order of rows.
    """
    if isinstance(node, Aggregate):
        return all(expression.deterministic for expression in node.expressions())
    return plan.is_deterministic(node.id)


def _past_node(trace: _Trace, node: _InnerNode, wanted: KeyColumn, way: _Way) -> _Way:
    """The way below a node: what its rows have before them there, and whether the node stops a filter."""
    if isinstance(node, QueryStage):
        return replace(way, other_stage=True).stopped(Refusal(ALREADY_STARTED, f"{node.op} has started: its scans run already."))
    if not _is_steady(trace.plan, node):
        # A non-deterministic neighbour counts rows or draws numbers: it would see other rows.
        way = way.stopped(Refusal(NOT_DETERMINISTIC, f"{node.op} in between computes something that is not deterministic."))
    if trace.plan.may_raise(node.id) and not _only_where_kept(trace.plan, node, wanted):
        way = way.stopped(
            Refusal(MAY_RAISE, f"{node.op} in between can raise an error, and a filter could drop the row that raises it.")
        )
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


def _only_where_kept(plan: Plan, node: _InnerNode, wanted: KeyColumn) -> bool:
    """Whether a node can fail only on rows that every filter of the key keeps: those that a shift on the way to it fails on."""
    if node.may_raise or not isinstance(node, Project | Filter | Sort | Exchange):
        return False
    column = columns.column_below(plan, node, wanted) if isinstance(node, Project) else wanted
    if isinstance(column, Refusal):
        return False
    return all(_raises_where_kept(expr, column) for expr in (*node.moved, *node.expressions()))


def _raises_where_kept(expr: Expression, column: KeyColumn) -> bool:
    """Whether an expression can fail only for values of `column` that are kept whatever the filter's keys are."""
    if not expr.may_raise:
        return True
    inner = innermost(expr)
    if isinstance(inner, OtherExpression):
        return not inner.may_raise_beyond and expr is inner and all(_raises_where_kept(moved, column) for moved in inner.moved)
    source = columns.source_column(expr)
    if not raises_past_its_type_only(expr) or isinstance(source, Refusal) or source.id != column.id:
        return False
    fails_outside, kept_outside = source.shift.on(source_type(expr)), column.shift.on(source_type(expr))
    return fails_outside.low <= kept_outside.low and kept_outside.high <= fails_outside.high


def _through_join(plan: Plan, join: Join, wanted: KeyColumn, way: _Way) -> list[_Step]:
    """Down the side that the column is of, and across the equality if it is a key or equal to one in all rows of that side."""
    side = _side_of(plan, join, wanted)
    if isinstance(side, Refusal):
        return [(join.id, side, way)]
    other = other_side(side)
    down = _hides_no_error(plan, join, side, way) if side == join.build_side else way
    steps: list[_Step] = [(join.child_of(side), wanted, down)]
    if not reaches_across(join.join_type, side, join.null_aware):
        return steps
    equalities = equal_columns(plan, join.child_of(side))
    for mine, theirs in zip(join.keys_of(side), join.keys_of(other), strict=True):
        # The plain look first: hardly ever is it this key.
        inner = innermost(mine)
        if not isinstance(inner, Attribute) or not are_equal(equalities, inner.id, wanted.id):
            continue
        here, there = columns.plain_column(mine), columns.plain_column(theirs)
        if isinstance(here, KeyColumn) and isinstance(there, KeyColumn) and not here.keep_nulls and not there.keep_nulls:
            across = _hides_no_error(plan, join, other, replace(way, across=join.id))
            steps.append((join.child_of(other), replace(wanted, id=there.id, name=there.name), across))
    return steps


def _hides_no_error(plan: Plan, join: Join, side: str, way: _Way) -> _Way:
    """The way down a side of a join, stopped where rows of the other side would not be evaluated that can fail.

    Checked on 4.3: the streamed side of a broadcast join starts when the broadcast is there, and adaptive execution
    leaves it out if that is empty. The sides of a shuffled join start together.
    """
    if side != join.build_side or join.kind not in (BROADCAST, NESTED_LOOP):
        return way
    raising = next(plan.raising_below(join.child_of(other_side(side))), None)
    if raising is None:
        return way
    what = (
        f"{raising.op} on the other side of {join.op} can raise an error, and would not run if a filter left no row on this side."
    )
    return way.stopped(Refusal(MAY_RAISE, what))


def _side_of(plan: Plan, join: Join, wanted: KeyColumn) -> str | Refusal:
    """The side of a join in between that the key comes from, if rows may be dropped there."""
    sides = [side for side in (LEFT, RIGHT) if plan.has_output(join.child_of(side), wanted.id)]
    if join_type_name(join.join_type) in LEFT_COLUMNS_ONLY:
        sides = [side for side in sides if side == LEFT]
    if not sides:
        return Refusal(NOT_A_PLAIN_COLUMN, f"{column_text(wanted)} is computed by {join.op}, not read from a file.")
    if len(sides) > 1:
        return Refusal(NOT_A_PLAIN_COLUMN, f"Both sides of {join.op} have {column_text(wanted)}.")
    side = sides[0]
    if not passes_key_down(join.join_type, side):
        return Refusal(
            OPERATOR_IN_BETWEEN,
            f"{join.op} ({join_type_name(join.join_type)}) lies in between and needs every row of its {side} side.",
        )
    return side


def _end_at_scan(trace: _Trace, scan: Scan, wanted: KeyColumn, way: _Way) -> Branch:
    matching = [column for column in scan.columns if column.id == wanted.id]
    if len(matching) != 1:
        return way.end(
            Refusal(NOT_A_PLAIN_COLUMN, f"The scan of {scan.table} does not say which of its columns {column_text(wanted)} is.")
        )
    found = ProbeColumn(scan.id, scan.table, matching[0].id, matching[0].shown, matching[0].type)
    shift = UNMOVED if wanted.shift.is_plain else wanted.shift.on(found.type)
    return way.end(_refuse_column(scan, found, trace) or _refuse_shift(found, shift), found, shift)


def _refuse_column(scan: Scan, column: ProbeColumn, trace: _Trace) -> Refusal | None:
    """Why a column of a scan can't carry a filter of the traced key."""
    named = f"{scan.table}.{column.name}"
    if any(each.partition for each in scan.columns if each.id == column.column):
        return Refusal(PARTITION_COLUMN, f"{named} is a partition column: Spark's dynamic partition pruning covers it.")
    if not scan.plain_parquet:
        return Refusal(NOT_PLAIN_PARQUET, f"{scan.table} is read as {scan.format}, not by Spark's own Parquet reader.")
    if scan.skips_corrupt:
        return refuse_corrupt(scan)
    if trace.field_id_read:
        return Refusal(FIELD_ID_READ, "spark.sql.parquet.fieldId.read.enabled is on: columns are matched by field id, not by name.")
    if not is_key_type(column.type):
        return Refusal(KEY_TYPE, f"{named} is of type {column.type}: filters hold no values of that type.")
    if not comparable_with_key(column.type, trace.key_type):
        return Refusal(CAST_NOT_WIDENING, f"{named} is {column.type}, and the keys of the filter are {trace.key_type}.")
    return None


def refuse_corrupt(scan: Scan) -> Refusal:
    """Why a scan that passes over what it can't read is left alone."""
    what = f"ignoreCorruptFiles is on for {scan.table}: Spark leaves out the rows of a file from the first one that it can't read,"
    return Refusal(SKIPS_CORRUPT_FILES, f"{what} and where packs are left out it would read on behind that place.")


def _refuse_shift(column: ProbeColumn, shift: Shift) -> Refusal | None:
    """Why the values of a column can't be told from the keys that are made of them."""
    if shift.is_plain or (is_whole_number(column.type) and shift.low <= shift.high and LEAST <= shift.by <= MOST):
        return None
    return Refusal(NOT_A_PLAIN_COLUMN, f"The key moves {column.table}.{column.name} by {shift.by}, past the end of {column.type}.")


def _refuse_operator(node: OtherNode) -> Refusal:
    if node.children:
        return Refusal(OPERATOR_IN_BETWEEN, f"{node.op} lies between the join and the scan.")
    return Refusal(NOT_A_FILE_SCAN, f"The key comes from {node.op}, which is not a scan of files.")
