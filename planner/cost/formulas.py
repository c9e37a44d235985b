"""What a filter gains and costs: the same functions before the build side is there, on estimates, and after it, on exact figures.

With S rows of the probe side's scan, R of the build side and λ the share of probe rows that have a partner:

    gain = rows of rejected packs · (scan + join + work ahead)  +  rows tested · ((1 − λ') · (join + work ahead) − test)
    cost = R · collect + key job + round trip + wait for the build side + shipping the test to the executors

after the cost model of the knowledge-grid runtime filters, gain = S·[(1−λ)·c_p − c_a] − R·c_f + (1−μ)·(S/P)·c_s, with what a row
still has before it as part of c_p, and c_a paid for the rows of kept packs only. Core time is shared by all cores; what happens
once on the driver is not. Units are in the names; a gain or a cost in ms is wall time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from planner.inputs.machine import Constants, Machine
from planner.inputs.row_work import RowWork
from planner.inputs.settings import PlanSettings

# Shares, not times: they do not depend on the machine.
# Of the probe side's rows, the share whose keys a build side without any condition is expected to lack: this much, and as much
# again for each power of ten that the probe side is larger. Orders have all keys of lineitem; a list of a hundred ids joined with
# ten million rows hardly has all keys of those.
KEYS_MISSING, MOST_MISSING = 0.05, 0.5
# Of the rows without a partner, the share expected in packs that can be rejected, where nothing is known of the layout.
LAYOUT_SHARE = 0.1
# A stage that others wait for leaves at most this share of its time idle on some core: its last tasks do not end together.
IDLE_SHARE = 0.15
# What Spark reads in one task unless it is told otherwise (spark.sql.files.maxPartitionBytes).
TASK_BYTES = 128 << 20
# Testing a row must be expected to save this many times what the test takes: which rows lack a partner is a guess, the test is not.
ROW_TEST_MARGIN = 1.5
# What testing rows before the filter's own join alone must save in all: Spark generates and compiles other code for it.
LEAST_BEFORE_JOIN_MS = 5.0
# Spark holds a build side of whole-number keys as an array by key where their span is no more than this, or than so many times the
# keys (LongToUnsafeRowMap.optimize, checked on 4.3: fewer than it has longs, of which there are at least two a key).
ARRAY_SPAN, ARRAY_KEYS = 1024, 2
# Bytes that a key takes in what is sent to the executors.
SET_KEY_BYTES, BLOOM_KEY_BYTES = 16.0, 1.5
# The bridge holds whole numbers as a bitmap of their span: up to this span, where it takes no more bits a key, or is small anyway.
BITMAP_SPAN, BITMAP_KEY_BITS, SMALL_BITMAP_BYTES = 1 << 26, 1024, 8192.0


@dataclass(frozen=True, slots=True)
class RowTest:
    """How rows are tested: `kind` is a filter's, or `bitmap` for a set that is held as one; `work` is what dropped rows spare."""

    kind: str
    work: RowWork


# What one row costs.


def scan_row_ns(work: RowWork, constants: Constants) -> float:
    """Reading and decoding one row."""
    return constants.scan_row_ns + work.scan_bytes * constants.scan_byte_ns


def ahead_row_ns(work: RowWork, constants: Constants) -> float:
    """What an average row of the scan has before it on all cores, without the filter's own join."""
    return (
        work.shuffle_bytes * constants.shuffle_byte_ns
        + work.sorts * constants.sort_row_ns
        + work.probes * constants.join_probe_ns
        + work.row_probes * constants.row_probe_ns
        + work.groups * constants.group_row_ns
    )


def own_row_ns(work: RowWork, constants: Constants) -> float:
    """What an average row of the scan takes in the filter's own join."""
    return work.own_probes * constants.join_probe_ns + work.own_row_probes * constants.row_probe_ns


def alone_row_ns(work: RowWork, constants: Constants) -> float:
    """What an average row of the scan has before it on one core while the others wait: its way through broadcasts."""
    return work.broadcasts * constants.broadcast_row_ns + work.broadcast_bytes * constants.broadcast_byte_ns


def whole_row_ns(work: RowWork, constants: Constants) -> float:
    """What a row costs on all cores that is read, goes all the way and finds no partner."""
    return scan_row_ns(work, constants) + ahead_row_ns(work, constants) + own_row_ns(work, constants)


