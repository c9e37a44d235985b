"""What one filter would have saved one call of a query, as a range: in ms and in bytes of reading.

The ends of the range are answers to two questions. How many rows lie in packs that hold a partner? At best just those that have
one, at worst all, or those of the packs that footers leave. How many have a partner at all? Of rows that other joins dropped
before nobody knows. The rest is the planner's own model, with the time that the scan took in the log in place of a constant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.cost.formulas import expected_saving_ms, expected_wait_ms, row_test, ship_ms
from planner.inputs.machine import DEFAULTS, Constants, Machine
from planner.inputs.row_work import RowWork
from planner.inputs.settings import BLOOM, SET, PlanSettings
from planner.plan.types import is_whole_number
from rtfilter.advice.event_logs.queries import QueryFacts, ScanFacts
from rtfilter.estimate.candidates import Candidate
from rtfilter.estimate.tables import PacksKept, Tried

# Bytes of a row of Spark's own format, beside eight for each column.
ROW_BYTES, COLUMN_BYTES = 16.0, 8.0
# No filter takes away more of a query's time than this.
MOST_OF_A_QUERY = 0.95


@dataclass(frozen=True, slots=True)
class Range:
    """From the least to the most."""

    least: float
    most: float

    def plus(self, other: Range) -> Range:
        return Range(self.least + other.least, self.most + other.most)


NOTHING = Range(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Gain:
    """`kept`: the share of the scan's rows in packs that would still be read. `rejected`: the share that never gets to the join."""

    ms: Range
    bytes: Range
    kept: Range


def gain_of(query: QueryFacts, candidate: Candidate, tried: Tried, cores: int) -> Gain:
    """The gain of a candidate, of whose keys `tried` tells what they leave of the packs."""
    packs = tried.packs
    scan = query.scans[candidate.scan]
    settings = PlanSettings("estimate", machine=Machine(_constants(scan), max(cores, 1)))
    fewest, most = _shares(query, candidate, tried.key_share)
    most_kept = packs.rows_kept / packs.rows if packs is not None and packs.rows else 1.0
    least_kept = _least_kept(candidate, tried, fewest, most_kept)
    worst = max(0.0, _net_ms(settings, query, candidate, most, most_kept))
    best = max(0.0, _net_ms(settings, query, candidate, fewest, least_kept))
    limit = (query.ms or 0) * MOST_OF_A_QUERY
    saved = Range(min(worst, limit), min(max(best, worst), limit))
    return Gain(saved, _bytes(scan, packs, Range(least_kept, most_kept), saved), Range(least_kept, most_kept))


def _least_kept(candidate: Candidate, tried: Tried, fewest: float, most_kept: float) -> float:
    """The share of rows in packs that hold a partner, at best.

    Where the build side had fewer keys than were tried, each pack has at least as many of these as if they lay in order, and is
    left out only if the build side had none of them.
    """
    if tried.packs is not None and tried.are_just_those:
        return most_kept
    if tried.packs is None or not tried.keys or candidate.build_rows is None:
        return min(fewest, most_kept)
    had = min(1.0, candidate.build_rows / tried.keys)
    in_pack = max(1.0, tried.keys / max(tried.packs.kept, 1))
    return max(min(fewest, most_kept), most_kept * float(1.0 - (1.0 - had) ** in_pack))


def _constants(scan: ScanFacts) -> Constants:
    """With what a row of this scan took in the log, where the log says."""
    if not scan.ms or not scan.rows:
        return DEFAULTS
    return replace(DEFAULTS, scan_row_ns=scan.ms * 1e6 / scan.rows, scan_byte_ns=0.0)


def _net_ms(settings: PlanSettings, query: QueryFacts, candidate: Candidate, share: float, kept: float) -> float:
    scan = query.scans[candidate.scan]
    rows, keys = float(scan.rows or 0), float(candidate.build_rows or 0)
    kind = SET if keys <= settings.max_keys else BLOOM
    # Of keys that are whole numbers a bitmap is usual; how far they are apart is not known.
    span = int(keys * 10) if is_whole_number(candidate.type) else None
    test = row_test(_work(query, candidate), kind, keys, span)
    saved = expected_saving_ms(settings, test.work, test, rows, share, kept)
    wait = expected_wait_ms(settings, keys, not candidate.join.is_broadcast, 0.0 if candidate.is_shuffled else None)
    return saved - wait - ship_ms(settings.machine, kind, keys, span)


def _work(query: QueryFacts, candidate: Candidate) -> RowWork:
    """What a row of the scan had before it."""
    scan = query.scans[candidate.scan]
    between = candidate.join.sides[candidate.probe].between
    tested = min(1.0, _tested(query, candidate.scan) / scan.rows) if scan.rows else 1.0
    shuffles, sorts = between.count("Exchange"), between.count("Sort")
    is_probed = candidate.join.is_broadcast
    return RowWork(
        scan_bytes=COLUMN_BYTES * len(scan.columns),
        tested=tested,
        shuffle_bytes=shuffles * tested * (ROW_BYTES + COLUMN_BYTES * len(scan.columns)),
        sorts=sorts * tested,
        probes=tested * sum("/" in operator for operator in between),
        own_probes=tested if is_probed and is_whole_number(candidate.type) else 0.0,
        own_row_probes=tested if is_probed and not is_whole_number(candidate.type) else 0.0,
        groups=tested * sum("Aggregate" in operator for operator in between),
        broadcasts=tested * between.count("BroadcastExchange"),
        broadcast_bytes=tested * between.count("BroadcastExchange") * (ROW_BYTES + COLUMN_BYTES * len(scan.columns)),
    )


def _shares(query: QueryFacts, candidate: Candidate, key_share: float | None) -> tuple[float, float]:
    """The share of the scan's rows that have a partner, at least and at most.

    Rows that other joins dropped before count at best as those that came here do, or as the keys that the build side had of its
    table. At worst all of them have a partner.
    """
    by_keys = 1.0 if key_share is None else key_share
    came, tested = candidate.probe_rows, _tested(query, candidate.scan)
    if candidate.share is None or not came:
        return by_keys, 1.0
    if came >= tested:
        return candidate.share, candidate.share
    return min(candidate.share, by_keys), max(candidate.share, 1.0 - came * (1.0 - candidate.share) / tested)


def _tested(query: QueryFacts, scan: int) -> float:
    """The rows that the scan's own conditions leave: what comes into the lowest join over it."""
    sides = [side for join in query.joins for side in join.sides if side.scans == (scan,) and side.rows is not None]
    return float(max((side.rows or 0 for side in sides), default=query.scans[scan].rows or 0))


def _bytes(scan: ScanFacts, packs: PacksKept | None, kept: Range, saved: Range) -> Range:
    if saved.most <= 0.0:
        return NOTHING
    if packs is not None:
        least = float(packs.bytes - packs.bytes_kept)
        return Range(least, max(least, packs.bytes * (1.0 - kept.least)))
    return Range(0.0, (scan.bytes or 0) * (1.0 - kept.least))
