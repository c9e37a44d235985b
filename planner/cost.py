"""What a filter is worth. First, plain figures; the model that weighs building and applying against it comes with issue 6."""

from __future__ import annotations

from planner.estimates import Size, rows_of_scan
from planner.nodes import Scan
from planner.settings import LARGEST_INT

# Core time to scan and probe one row: 133.11 million rows took 3.06 s on 2 cores (the micro-benchmark of the design notes).
SCAN_AND_PROBE_NS_PER_ROW = 46.0
# A build side up to this share of the probe side is taken to be worth waiting for. The spike of the design notes: with gates up to
# a third, and filters dropped above 300,000 rows, six TPC-H queries came out at 1.0x to 1.15x; with gates everywhere Q3 took 4.4
# times as long. The bound on rows is another one here, so this is where to start from, not a measured optimum.
MOST_BUILD_SHARE = 1 / 3
# Bounds of what a filter is read from, whatever the probe side's size; chosen, not measured.
LEAST_BUILD_ROWS, MOST_BUILD_ROWS = 100_000, 50_000_000


def estimated_gain_ms(rows_rejected: int, cores: int) -> float:
    """Wall time in ms that `rows_rejected` rows would have cost if `cores` cores share them evenly.

    Nothing is taken off for the filter itself: the cost model of issue 6 will.
    """
    return rows_rejected * SCAN_AND_PROBE_NS_PER_ROW / 1e6 / max(cores, 1)


def may_wait_for(build: Size | None, scan: Scan) -> bool:
    """Whether a build side is small enough for a scan to wait for it. What is not known is not small."""
    return build is not None and scan.bytes is not None and build.bytes <= scan.bytes * MOST_BUILD_SHARE


def most_build_rows(scan: Scan, always: bool) -> int:
    """Rows of a build side from which a filter for `scan` is not filled; a scan of unknown size sets no bound of its own."""
    if always:
        return LARGEST_INT
    rows = rows_of_scan(scan)
    if rows is None:
        return MOST_BUILD_ROWS
    return round(min(max(rows * MOST_BUILD_SHARE, LEAST_BUILD_ROWS), MOST_BUILD_ROWS))
