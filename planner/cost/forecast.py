"""What a filter is expected to bring before its build side is there: is it worth a placeholder, a gate and its wait?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.cost.formulas import (
    IDLE_SHARE,
    LAYOUT_SHARE,
    STAKE_MS,
    RowTest,
    collect_ms,
    idle_ms,
    idle_share,
    least_gain_ms,
    packs_gain_ms,
    row_test,
    row_test_pays,
    rows_gain_ms,
    scan_row_ns,
    semi_join_share,
    share_let_through,
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
from planner.legality.proposals import Proposal
from planner.plan.nodes import BROADCAST, BROADCAST_EXCHANGE, Exchange, Join, QueryStage, Scan
from planner.plan.types import is_whole_number
from planner.plan.widths import row_bytes, value_bytes
from planner.reasons import BUILD_NOT_SMALLER, FILL_DOES_NOT_PAY, WAIT_DOES_NOT_PAY, Refusal

# A filter is not read off more rows than this share of the probe side's, nor, whatever the probe side has, off more than the
# most; the least are always read: they take no time.
MOST_BUILD_SHARE = 1 / 3
LEAST_BUILD_ROWS, MOST_BUILD_ROWS = 100_000, 50_000_000
# So many times the rows that were expected are another build side, of which the planner has to be asked.
TIMES_EXPECTED = 2.0


@dataclass(frozen=True, slots=True)
class Forecast:
    """Expected gain and cost of a filter in ms of wall time, both None where the size of the scan or the build side is not known.

    `work` is what comes back with the fill; `build_rows` is None where nothing is known of them, and with more than
    `most_build_rows` of them the filter is not filled. `gate_ms` is the part of `cost_ms` that any wait takes.
    """

    work: RowWork
    most_build_rows: int
    build_rows: float | None = None
    gain_ms: float | None = None
    cost_ms: float | None = None
    gate_ms: float = 0.0

    @property
    def net_ms(self) -> float | None:
        return None if self.gain_ms is None or self.cost_ms is None else self.gain_ms - self.cost_ms


def forecast(estimates: Estimates, settings: PlanSettings, proposal: Proposal, observed: Observed | None = None) -> Forecast:
    """The forecast of one filter, beside what counts as a reduction of its scan already.

    `observed`: what it let through the last time, with the same literals, which says more than an estimate.
    """
    plan, machine = estimates.plan, settings.machine
    scan = plan.nodes[proposal.scan]
    assert isinstance(scan, Scan)
    work = work_of_rows(estimates, scan.id, proposal.join)
    found = estimates.rows_found(scan.id)
    build, rows = estimates.size_of(proposal.source), rows_of_scan(scan)
    if build is None or found is None or rows is None:
        asked = replace(work, wait_ms=machine.constants.round_trip_ms)
        return Forecast(asked, most_build_rows(scan), None if build is None else build.rows)
    distinct = _most_distinct(scan, proposal)
    estimated = semi_join_share(build.kept, build.rows, rows, distinct)
    share = estimated if observed is None else observed.share_of(estimated)
    wait_ms = _wait_ms(estimates, settings, proposal, build.rows)
    work = replace(work, kept=share, wait_ms=wait_ms)
    own = settings_for(settings, scan.hints, scan.table)
    # What earlier filters have left, as rows of the scan: what they drop, this one gains nothing by.
    left = found / work.tested
    beside = estimates.share_of_equal(scan.id, tuple(column.column for column in proposal.columns), proposal.across is not None)
    passed = share if observed is not None else min(share / beside, 1.0)
    kind, keys = expected_kind(own.kinds), min(build.rows, distinct or build.rows)
    # What the keys' span will be is not known: at most that of the column's values, of which few lack.
    span = distinct if len(proposal.columns) == 1 and is_whole_number(proposal.columns[0].type) else None
    test = row_test(work, kind, keys, span)
    saved_ms = _saved_ms(own, work, test, left, passed, None if observed is None else observed.packs_with(share))
    # A filter whose keys weigh more than it saves is not sent: that is seen when it is filled. Of few values a bitmap is sent.
    shipped_ms = ship_ms(machine, kind, keys, span)
    gain_ms = max(saved_ms - shipped_ms, 0.0)
    gate_ms = machine.constants.gate_ms if _waits(estimates, proposal) else 0.0
    return Forecast(work, most_build_rows(scan), build.rows, gain_ms, wait_ms, gate_ms)


def _saved_ms(
    settings: PlanSettings, work: RowWork, test: RowTest, rows: float, share: float, in_kept_packs: float | None
) -> float:
    """What rejected packs and dropped rows save of a scan's `rows` rows, of which `share` has a partner.

    `in_kept_packs`: the share of rows in packs that will be kept, None where it can only be guessed.
    """
    machine = settings.machine
    in_packs = (1.0 - share) * LAYOUT_SHARE if in_kept_packs is None else 1.0 - in_kept_packs
    in_packs = in_packs if settings.packs_enabled else 0.0
    by_packs_ms = packs_gain_ms(machine, work, rows * in_packs, packs=0)
    if test.kind == RANGE and in_kept_packs is None:
        # What has no partner and lies between the ends of a range nobody knows before.
        return by_packs_ms
    # Of rows in packs that were kept more pass than of all.
    passed = share if in_kept_packs is None else min(share / in_kept_packs, 1.0) if in_kept_packs else 1.0
    let_through = share_let_through(test.kind, passed, settings.bloom_fpp)
    if not row_test_pays(machine, test.work, test.kind, let_through):
        return by_packs_ms
    return by_packs_ms + rows_gain_ms(machine, test.work, test.kind, let_through, rows * (1.0 - in_packs))


def expected_kind(kinds: Sequence[str]) -> str:
    """The kind that a filter will be of those allowed: keys worth waiting for are rarely too many to be held exactly."""
    return next((kind for kind in (SET, BLOOM) if kind in kinds), RANGE)


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
    least_ms = least_gain_ms(forecast.cost_ms, forecast.gate_ms)
    if forecast.gain_ms >= least_ms:
        return None
    return Refusal(
        WAIT_DOES_NOT_PAY,
        f"Waiting for {_rows_text(forecast)} and reading their keys is expected to cost {forecast.cost_ms:,.0f} ms and to save "
        f"{forecast.gain_ms:,.0f} ms in {table}: less than the {least_ms:,.0f} ms that make up for wrong guesses of sizes.",
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


def most_build_rows(scan: Scan) -> int:
    """Rows of a build side from which a filter for `scan` is not filled; a scan of unknown size sets no bound of its own.

    This is what is left where a guess was far off: more rows than this can neither be collected in no time nor are they a small
    part of what the probe side has.
    """
    rows = rows_of_scan(scan)
    if rows is None:
        return MOST_BUILD_ROWS
    return round(min(max(rows * MOST_BUILD_SHARE, LEAST_BUILD_ROWS), MOST_BUILD_ROWS))


def rows_that_hold(estimates: Estimates, source: int) -> int:
    """The most rows of a stage of a build side with which what was planned for it holds: twice what was expected of the largest."""
    plan = estimates.plan
    parts = [node.id for node in plan.nodes[source : plan.ends[source]] if isinstance(node, Exchange | QueryStage)]
    expected = [size.rows for part in parts if (size := estimates.size_of(part)) is not None]
    return round(max(TIMES_EXPECTED * max(expected, default=0.0), LEAST_BUILD_ROWS))


def _rows_text(forecast: Forecast) -> str:
    return counted(forecast.build_rows or 0, "build row")


def _most_distinct(scan: Scan, proposal: Proposal) -> int | None:
    """The most distinct values that one of the filtered columns is known to have."""
    wanted = {column.column for column in proposal.columns}
    known = [column.distinct for column in scan.columns if column.id in wanted and column.distinct is not None]
    return max(known, default=None)


def _wait_ms(estimates: Estimates, settings: PlanSettings, proposal: Proposal, build_rows: float) -> float:
    """Until what becomes of the filter is known: reading keys, a question to the host, and with a gate cores that idle before."""
    join = estimates.plan.nodes[proposal.join]
    assert isinstance(join, Join)
    keys_ms = collect_ms(settings.machine, build_rows, join.kind != BROADCAST, settings.job_from_rows)
    keys_ms += settings.machine.constants.round_trip_ms
    if not _waits(estimates, proposal):
        return keys_ms
    return keys_ms + idle_ms(settings.machine, _idle_ns(estimates, settings.machine, proposal.source))


def _waits(estimates: Estimates, proposal: Proposal) -> bool:
    """Whether the stage of the scan would start before the build side is there."""
    source = estimates.plan.nodes[proposal.source]
    return proposal.gate and not (isinstance(source, QueryStage) and source.materialized)


def _idle_ns(estimates: Estimates, machine: Machine, source: int) -> float:
    """Core time that a build side leaves idle still: at the end of its scans and of its shuffles, as far as they have not run."""
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
