"""What goes by the place or the order of its rows: a narrowed scan, whose tasks have other rows, must not feed it.

By place: a sample, and functions such as rand(7) or monotonically_increasing_id(), give a row what its partition and number
say. A scan below one is left alone, over exchanges too: what a shuffle hands on depends on what was put into it.

By order: a limit, first(), row_number() among equal rows. Narrowed scans below keep Spark's own splits: what is left of the rows
comes in the same order and in the same partitions as without filters, as far as Spark itself keeps to an order.

Both end at an aggregate above a shuffle. Its rows are new ones, in an order that no query can rely on; values by place there get
Spark's own splits, for they cost nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.expressions import shortened, text_of, without_ids
from planner.nodes import (
    BROADCAST,
    BROADCAST_EXCHANGE,
    NESTED_LOOP,
    WRAPPERS,
    Aggregate,
    Exchange,
    Expand,
    Filter,
    Generate,
    Join,
    OtherNode,
    Plan,
    PlanNode,
    Project,
    QueryStage,
    ScanPlace,
    Union,
)
from planner.reasons import NOT_DETERMINISTIC, Refusal

# By name, of operators that have no kind of their own.
_TAKES_BY_PLACE = ("Sample",)
_TAKES_BY_ORDER = ("Limit", "TakeOrdered", "Tail")
# What a user's function makes of the rows that it gets one after the other.
_GIVES_BY_ORDER = (
    *("InPandas", "InArrow", "AggregatePython", "MapPartitions", "MapGroups", "CoGroup", "ScriptTransformation"),
    "DeserializeToObject",
)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a scan at some node above it.

    `behind`: rows are handed on later than they were read, so the file that is read may be the next one; None past an exchange,
    where no file is. `grouped`: they were shuffled and are groups by now.
    """

    shuffled: bool = False
    grouped: bool = False
    behind: bool | None = False


def refuse_by_place(plan: Plan, scan: int) -> Refusal | None:
    """Why the tasks of a scan must keep the rows that they have without a filter."""
    return _place_of(plan, scan).refusal if _outspoken(plan) else None


def keeps_splits(plan: Plan, scan: int, goes_on: bool) -> bool:
    """Whether a narrowed scan must keep Spark's own splits. `goes_on`: what is made of the plan's rows is not known."""
    if not goes_on and not _outspoken(plan):
        return False
    place = _place_of(plan, scan)
    return place.by_order or (goes_on and place.reaches_root)


def chance_in(plan: Plan, source: int) -> PlanNode | None:
    """A node of a subtree that may do otherwise with the same rows when it runs a second time."""
    return next((node for node in plan.subtree(source) if _goes_by_chance(node)), None)


def _place_of(plan: Plan, scan: int) -> ScanPlace:
    if scan not in plan.places:
        plan.places[scan] = _looked_up(plan, scan)
    return plan.places[scan]


def _outspoken(plan: Plan) -> frozenset[int]:
    """The nodes that there is anything to say of: few, and in most plans none."""
    if not plan.outspoken:
        plan.outspoken.append(frozenset(node.id for node in plan.nodes if _is_outspoken(plan, node)))
    return plan.outspoken[0]


def _is_outspoken(plan: Plan, node: PlanNode) -> bool:
    if node.by_order is not None or node.asks_for_file or not plan.is_deterministic(node.id):
        return True
    if isinstance(node, Exchange | QueryStage):
        return node.same is not None
    return isinstance(node, OtherNode) and (_takes_by_place(node) or _goes_by_order(node))


def _looked_up(plan: Plan, scan: int) -> ScanPlace:
    """Up from a scan, above all uses of what is computed once for several."""
    by_order = reaches_root = False
    stack, seen = [(plan.parents[scan], _Rows())], {scan}
    while stack:
        at, rows = stack.pop()
        if at < 0:
            reaches_root = reaches_root or not rows.grouped
        if at < 0 or at in seen:
            continue
        seen.add(at)
        node = plan.nodes[at]
        above = _past(node, rows)
        if at in _outspoken(plan):
            refusal = _refusal(plan, node, rows)
            if refusal is not None:
                return ScanPlace(refusal)
            by_order = by_order or _value_by_place(node) is not None or (not rows.grouped and _goes_by_order(node))
            stack += [(plan.parents[use], above) for use in _other_uses(plan, node)]
        stack.append((plan.parents[at], above))
    return ScanPlace(None, by_order, reaches_root)


