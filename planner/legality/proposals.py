"""What one join could filter: in which direction, with which keys, which scans; by legality alone, whatever it costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.cost.sizes import Estimates
from planner.inputs.filter_history import Traits, refuse_lost
from planner.inputs.settings import PlanSettings
from planner.inputs.table_hints import refuse_by_cost, settings_for
from planner.legality.join_sides import refuse_to_filter
from planner.legality.lineage import SHUFFLE, Branch, ProbeColumn, trace
from planner.legality.row_order import chance_in, refuse_by_place
from planner.plan.expressions import Expression, OtherExpression, Shifted, innermost, raises_past_its_type_only
from planner.plan.filter_traits import traits_of
from planner.plan.labels import label_key
from planner.plan.nodes import BROADCAST, LEFT, RIGHT, Join, PlanNode, Scan, other_side
from planner.plan.shifts import UNMOVED, Shift
from planner.plan.stages import may_change_when_recomputed, source_of
from planner.plan.tree import Plan
from planner.plan.types import is_collated
from planner.reasons import DUPLICATE_KEY, KEY_TYPE, MAY_RAISE, NOT_DETERMINISTIC, NULL_SAFE_PAIR, SOURCE_NOT_EXCHANGED, Refusal


@dataclass(frozen=True, slots=True)
class Proposal:
    """A filter that would be right: keys `keys` of `join`, read off `source`, filter `columns`, all of one scan.

    `across`: the join over whose equality the filter reaches the scan, if it does. `shift`: how the key is made of the column.
    """

    join: int
    keys: tuple[int, ...]
    build_side: str
    source: int
    columns: tuple[ProbeColumn, ...]
    keep_nulls: bool
    gate: bool
    ahead: str | None
    across: int | None = None
    shift: Shift = UNMOVED

    @property
    def scan(self) -> int:
        return self.columns[0].scan

    @property
    def shows_in(self) -> int:
        """The join whose result has no row less by the filter: what it drops, that join drops anyway."""
        return self.join if self.across is None else self.across


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the answer: a proposal, or why there is none.

    `pair` names both keys, `target` what would be filtered (empty where no scan was reached); neither changes at a re-plan.
    """

    pair: str
    target: str
    join: int
    keys: tuple[int, ...]
    build: str
    probe: str
    scan: int | None
    proposal: Proposal | None
    refusal: Refusal | None


@dataclass(frozen=True, slots=True)
class _Direction:
    """One of a join's two directions."""

    plan: Plan
    settings: PlanSettings
    join: Join
    probe_side: str
    source: int | None

    @property
    def build_side(self) -> str:
        return other_side(self.probe_side)


def propose_filters(estimates: Estimates, settings: PlanSettings, join: Join, whole_query: Refusal | None) -> tuple[Entry, ...]:
    """The entries of one join.

    A broadcast join filters its streamed side. Of two legal directions of a shuffled join one is taken, for each would make the
    other wait: the side that is estimated smaller builds, unless only the other direction has a scan to filter.
    """
    plan = estimates.plan
    first: tuple[Entry, ...] | None = None
    for side in _probe_sides(estimates, join):
        entries = _entries(_Direction(plan, settings, join, side, source_of(plan, join, other_side(side))), whole_query)
        if any(entry.proposal for entry in entries):
            return entries
        first = entries if first is None else first
    return first or ()


def _probe_sides(estimates: Estimates, join: Join) -> tuple[str, ...]:
    """The sides that may be filtered, the better one first; one that may not where there is no other."""
    if join.kind == BROADCAST:
        return (join.streamed_side or LEFT,)
    legal = tuple(side for side in (LEFT, RIGHT) if refuse_to_filter(join.join_type, side, join.null_aware) is None)
    if len(legal) == 2:
        build = estimates.smaller_side(join)
        return other_side(build), build
    return legal or (LEFT,)


def _entries(direction: _Direction, whole_query: Refusal | None) -> tuple[Entry, ...]:
    join = direction.join
    refusal = whole_query or _refuse_direction(direction)
    taken: set[tuple[int, int, str]] = set()
    return tuple(entry for key in range(len(join.left_keys)) for entry in _entries_of_key(direction, key, refusal, taken))


def _refuse_direction(direction: _Direction) -> Refusal | None:
    """Why no key of a join may filter its probe side."""
    plan, join = direction.plan, direction.join
    refusal = refuse_to_filter(join.join_type, direction.probe_side, join.null_aware)
    if refusal is not None:
        return refusal
    if join.may_raise:
        return Refusal(MAY_RAISE, "The join itself can raise an error, and a filter could drop the row that raises it.")
    if direction.source is None:
        return Refusal(
            SOURCE_NOT_EXCHANGED,
            f"{join.op} gets its build side without an exchange, row by row: its keys are not known before the join runs.",
        )
    unsteady = may_change_when_recomputed(plan, direction.source)
    if unsteady is not None:
        return Refusal(
            NOT_DETERMINISTIC, f"{unsteady.op} in the build side may give other rows when a lost part of it is computed again."
        )
    return None