def test_row_ns(kind: str, constants: Constants) -> float:
    """Testing one row with a filter of a kind (`range`, `set`, `bloom`, or `bitmap`: see `row_test`)."""
    times = {"range": constants.range_test_ns, "bitmap": constants.bitmap_test_ns, "set": constants.set_test_ns}
    return times.get(kind, constants.bloom_test_ns)


def row_test(work: RowWork, kind: str, keys: float, span: int | None) -> RowTest:
    """How a filter of `keys` keys is tested, and what that spares; `span` as for `ship_ms`.

    A look-up in the filter's own join is spared only where a test is quicker: a whole number is looked up in an array where the
    keys are close together, else in a hash table like that of a set. TPC-H lineitem joined with 2,000 parts: with a bitmap before
    the join 16 ns a row less where the parts are far apart (7 for inventory and 1,000 items, with a share of 0.3 none), nothing
    where they are not; with a hash table before it nothing, or a loss where that is large.
    """
    test = "bitmap" if kind == "set" and _held_as_bitmap(keys, span) else kind
    array = span is not None and span <= max(ARRAY_SPAN, ARRAY_KEYS * keys)
    return RowTest(test, replace(work, own_probes=0.0) if array or test not in ("range", "bitmap") else work)


def share_let_through(kind: str, share: float, fpp: float) -> float:
    """λ': what a filter lets through of rows of which `share` have a partner; a bloom filter lets `fpp` of the others pass too."""
    return share + (1.0 - share) * fpp if kind == "bloom" else share


# What a filter gains.


def packs_gain_ms(machine: Machine, work: RowWork, rows: float, packs: float, files: float = 0.0) -> float:
    """Rejected packs with `rows` rows together, and the files in which no pack is left, which are not opened."""
    constants = machine.constants
    opened_ns = (packs * constants.pack_open_ms + files * constants.footer_ms) * 1e6
    return machine.shared_ms(rows * whole_row_ns(work, constants) + opened_ns) + rows * alone_row_ns(work, constants) / 1e6


def row_test_gain_ns(machine: Machine, work: RowWork, kind: str, passed: float) -> float:
    """Core time that testing one row saves, of those that reach the test, when `passed` of them (λ') pass it.

    Below 0 where the test costs more. What one core would do while the others wait counts for all of them.
    """
    constants = machine.constants
    all_cores_ns = ahead_row_ns(work, constants) + own_row_ns(work, constants)
    all_cores_ns += alone_row_ns(work, constants) * max(machine.cores, 1)
    ahead_ns = all_cores_ns / max(work.tested, 1e-9)
    return (1.0 - passed) * ahead_ns - test_row_ns(kind, constants)


def row_test_pays(machine: Machine, work: RowWork, kind: str, passed: float) -> bool:
    """Whether rows should be tested of which the share `passed` passes."""
    return row_test_gain_ns(machine, work, kind, passed) > (ROW_TEST_MARGIN - 1.0) * test_row_ns(kind, machine.constants)


def rows_gain_ms(machine: Machine, work: RowWork, kind: str, passed: float, rows: float) -> float:
    """Testing what reaches the test of `rows` rows that the scan reads."""
    return machine.shared_ms(rows * work.tested * row_test_gain_ns(machine, work, kind, passed))


def expected_saving_ms(
    settings: PlanSettings, work: RowWork, test: RowTest, rows: float, share: float, in_kept_packs: float | None
) -> float:
    """What rejected packs and dropped rows save of a scan's `rows` rows, of which `share` has a partner, as far as can be told.

    `in_kept_packs`: the share of rows in packs that will be kept, None where it can only be guessed.
    """
    machine = settings.machine
    in_packs = (1.0 - share) * LAYOUT_SHARE if in_kept_packs is None else 1.0 - in_kept_packs
    in_packs = in_packs if settings.packs_enabled else 0.0
    by_packs_ms = packs_gain_ms(machine, work, rows * in_packs, packs=0)
    if test.kind == "range" and in_kept_packs is None:
        # What has no partner and lies between the ends of a range nobody knows before.
        return by_packs_ms
    # Of rows in packs that were kept more pass than of all.
    passed = share if in_kept_packs is None else min(share / in_kept_packs, 1.0) if in_kept_packs else 1.0
    let_through = share_let_through(test.kind, passed, settings.bloom_fpp)
    if not row_test_pays(machine, test.work, test.kind, let_through):
        return by_packs_ms
    return by_packs_ms + rows_gain_ms(machine, test.work, test.kind, let_through, rows * (1.0 - in_packs))


