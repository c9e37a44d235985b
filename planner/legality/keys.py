"""The keys of a join: each is followed down the probe side to the scans that it could filter."""

from __future__ import annotations

from collections.abc import Iterator

from planner.inputs.settings import PlanSettings
from planner.inputs.table_hints import refuse_by_cost
from planner.legality.joins import Direction
from planner.legality.lineage import SHUFFLE, Branch, trace
from planner.plan.expressions import Expression, OtherExpression, Shifted, innermost, raises_past_its_type_only
from planner.plan.labels import label_key
from planner.plan.nodes import BROADCAST
from planner.plan.proposals import Entry, Proposal, target_of
from planner.plan.tree import Plan
from planner.plan.types import is_collated
from planner.reasons import DUPLICATE_KEY, KEY_TYPE, MAY_RAISE, NOT_DETERMINISTIC, NULL_SAFE_PAIR, Refusal


def follow_keys(plan: Plan, settings: PlanSettings, direction: Direction) -> list[Entry]:
    """An entry for each key of a join and each scan that it reaches, or one for a key that reaches none."""
    keys = range(len(direction.join.left_keys))
    return [entry for key in keys for entry in _follow_key(plan, settings, direction, key)]


def _follow_key(plan: Plan, settings: PlanSettings, direction: Direction, key: int) -> Iterator[Entry]:
    join = direction.join
    probe, build = join.keys_of(direction.probe_side)[key], join.keys_of(direction.build_side)[key]
    build_label = label_key(plan, join.child_of(direction.build_side), build)
    pair = f"{identity(join.left_keys[key])}|{identity(join.right_keys[key])}"
    refusal = direction.refusal or _refuse_key(probe, build) or _refuse_raising(direction, key)
    branches: tuple[Branch, ...] = (Branch(None, refusal, False, None, False, None),)
    if refusal is None:
        branches = trace(plan, join.child_of(direction.probe_side), probe, settings.field_id_read)
    for branch in branches:
        column, why = branch.column, branch.refusal
        if column is None:
            label = label_key(plan, join.child_of(direction.probe_side), probe)
            yield Entry(pair, "", join.id, (key,), build_label, label, None, None, why)
            continue
        proposal = None if why is not None else _proposal(direction, key, branch)
        label = f"{column.table}.{column.name}"
        yield Entry(pair, target_of((column,)), join.id, (key,), build_label, label, column.scan, proposal, why)


def refuse_repeated_keys(direction: Direction, entries: list[Entry]) -> list[Entry]:
    """The entries of a direction: the same two columns may be a key of the join twice, and one filter is enough."""
    build = direction.join.keys_of(direction.build_side)
    found, taken = [], set()
    for entry in entries:
        place = (entry.scan, entry.target, identity(build[entry.keys[0]]))
        if entry.scan is not None and entry.proposal is not None and place in taken:
            entry = entry.refused(Refusal(DUPLICATE_KEY, "The same pair of columns is a key of this join already."))
        taken.add(place)
        found.append(entry)
    return found


def refuse_by_hint(plan: Plan, settings: PlanSettings, proposal: Proposal) -> Refusal | None:
    """Why users want no filter on a scan."""
    scan = plan.scan(proposal.scan)
    return refuse_by_cost(settings, scan.hints, scan.table)


def _refuse_raising(direction: Direction, key: int) -> Refusal | None:
    """A row that the filter of one key drops must not be one on which another key, or more than a shift of this one, would fail."""
    keys = direction.join.keys_of(direction.probe_side)
    if raises_past_its_type_only(keys[key]) and not any(other.may_raise for other in (*keys[:key], *keys[key + 1 :])):
        return None
    return Refusal(
        MAY_RAISE, "Computing a key of the probe side can raise an error, and a filter could drop the row that raises it."
    )


def _refuse_key(probe: Expression, build: Expression) -> Refusal | None:
    inner = innermost(probe)
    wrapped = isinstance(inner, OtherExpression) and inner.text.lower().startswith("collationkey(")
    if wrapped or is_collated(probe.type):
        what = "a collated string" if wrapped else f"of type {probe.type}"
        return Refusal(KEY_TYPE, f"The key is {what}: equal values may differ in their bytes, and filters go by bytes.")
    if all(isinstance(key, OtherExpression) and key.text.lower().startswith("isnull(") for key in (probe, build)):
        return Refusal(
            NULL_SAFE_PAIR,
            "Spark makes two join keys of <=>: this one says only whether a side is null, and the other one can carry the filter.",
        )
    if not build.deterministic:
        return Refusal(NOT_DETERMINISTIC, "The build side's key is computed by an expression that is not deterministic.")
    # A build side's key that can fail has been computed for every row before its values are read.
    return None


def _proposal(direction: Direction, key: int, branch: Branch) -> Proposal:
    assert direction.source is not None and branch.column is not None, "what is refused is no proposal"
    shuffled = direction.join.kind != BROADCAST
    return Proposal(
        join=direction.join.id,
        keys=(key,),
        build_side=direction.build_side,
        source=direction.source,
        columns=(branch.column,),
        keep_nulls=branch.keep_nulls,
        gate=shuffled or branch.other_stage,
        ahead=SHUFFLE if shuffled else branch.ahead,
        across=branch.across,
        shift=branch.shift,
    )


def identity(expr: Expression) -> str:
    """What an expression is, casts and wrappers aside: they follow from the types."""
    inner = innermost(expr)
    if isinstance(inner, Shifted):
        return f"{'-' if inner.sign < 0 else ''}{identity(inner.child)}{inner.by:+d}"
    return inner.text if isinstance(inner, OtherExpression) else str(inner.id)