def _entries_of_key(direction: _Direction, key: int, refusal: Refusal | None, taken: set[tuple[int, int, str]]) -> Iterator[Entry]:
    plan, join = direction.plan, direction.join
    probe, build = join.keys_of(direction.probe_side)[key], join.keys_of(direction.build_side)[key]
    build_label = label_key(plan, join.child_of(direction.build_side), build)
    pair = f"{identity(join.left_keys[key])}|{identity(join.right_keys[key])}"
    refusal = refusal or _refuse_key(probe, build) or _refuse_raising(direction, key)
    if refusal is not None:
        branches: tuple[Branch, ...] = (Branch(None, refusal, False, None, False, None),)
    else:
        branches = trace(plan, join.child_of(direction.probe_side), probe, direction.settings.field_id_read)
    for branch in branches:
        column, why = branch.column, branch.refusal
        if column is None:
            label = label_key(plan, join.child_of(direction.probe_side), probe)
            yield Entry(pair, "", join.id, (key,), build_label, label, None, None, why)
            continue
        place = (column.scan, column.column, identity(build))
        if why is None and place in taken:
            why = Refusal(DUPLICATE_KEY, "The same pair of columns is a key of this join already.")
        taken.add(place)
        why = why or _refuse_scan(direction, column)
        proposal = None if why is not None else _proposal(direction, key, branch, column)
        if proposal is not None:
            why = (
                _refuse_second_run(plan, proposal)
                or _refuse_early_error(plan, proposal)
                or refuse_by_past(plan, direction.settings, proposal)
            )
            proposal = proposal if why is None else None
        target = target_id((column,))
        yield Entry(pair, target, join.id, (key,), build_label, probe_label(column), column.scan, proposal, why)


def _refuse_raising(direction: _Direction, key: int) -> Refusal | None:
    """A row that the filter of one key drops must not be one on which another key, or more than a shift of this one, would fail."""
    keys = direction.join.keys_of(direction.probe_side)
    if raises_past_its_type_only(keys[key]) and not any(other.may_raise for other in (*keys[:key], *keys[key + 1 :])):
        return None
    return Refusal(
        MAY_RAISE, "Computing a key of the probe side can raise an error, and a filter could drop the row that raises it."
    )


def _refuse_scan(direction: _Direction, column: ProbeColumn) -> Refusal | None:
    """Why a scan gets no filter from this join, right as it would be."""
    scan = direction.plan.nodes[column.scan]
    assert isinstance(scan, Scan)
    return refuse_by_cost(direction.settings, scan.hints, scan.table) or refuse_by_place(direction.plan, column.scan)


def _refuse_second_run(plan: Plan, proposal: Proposal) -> Refusal | None:
    """A gate in another stage than the join's may run the build side again (without exchange reuse it does): to the same rows."""
    unsteady = chance_in(plan, proposal.source) if proposal.gate else None
    if unsteady is None:
        return None
    return Refusal(NOT_DETERMINISTIC, f"{unsteady.op} in the build side may give other rows to the filter than to the join.")


def _only_moves(node: PlanNode) -> bool:
    """Whether a node can fail only by adding a number to a column past the end of its type, as keys such as k + 1 do."""
    return not node.may_raise and all(raises_past_its_type_only(expr) for expr in (*node.moved, *node.expressions()))


def _refuse_early_error(plan: Plan, proposal: Proposal) -> Refusal | None:
    """A scan that waits makes the build side run first. Where the probe side is empty Spark may never run the build side.

    Checked on 4.3: adaptive execution drops an inner join as soon as one side has ended without a row.
    """
    below = plan.raising_below(proposal.source) if proposal.gate else iter(())
    raising = next((node for node in below if not _only_moves(node)), None)
    if raising is None:
        return None
    what = (
        f"{raising.op} in the build side can raise an error, and Spark does not run it if the probe side ends first without a row."
    )
    return Refusal(MAY_RAISE, what)


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


def _proposal(direction: _Direction, key: int, branch: Branch, column: ProbeColumn) -> Proposal:
    assert direction.source is not None, "a direction without a source is refused"
    shuffled = direction.join.kind != BROADCAST
    return Proposal(
        join=direction.join.id,
        keys=(key,),
        build_side=direction.build_side,
        source=direction.source,
        columns=(column,),
        keep_nulls=branch.keep_nulls,
        gate=shuffled or branch.other_stage,
        ahead=SHUFFLE if shuffled else branch.ahead,
        across=branch.across,
        shift=branch.shift,
    )


def traits_of_proposal(plan: Plan, settings: PlanSettings, proposal: Proposal) -> Traits:
    """What a later query finds the filter by."""
    scan = plan.nodes[proposal.scan]
    assert isinstance(scan, Scan)
    build = (proposal.join, proposal.build_side, proposal.keys)
    probe = (proposal.scan, tuple(column.column for column in proposal.columns))
    return traits_of(plan, build, proposal.source, probe, settings_for(settings, scan.hints, scan.table).means)


def refuse_by_past(plan: Plan, settings: PlanSettings, proposal: Proposal) -> Refusal | None:
    """Why a filter is not tried again; only cost=auto forgoes one."""
    scan = plan.nodes[proposal.scan]
    assert isinstance(scan, Scan)
    if settings.recall is None or settings_for(settings, scan.hints, scan.table).cost != "auto":
        return None
    return refuse_lost(settings.recall(traits_of_proposal(plan, settings, proposal)))


def probe_label(column: ProbeColumn) -> str:
    return f"{column.table}.{column.name}"


def target_id(columns: tuple[ProbeColumn, ...]) -> str:
    """What is filtered, by names and expression ids: neither changes at a re-plan."""
    return ",".join(f"{probe_label(column)}#{column.column}" for column in columns)


def identity(expr: Expression) -> str:
    """What an expression is, casts and wrappers aside: they follow from the types."""
    inner = innermost(expr)
    if isinstance(inner, Shifted):
        return f"{'-' if inner.sign < 0 else ''}{identity(inner.child)}{inner.by:+d}"
    return inner.text if isinstance(inner, OtherExpression) else str(inner.id)
