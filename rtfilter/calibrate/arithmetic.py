"""From the times of trials to constants: differences between two queries that differ in one thing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from planner.inputs.machine import DEFAULTS, Constants
from rtfilter.errors import CalibrationError

# A measured constant is taken to be no further than this from its default: beyond it something else was measured.
MOST_FACTOR = 10.0
# Of the measured constants, the share that may be out of bounds.
MOST_ODD_SHARE = 1 / 3
# Of the rows, the share that the row-test trials drop; the columns' shares are made so in trials.py.
DROPPED_SHARE = 0.1
COLUMN_BYTES = 8
ROW_HEADER_BYTES = 8
# The columns that the rows of the wide broadcast have beside their key.
WIDE_COLUMNS = 8


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the trials work on: `rows` of the fact in `packs` packs, the same in `split_packs`, a part of them in `files` files
    against one per core; `build_keys` keys of a broadcast."""

    rows: int
    cores: int
    packs: int
    split_packs: int
    files: int
    build_keys: int


def constants_from(ms: Mapping[str, float], sizes: Sizes) -> Constants:
    """The constants out of the best time of every trial, in ms, by name. What no trial measures keeps its default.

    Raises:
        CalibrationError: too many of them are out of bounds, so that the others are not to be trusted either.
    """
    measured = _measured(ms, sizes)
    odd = sorted(name for name, value in measured.items() if _bounded(name, value) != value)
    if len(odd) > MOST_ODD_SHARE * len(measured):
        raise CalibrationError(
            f"{', '.join(odd)} came out more than {MOST_FACTOR:g} times too large or too small: something else keeps the machine "
            "busy, or --rows is too small to see anything. Nothing was kept; run it again when it is idle."
        )
    return Constants(**{field.name: _bounded(field.name, measured.get(field.name)) for field in fields(Constants)})


def _measured(ms: Mapping[str, float], sizes: Sizes) -> dict[str, float]:
    def row_ns(longer: str, shorter: str) -> float:
        """Core time per row of the fact by which one trial takes longer than another."""
        return (ms[longer] - ms[shorter]) * 1e6 * sizes.cores / sizes.rows

    scan_byte_ns = row_ns("scan four columns", "scan one column") / (3 * COLUMN_BYTES)
    probe_ns = row_ns("join one table", "scan two columns")
    # A row that a test drops is not looked up in either of the two joins.
    saved_ns = 2 * DROPPED_SHARE * probe_ns
    shuffled_bytes = ROW_HEADER_BYTES + 4 * COLUMN_BYTES
    scan_row_ns = row_ns("scan one column", "scan nothing") - COLUMN_BYTES * scan_byte_ns
    # One task reads all rows of a build side.
    read_ns = scan_row_ns + COLUMN_BYTES * scan_byte_ns
    key_ns = (ms["broadcast many rows"] - ms["broadcast one row"]) * 1e6 / sizes.build_keys - read_ns
    wide_ns = (ms["broadcast wide rows"] - ms["broadcast many rows"]) * 1e6 / sizes.build_keys
    broadcast_byte_ns = wide_ns / (WIDE_COLUMNS * COLUMN_BYTES) - scan_byte_ns
    return {
        "scan_row_ns": scan_row_ns,
        "scan_byte_ns": scan_byte_ns,
        "pack_open_ms": (ms["scan many packs"] - ms["scan one column"]) * sizes.cores / max(sizes.split_packs - sizes.packs, 1),
        "footer_ms": (ms["scan many files"] - ms["scan few files"]) * sizes.cores / max(sizes.files - sizes.cores, 1),
        "join_probe_ns": probe_ns,
        "row_probe_ns": row_ns("join one table by rows", "join one table") + probe_ns,
        "group_row_ns": row_ns("group", "scan two columns"),
        "shuffle_byte_ns": row_ns("shuffle", "write nowhere") / shuffled_bytes,
        "broadcast_row_ns": key_ns - (ROW_HEADER_BYTES + COLUMN_BYTES) * broadcast_byte_ns,
        "broadcast_byte_ns": broadcast_byte_ns,
        "sort_row_ns": row_ns("shuffle and sort", "shuffle"),
        "range_test_ns": row_ns("test against a range", "join two tables") + saved_ns,
        "bitmap_test_ns": row_ns("test against a bitmap", "join two tables") + saved_ns,
        "set_test_ns": row_ns("test against a set", "join two tables, one far apart") + saved_ns,
        "bloom_test_ns": row_ns("test against a bloom filter", "join two tables") + saved_ns,
        "collect_key_ns": ms["collect many keys"] * 1e6 / sizes.build_keys,
        "job_ms": ms["collect few keys in a job"],
        "driver_read_ms": ms["collect few keys on the driver"],
        "round_trip_ms": ms["ask about few packs"],
        "verdict_pack_ns": (ms["ask about many packs"] - ms["ask about few packs"]) * 1e6 / max(sizes.split_packs - sizes.packs, 1),
    }


def _bounded(name: str, value: float | None) -> float:
    default: float = getattr(DEFAULTS, name)
    if value is None:
        return default
    return min(max(value, default / MOST_FACTOR), default * MOST_FACTOR)