# What a filter costs.


def collect_ms(machine: Machine, build_rows: float, shuffled: bool, job_from_rows: int = 0) -> float:
    """Reading the keys of `build_rows` rows: out of a broadcast, or of a finished shuffle.

    A shuffle is read in a job of its own from `job_from_rows` rows on, a smaller one by the driver alone, as a broadcast is.
    """
    constants = machine.constants
    core_ns = build_rows * constants.collect_key_ns
    if shuffled and build_rows >= job_from_rows:
        return constants.job_ms + machine.shared_ms(core_ns)
    return (constants.driver_read_ms if shuffled else 0.0) + core_ns / 1e6


def verdicts_ms(machine: Machine, packs: float) -> float:
    """What a scan's `packs` packs take the host that is asked about them."""
    return packs * machine.constants.verdict_pack_ns / 1e6


def expected_wait_ms(settings: PlanSettings, build_rows: float, shuffled: bool, idle_ns: float | None) -> float:
    """Until what becomes of a filter is known: reading keys, a question to the host, and with a gate cores that idle before.

    `idle_ns`: the core time that the build side leaves idle, None where nothing waits for it.
    """
    keys_ms = collect_ms(settings.machine, build_rows, shuffled, settings.job_from_rows) + settings.machine.constants.round_trip_ms
    return keys_ms if idle_ns is None else keys_ms + idle_ms(settings.machine, idle_ns)


def idle_share(machine: Machine, scanned_bytes: float | None) -> float:
    """The share of its time that a stage leaves idle which scans `scanned_bytes` of files, None where that is not known.

    Of n tasks on c cores, each of the other c - 1 cores is idle for half of the last task on average: of the time that all tasks
    take, (c - 1) / 2n.
    """
    tasks = max((scanned_bytes or 0.0) / TASK_BYTES, 1.0)
    return min(IDLE_SHARE, (max(machine.cores, 1) - 1) / (2.0 * tasks))


def idle_ms(machine: Machine, idle_core_ns: float) -> float:
    """What a scan loses that waits for a build side whose stages leave `idle_core_ns` idle: both would have run side by side."""
    return machine.shared_ms(idle_core_ns) + machine.constants.gate_ms


def ship_ms(machine: Machine, kind: str, keys: float, span: int | None = None) -> float:
    """Sending what rows and packs are tested with to the executors.

    `span`: the keys' max - min + 1, None where they are no whole numbers.
    """
    sent = _set_bytes(keys, span) if kind == "set" else 0.0 if kind == "range" else keys * BLOOM_KEY_BYTES
    return sent * machine.constants.ship_byte_ns / 1e6


def _set_bytes(keys: float, span: int | None) -> float:
    return span / 8 if span is not None and _held_as_bitmap(keys, span) else keys * SET_KEY_BYTES


def _held_as_bitmap(keys: float, span: int | None) -> bool:
    return span is not None and span <= BITMAP_SPAN and span / 8 <= max(SMALL_BITMAP_BYTES, keys * BITMAP_KEY_BITS / 8)


# Shares.


def missing_share(probe_rows: float, build_rows: float) -> float:
    """The share of `probe_rows` rows whose keys `build_rows` rows without any condition are expected to lack."""
    ratio = max(probe_rows, 1.0) / max(build_rows, 1.0)
    return min(KEYS_MISSING * (1.0 + math.log10(max(ratio, 1.0))), MOST_MISSING)


def semi_join_share(kept: float, build_rows: float, probe_rows: float, probe_distinct: int | None = None) -> float:
    """λ before the build is there: the share of probe rows that find a partner among `build_rows` rows.

    `kept` is what conditions leave of the build side, whose keys without them are taken to hold nearly all of the probe side's.
    Where the number of distinct probe keys is known, `build_rows` rows hold no more than that many of them, and a build side that
    has as many rows without conditions lacks few, however often each of them occurs.
    """
    unfiltered = build_rows / kept if kept > 0 else build_rows
    enough = probe_distinct is not None and 0 < probe_distinct <= unfiltered
    share = kept * (1.0 - (KEYS_MISSING if enough else missing_share(probe_rows, unfiltered)))
    if probe_distinct:
        share = min(share, build_rows / probe_distinct)
    return min(max(share, 0.0), 1.0)