def _other_uses(plan: Plan, node: PlanNode) -> Iterator[int]:
    if isinstance(node, Exchange | QueryStage) and node.same is not None:
        alike = (each for each in plan.nodes if isinstance(each, Exchange | QueryStage) and each.same == node.same)
        yield from (each.id for each in alike if each.id != node.id)


def _past(node: PlanNode, rows: _Rows) -> _Rows:
    if isinstance(node, Exchange | QueryStage):
        is_shuffle = node.shuffle if isinstance(node, QueryStage) else node.kind != BROADCAST_EXCHANGE
        return _Rows(rows.shuffled or is_shuffle, rows.grouped, behind=None)
    grouped = rows.grouped or (isinstance(node, Aggregate) and rows.shuffled and not _goes_by_order(node))
    behind = rows.behind if rows.behind is not False or _hands_on_at_once(node) else True
    return rows if (grouped, behind) == (rows.grouped, rows.behind) else _Rows(rows.shuffled, grouped, behind)


def _hands_on_at_once(node: PlanNode) -> bool:
    if isinstance(node, Join):
        return node.kind in (BROADCAST, NESTED_LOOP) and node.build_side is not None
    if isinstance(node, OtherNode):
        return node.op.startswith((*WRAPPERS, "RtFilter", *_TAKES_BY_PLACE, "LocalLimit", "GlobalLimit", "CollectLimit"))
    return isinstance(node, Project | Filter | Union | Generate | Expand)


def _refusal(plan: Plan, node: PlanNode, rows: _Rows) -> Refusal | None:
    if _takes_by_place(node):
        return Refusal(NOT_DETERMINISTIC, f"{node.op} above takes rows by their place, which a filter would change.")
    value = _value_by_place(node)
    if value is not None and (not rows.grouped or isinstance(node, Filter)):
        return Refusal(
            NOT_DETERMINISTIC,
            f"{node.op} above has {value}, which may give a row another value at another place, and a filter changes places.",
        )
    if node.asks_for_file and rows.behind:
        return Refusal(
            NOT_DETERMINISTIC,
            f"{node.op} above asks for the file that is read, which may be another one than the row's: rows come to it later.",
        )
    unsteady = chance_in(plan, node.id) if isinstance(node, Exchange) and node.same is not None else None
    if unsteady is not None:
        what = f"{unsteady.op} is computed once for several uses"
        return Refusal(NOT_DETERMINISTIC, f"{what}, which would each get other rows of it if their filters came to differ.")
    return None


def _takes_by_place(node: PlanNode) -> bool:
    return isinstance(node, OtherNode) and any(name in node.op for name in _TAKES_BY_PLACE)


def _value_by_place(node: PlanNode) -> str | None:
    """What a node evaluates that goes by the place of a row, in words. What is not deterministic in another way may do so too."""
    text = node.by_place
    if text is None:
        text = next((text_of(expr) for expr in node.expressions() if not expr.deterministic), None)
    if text is None and isinstance(node, OtherNode) and not node.deterministic:
        text = ""
    if text is None:
        return None
    return shortened(without_ids(text)) or "a function that is not deterministic"


def _goes_by_order(node: PlanNode) -> bool:
    if node.by_order is not None:
        return True
    return isinstance(node, OtherNode) and any(name in node.op for name in (*_TAKES_BY_ORDER, *_GIVES_BY_ORDER))


def _goes_by_chance(node: PlanNode) -> bool:
    if isinstance(node, OtherNode) and any(name in node.op for name in (*_TAKES_BY_PLACE, *_TAKES_BY_ORDER)):
        return True
    return _value_by_place(node) is not None
