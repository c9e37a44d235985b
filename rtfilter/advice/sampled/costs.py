"""What sketches cost: bytes as they were on sampled packs, and seconds by rates that were measured once.

Seconds measured anew would differ from run to run, and with them the advice for the same input.
"""

from __future__ import annotations

from rtfilter.advice.sampled.pack_sample import PackSample
from rtfilter.store.index_actions.listing import ListedTable
from rtfilter.store.sketches.domain import LONG, domain_of
from rtfilter.store.sketches.kinds import Sketch

# Nanoseconds a row, by kind, for numbers and for strings, as tests/measure/sketch_speed.py prints them. Reading the column is in
# it, and so is making values distinct, which all but the lowest and highest value need.
NANOSECONDS = {
    "min_max": (90.0, 110.0),
    "bloom": (320.0, 520.0),
    "value_set": (90.0, 215.0),
    "histogram": (140.0, 0.0),
    "cmap": (0.0, 310.0),
}
_DAY_MS, _LEAST_TIMES = 86_400_000, 3


def sketch_bytes(sample: PackSample, sketch: Sketch) -> int:
    """The bytes of a sketch of all packs of the table."""
    return round(sample.sizes.get(sketch, 0) / sample.share) if sample.share else 0


def build_seconds(sample: PackSample, sketch: Sketch) -> float:
    """How long one processor builds a sketch of all packs."""
    numbers, strings = NANOSECONDS[sketch.kind]
    is_long = domain_of(sample.table.types[sketch.column]) == LONG
    return round(sample.table.rows * (numbers if is_long else strings) * 1e-9, 2)


def refresh_seconds(sample: PackSample, sketch: Sketch) -> float | None:
    """Seconds of building for each GB that is added to the table."""
    table_bytes = sample.table.listed.bytes
    return round(build_seconds(sample, sketch) / (table_bytes / 1e9), 2) if table_bytes else None


def gb_per_day(listed: ListedTable) -> float | None:
    """How fast a table grows, by the times of its files: what came after the first ones, over the days since then.

    None where files have come at fewer than three times, or all within a day: nobody can tell such a table from a copy.
    """
    times = sorted({file.mtime_ms for file in listed.files})
    days = (times[-1] - times[0]) / _DAY_MS if times else 0.0
    if len(times) < _LEAST_TIMES or days < 1:
        return None
    return sum(file.size_bytes for file in listed.files if file.mtime_ms > times[0]) / 1e9 / days
