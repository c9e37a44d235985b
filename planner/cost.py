"""What a filter is worth. A first, plain figure; the model that weighs building and applying against it comes with issue 6."""

from __future__ import annotations

# Core time to scan and probe one row: 133.11 million rows took 3.06 s on 2 cores (the micro-benchmark of the design notes).
SCAN_AND_PROBE_NS_PER_ROW = 46.0


def estimated_gain_ms(rows_rejected: int, cores: int) -> float:
    """Wall time in ms that `rows_rejected` rows would have cost if `cores` cores share them evenly.

    Nothing is taken off for the filter itself: the cost model of issue 6 will.
    """
    return rows_rejected * SCAN_AND_PROBE_NS_PER_ROW / 1e6 / max(cores, 1)
