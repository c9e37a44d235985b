"""What goes by the place or the order of its rows: a narrowed scan, whose tasks have other rows, must not feed it.

By place: a sample, and functions such as rand(7) or monotonically_increasing_id(), give a row what its partition and number
say. A scan below one is left alone, over exchanges too: what a shuffle hands on depends on what was put into it.

By order: a limit, first(), row_number() among equal rows. Narrowed scans below keep Spark's own splits: what is left of the rows
comes in the same order and in the same partitions as without filters, as far as Spark itself keeps to an order.

Both end at an aggregate above a shuffle. Its rows are new ones, in an order that no query can rely on; values by place there get
Spark's own splits, for they cost nothing else.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.inputs.settings import PlanSettings
from planner.plan.expressions import shortened, text_of, without_ids
from planner.plan.nodes import (
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
    PlanNode,
    Project,
    QueryStage,
    Union,
)
from planner.plan.proposals import Entry, Proposal
from planner.plan.tree import Plan
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
class ScanPlace:
    """What the place and the order of a scan's rows are used for.

    `refusal`: why its tasks must keep the rows that they have without a filter. `by_order`: something takes rows in their order.
    `reaches_root`: the plan's result has the scan's own rows, joined perhaps, and not groups of them.
    """

    refusal: Refusal | None = None
    by_order: bool = False
    reaches_root: bool = False


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a scan at some node above it.

    `behind`: rows are handed on later than they were read, so the file that is read may be the next one; None past an exchange,
    where no file is. `grouped`: they were shuffled and are groups by now.
    """

    shuffled: bool = False
    grouped: bool = False
    behind: bool | None = False


@dataclass(frozen=True, slots=True)
class _Said:
    """What there is to say of the nodes of a plan, looked up once: the way up from each scan passes many of them again.

    `outspoken`: the nodes that there is anything to say of, few, and in most plans none. `by_chance`: those that may do otherwise
    with the same rows when they run a second time, in order. `alike`: by the number that they share, exchanges of equal rows.
    """

    outspoken: frozenset[int]
    by_chance: Sequence[int]
    alike: Mapping[int, Sequence[int]]


def refuse_by_row_order(plan: Plan, proposal: Proposal) -> Refusal | None:
    """Why a filter would give other rows to what goes by their place, or other rows to the filter than to the join.

    A gate in another stage than the join's may run the build side again (without exchange reuse it does).
    """
    refusal = refuse_by_place(plan, proposal.scan)
    unsteady = chance_in(plan, proposal.source) if proposal.gate and refusal is None else None
    if unsteady is None:
        return refusal
    return Refusal(NOT_DETERMINISTIC, f"{unsteady.op} in the build side may give other rows to the filter than to the join.")


def with_splits_kept(plan: Plan, settings: PlanSettings, entries: Iterable[Entry]) -> list[Entry]:
    """The entries, their filters with what they must leave as it is (`Proposal.keep_splits`)."""
    return [
        replace(entry, proposal=replace(entry.proposal, keep_splits=True))
        if entry.proposal is not None and keeps_splits(plan, entry.proposal.scan, settings.goes_on)
        else entry
        for entry in entries
    ]


def refuse_by_place(plan: Plan, scan: int) -> Refusal | None:
    """Why the tasks of a scan must keep the rows that they have without a filter."""
    return _place_of(plan, scan).refusal if _said(plan).outspoken else None


def keeps_splits(plan: Plan, scan: int, goes_on: bool) -> bool:
    """Whether a narrowed scan must keep Spark's own splits. `goes_on`: what is made of the plan's rows is not known."""
    if not goes_on and not _said(plan).outspoken:
        return False
    place = _place_of(plan, scan)
    return place.by_order or (goes_on and place.reaches_root)


def chance_in(plan: Plan, source: int) -> PlanNode | None:
    """A node of a subtree that may do otherwise with the same rows when it runs a second time."""
    by_chance = _said(plan).by_chance
    first = bisect_left(by_chance, source)
    return plan.nodes[by_chance[first]] if first < len(by_chance) and by_chance[first] < plan.ends[source] else None


def _place_of(plan: Plan, scan: int) -> ScanPlace:
    known: dict[int | None, ScanPlace] = plan.found[__name__]
    if scan not in known:
        known[scan] = _looked_up(plan, scan)
    return known[scan]


def _said(plan: Plan) -> _Said:
    known: dict[int | None, _Said] = plan.found[__name__]
    # None stands for the whole plan.
    found = known.get(None)
    if found is None:
        alike: dict[int, list[int]] = defaultdict(list)
        outspoken, by_chance = set(), []
        for node in plan.nodes:
            if isinstance(node, Exchange | QueryStage) and node.same is not None:
                alike[node.same].append(node.id)
                outspoken.add(node.id)
            steady = plan.is_deterministic(node.id)
            by_name = isinstance(node, OtherNode) and (_takes_by_place(node) or _goes_by_order(node))
            if not steady or by_name or node.by_order is not None or node.asks_for_file:
                outspoken.add(node.id)
            if (not steady and _value_by_place(node) is not None) or (by_name and _takes_some(node)):
                by_chance.append(node.id)
        found = known[None] = _Said(frozenset(outspoken), tuple(by_chance), alike)
    return found


def _looked_up(plan: Plan, scan: int) -> ScanPlace:
    """Up from a scan, above all uses of what is computed once for several."""
    by_order = reaches_root = False
    outspoken = _said(plan).outspoken
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
        if at in outspoken:
            refusal = _refusal(plan, node, rows)
            if refusal is not None:
                return ScanPlace(refusal)
            by_order = by_order or _value_by_place(node) is not None or (not rows.grouped and _goes_by_order(node))
            stack += [(plan.parents[use], above) for use in _other_uses(plan, node)]
        stack.append((plan.parents[at], above))
    return ScanPlace(None, by_order, reaches_root)


def _other_uses(plan: Plan, node: PlanNode) -> Iterator[int]:
    if isinstance(node, Exchange | QueryStage) and node.same is not None:
        yield from (each for each in _said(plan).alike[node.same] if each != node.id)


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
        return Refusal(NOT_DETERMINISTIC, f"{node.op} above the scan takes rows by their place, which a filter would change.")
    value = _value_by_place(node)
    if value is not None and (not rows.grouped or isinstance(node, Filter)):
        return Refusal(
            NOT_DETERMINISTIC,
            f"{node.op} above the scan computes {value}, which depends on the place of a row, and a filter would change that.",
        )
    if node.asks_for_file and rows.behind:
        return Refusal(
            NOT_DETERMINISTIC,
            f"{node.op} above the scan asks for the file that is read, and rows come to it when that is another one already.",
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


def _takes_some(node: PlanNode) -> bool:
    """Whether an operator takes some rows and leaves others, which may be others when it runs a second time."""
    return any(name in node.op for name in (*_TAKES_BY_PLACE, *_TAKES_BY_ORDER))
