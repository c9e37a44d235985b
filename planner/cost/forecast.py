"""What a filter is expected to bring before its build side is there: is it worth a placeholder, a gate and its wait?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.cost.formulas import (
    IDLE_SHARE,
    expected_saving_ms,
    expected_wait_ms,
    idle_share,
    row_test,
    scan_row_ns,
    semi_join_share,
    ship_ms,
)
from planner.cost.sizes import Estimates, rows_of_scan
from planner.cost.work_ahead import work_of_rows
from planner.counted import counted
from planner.inputs.filter_history import Observed
from planner.inputs.machine import Machine
from planner.inputs.row_work import RowWork
from planner.inputs.settings import BLOOM, RANGE, SET, PlanSettings
from planner.inputs.table_hints import settings_for
from planner.plan.nodes import BROADCAST, BROADCAST_EXCHANGE, Exchange, QueryStage, Scan
from planner.plan.proposals import Proposal
from planner.plan.tree import Plan
from planner.plan.types import is_whole_number
from planner.plan.widths import row_bytes, value_bytes
from planner.reasons import BUILD_NOT_SMALLER, FILL_DOES_NOT_PAY, WAIT_DOES_NOT_PAY, Refusal

# A filter is not read off more rows than this share of the probe side's, nor, whatever the probe side has, off more than the
# most; the least are always read: they take no time.
MOST_BUILD_SHARE = 1 / 3
LEAST_BUILD_ROWS, MOST_BUILD_ROWS = 100_000, 50_000_000
# A wait must be expected to bring in this many times what it costs by the sizes, which are guesses, and so many times what any wait
# takes, which is no guess, but no more certain than the other times of a machine either.
WAIT_MARGIN, GATE_MARGIN = 2.0, 1.5
# What may be lost on a fill that only might pay: less than what a user can see.
STAKE_MS = 10.0


@dataclass(frozen=True, slots=True)
class Forecast:
    """Expected gain and cost of a filter in ms of wall time, both None where the size of the scan or the build side is not known.

    `work` is what comes back with the fill; `build_rows` is None where nothing is known of them, and with more than
    `most_build_rows` of them the filter is not filled. `least_gain_ms` is what it must gain to be worth a wait.
    """

    work: RowWork
    most_build_rows: int
    build_rows: float | None = None
    gain_ms: float | None = None
    cost_ms: float | None = None
    least_gain_ms: float = 0.0


def forecast(estimates: Estimates, settings: PlanSettings, proposal: Proposal, observed: Observed | None = None) -> Forecast:
    """The forecast of one filter, beside what counts as a reduction of its scan already.

    `observed`: what it let through the last time, with the same literals, which says more than an estimate.
    """
    plan, machine = estimates.plan, settings.machine
    scan = plan.scan(proposal.scan)
    distinct, waits = _most_distinct(scan, proposal), _waits(plan, proposal)
    own = settings_for(settings, scan.hints, scan.table)
    kind = expected_kind(own.kinds)
    work = work_of_rows(estimates, scan.id, proposal.join)
    found = estimates.rows_found(scan.id)
    build, rows = estimates.size_of(proposal.source), rows_of_scan(scan)
    if build is None or found is None or rows is None:
        asked = replace(work, wait_ms=machine.constants.round_trip_ms)
        return Forecast(asked, most_build_rows(rows), None if build is None else build.rows)
    beside = estimates.share_of_equal(scan.id, tuple(column.column for column in proposal.columns), proposal.across is not None)
    idle_ns = _idle_core_ns(estimates, machine, proposal.source) if waits else None
    wait_ms = expected_wait_ms(settings, build.rows, plan.join(proposal.join).kind != BROADCAST, idle_ns)
    estimated = semi_join_share(build.kept, build.rows, rows, distinct)
    share = estimated if observed is None else observed.share_of(estimated)
    work = replace(work, kept=share, wait_ms=wait_ms)
    # What earlier filters have left, as rows of the scan: what they drop, this one gains nothing by.
    left = found / work.tested
    passed = share if observed is not None else min(share / beside, 1.0)
    keys = min(build.rows, distinct or build.rows)
    # What the keys' span will be is not known: at most that of the column's values, of which few lack.
    span = distinct if len(proposal.columns) == 1 and is_whole_number(proposal.columns[0].type) else None
    test = row_test(work, kind, keys, span)
    saved_ms = expected_saving_ms(own, work, test, left, passed, None if observed is None else observed.packs_with(share))
    # A filter whose keys weigh more than it saves is not sent: that is seen when it is filled. Of few values a bitmap is sent.
    gain_ms = max(saved_ms - ship_ms(machine, kind, keys, span), 0.0)
    least_ms = least_gain_ms(wait_ms, machine.constants.gate_ms if waits else 0.0)
    return Forecast(work, most_build_rows(rows), build.rows, gain_ms, wait_ms, least_ms)


def expected_kind(kinds: Sequence[str]) -> str:
    """The kind that a filter will be of those allowed: keys worth waiting for are rarely too many to be held exactly."""
    return next((kind for kind in (SET, BLOOM) if kind in kinds), RANGE)


def most_build_rows(scan_rows: float | None) -> int:
    """Rows of a build side from which a filter for a scan of `scan_rows` is not filled; without these it has no bound of its own.

    This is what is left where a guess was far off: more rows than this can neither be collected in no time nor are they a small
    part of what the probe side has.
    """
    if scan_rows is None:
        return MOST_BUILD_ROWS
    return round(min(max(scan_rows * MOST_BUILD_SHARE, LEAST_BUILD_ROWS), MOST_BUILD_ROWS))


def _most_distinct(scan: Scan, proposal: Proposal) -> int | None:
    """The most distinct values that one of the filtered columns is known to have."""
    wanted = {column.column for column in proposal.columns}
    known = [column.distinct for column in scan.columns if column.id in wanted and column.distinct is not None]
    return max(known, default=None)


def _waits(plan: Plan, proposal: Proposal) -> bool:
    """Whether the stage of the scan would start before the build side is there."""
    source = plan.nodes[proposal.source]
    return proposal.gate and not (isinstance(source, QueryStage) and source.materialized)


def _idle_core_ns(estimates: Estimates, machine: Machine, source: int) -> float:
    """At the end of the scans and of the shuffles of a build side, as far as they have not run."""
    plan, constants = estimates.plan, machine.constants
    total_ns, at = 0.0, source
    while at < plan.ends[source]:
        node = plan.nodes[at]
        if isinstance(node, QueryStage):
            # What has started is waited for in any case by whoever started it.
            at = plan.ends[at]
            continue
        if isinstance(node, Scan):
            width = sum(value_bytes(column.type) for column in node.columns)
            scan_ns = (rows_of_scan(node) or 0.0) * scan_row_ns(RowWork(scan_bytes=width), constants)
            total_ns += idle_share(machine, node.bytes) * scan_ns
        elif isinstance(node, Exchange) and node.kind != BROADCAST_EXCHANGE:
            size = estimates.size_of(at)
            rows = 0.0 if size is None else size.rows
            total_ns += IDLE_SHARE * rows * row_bytes(plan, node) * constants.shuffle_byte_ns
        at += 1
    return total_ns


def refuse_wait(forecast: Forecast, table: str) -> Refusal | None:
    """Why a scan should not wait for a build side. What is not known is not waited for."""
    if forecast.gain_ms is None or forecast.cost_ms is None:
        return Refusal(
            BUILD_NOT_SMALLER, f"The size of the build side or of {table} is not known, and no scan waits for what may not pay."
        )
    if forecast.build_rows is not None and forecast.build_rows > forecast.most_build_rows:
        return Refusal(
            BUILD_NOT_SMALLER,
            f"The build side is expected to have {counted(forecast.build_rows, 'row')}; for a filter of {table} the keys of "
            f"at most {counted(forecast.most_build_rows, 'row')} are read.",
        )
    if forecast.gain_ms >= forecast.least_gain_ms:
        return None
    return Refusal(
        WAIT_DOES_NOT_PAY,
        f"Waiting for {_rows_text(forecast)} and reading their keys is expected to cost {forecast.cost_ms:,.0f} ms and to save "
        f"{forecast.gain_ms:,.0f} ms in {table}: less than the {forecast.least_gain_ms:,.0f} ms that make up for wrong guesses of "
        "sizes.",
    )


def refuse_fill(forecast: Forecast, table: str) -> Refusal | None:
    """Why keys that are there without waiting should not be read; little may be staked on what might pay."""
    if forecast.gain_ms is None or forecast.cost_ms is None or forecast.cost_ms <= max(STAKE_MS, forecast.gain_ms):
        return None
    return Refusal(
        FILL_DOES_NOT_PAY,
        f"Reading the keys of {_rows_text(forecast)} is expected to cost {forecast.cost_ms:,.0f} ms and to save "
        f"{forecast.gain_ms:,.0f} ms in {table}.",
    )


def least_gain_ms(cost_ms: float, gate_ms: float) -> float:
    """What a wait must be expected to save that costs `cost_ms`, `gate_ms` of them whatever the sizes are."""
    return WAIT_MARGIN * (cost_ms - gate_ms) + GATE_MARGIN * gate_ms


def _rows_text(forecast: Forecast) -> str:
    return counted(forecast.build_rows or 0, "build row")
