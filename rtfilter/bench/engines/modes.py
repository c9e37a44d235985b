"""The modes of a benchmark, and what each one sets in Spark's conf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rtfilter.errors import BenchError, did_you_mean

OFF, SPARK, RTFILTER, RTFILTER_ROWS, DUCKDB = "off", "spark", "rtfilter", "rtfilter-rows", "duckdb"
RTFILTER_FIRST, RTFILTER_ALWAYS, RTFILTER_NEVER = "rtfilter-first", "rtfilter-always", "rtfilter-never"
OFF_AGAIN = "off-again"

_BLOOM = "spark.sql.optimizer.runtime.bloomFilter."
_PARTITIONS = "spark.sql.optimizer.dynamicPartitionPruning."

SPARK_CONF_BY_MODE: Mapping[str, Mapping[str, str]] = {
    OFF: {"rtfilter.enabled": "false"},
    # The same once more: what differs between the two is the clock's.
    OFF_AGAIN: {"rtfilter.enabled": "false"},
    # Spark's own runtime filters with nothing held back by estimates: no probe is too small, no build too large, and
    # partition pruning pays for a subquery of its own where no broadcast can be reused.
    SPARK: {
        "rtfilter.enabled": "false",
        f"{_BLOOM}enabled": "true",
        f"{_BLOOM}applicationSideScanSizeThreshold": "0",
        f"{_BLOOM}creationSideThreshold": "1TB",
        f"{_PARTITIONS}enabled": "true",
        f"{_PARTITIONS}reuseBroadcastOnly": "false",
        f"{_PARTITIONS}useStats": "false",
        f"{_PARTITIONS}fallbackFilterRatio": "1.0",
    },
    # What a user gets: it learns from the runs before, of which a benchmark begins with none.
    RTFILTER: {"rtfilter.enabled": "true", "rtfilter.feedback.enabled": "true"},
    # Nothing is remembered: every run does what the first one of its query does.
    RTFILTER_FIRST: {"rtfilter.enabled": "true", "rtfilter.feedback.enabled": "false"},
    # Filters that skip no pack: what dropping rows alone is worth.
    RTFILTER_ROWS: {"rtfilter.enabled": "true", "rtfilter.feedback.enabled": "false", "rtfilter.packs.enabled": "false"},
    # Every filter that is right, and none: what the choice among them is held against.
    RTFILTER_ALWAYS: {"rtfilter.enabled": "true", "rtfilter.feedback.enabled": "false", "rtfilter.cost": "always"},
    RTFILTER_NEVER: {"rtfilter.enabled": "true", "rtfilter.feedback.enabled": "false", "rtfilter.cost": "never"},
}
LAYER_MODES = tuple(mode for mode, conf in SPARK_CONF_BY_MODE.items() if conf["rtfilter.enabled"] == "true")
MODES = (*SPARK_CONF_BY_MODE, DUCKDB)
MODE_KEYS = tuple(sorted({key for conf in SPARK_CONF_BY_MODE.values() for key in conf}))


def parse_modes(names: Sequence[str]) -> tuple[str, ...]:
    """The asked modes without repetitions.

    Raises:
        BenchError: none, or an unknown one.
    """
    if not names:
        raise BenchError(f"no mode is named; choose some of {', '.join(MODES)}.")
    for name in names:
        if name not in MODES:
            raise BenchError(f"there is no mode {name!r}. {did_you_mean(name, MODES)}")
    return tuple(dict.fromkeys(names))


def judge_of(modes: Sequence[str]) -> str:
    """The mode whose result the others are held against: DuckDB where it runs, else the first."""
    return DUCKDB if DUCKDB in modes else modes[0]
