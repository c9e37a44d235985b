"""The options of the layer: one table, and the code that reads a session's conf by it.

Used by the session functions, the command line, the documentation and, inside the planner host, at every query.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rtfilter.errors import OptionError, did_you_mean
from rtfilter.option_texts import boolean, kinds, one_of, probability, schemes, share, text_as_it_is, whole_number

PREFIX = "rtfilter."
COST_MODES = ("auto", "always", "never")


# Who may set an option. A session (`rtfilter.X`), or else the SparkConf (`spark.rtfilter.X`). A place is a file, a folder or a
# of one: where a driver serves several users it comes from the SparkConf. A program always does.
SESSION, PLACE, SPARK_CONF = "session", "place", "SparkConf"


@dataclass(frozen=True)
class Option:
    """One `rtfilter.` option: its full key, type for people, default, unit, meaning, the reader of its text, and who may set it."""

    key: str
    type: str
    default: Any
    unit: str
    doc: str
    parse: Callable[[str], Any]
    set_by: str = SESSION

    @property
    def default_text(self) -> str:
        return as_conf_text(self.default)


def as_conf_text(value: object) -> str:
    """The text that Spark's conf keeps for a Python value (`True` is `"true"`)."""
    return str(value).lower() if isinstance(value, bool) else str(value)


OPTIONS: tuple[Option, ...] = (
    Option("rtfilter.enabled", "boolean", False, "", "Switches the layer on for the session; read at every query.", boolean),
    Option("rtfilter.kinds", "list", "range,set,bloom", "", "Filter kinds that may be built.", kinds),
    Option(
        "rtfilter.cost",
        "choice",
        "auto",
        "",
        "auto drops a filled filter that does not pay; always keeps it; never builds none.",
        one_of(COST_MODES),
    ),
    Option(
        "rtfilter.keyFirst",
        "choice",
        "auto",
        "",
        "Whether the reader decodes join keys first and then only pages with a partner: auto where it may pay, always, or never.",
        one_of(COST_MODES),
    ),
    Option(
        "rtfilter.packs.enabled",
        "boolean",
        True,
        "",
        "Lets filters skip packs; without it they can only drop rows, above scans that read everything.",
        boolean,
    ),
    Option("rtfilter.gate.enabled", "boolean", True, "", "Lets a probe side wait for a shuffled build side.", boolean),
    Option(
        "rtfilter.set.maxKeys",
        "integer",
        1_000_000,
        "keys",
        "Distinct keys that a filter holds one by one; more become a bitmap within 2^26 numbers, else a bloom filter.",
        whole_number(0),
    ),
    Option("rtfilter.bloom.fpp", "number", 0.01, "", "False-positive probability that bloom filters are sized for.", probability),
    Option("rtfilter.bloom.maxBytes", "integer", 64 << 20, "bytes", "Largest bloom filter.", whole_number(32)),
    Option(
        "rtfilter.store.location",
        "path",
        "",
        "",
        "Where a table's indexes live; empty: `_rtfilter` inside the table's root.",
        text_as_it_is,
        PLACE,
    ),
    Option(
        "rtfilter.store.cacheDirectory",
        "path",
        "",
        "",
        "Local directory for what the next application need not read again: copies of index files that are on another filesystem, "
        "and what footers said (docs/footers.md); empty: `indexes` in rtfilter's cache folder.",
        text_as_it_is,
        PLACE,
    ),
    Option(
        "rtfilter.store.cacheBytes",
        "integer",
        2 << 30,
        "bytes",
        "Bound of the copies there; what is kept of footers may take a quarter of that beside them. What was not used for the "
        "longest time goes first.",
        whole_number(0),
        PLACE,
    ),
    Option(
        "rtfilter.store.schemes",
        "list",
        "",
        "",
        "Further filesystem schemes that indexes may be written to: those where a file that must not exist is made in one step.",
        schemes,
    ),
    Option(
        "rtfilter.index.maxStale",
        "number",
        0.9,
        "",
        "Share of a table's bytes that an index may not know as it is now; an index that is staler is not used.",
        share,
    ),
    Option(
        "rtfilter.startree.enabled",
        "boolean",
        True,
        "",
        "Answers aggregates from star-trees of their tables, where one fits; counts while rtfilter.enabled is true.",
        boolean,
    ),
    Option(
        "rtfilter.startree.hybrid",
        "boolean",
        True,
        "",
        "Uses a star-tree also while the table has files that it does not cover; these are read beside it.",
        boolean,
    ),
    Option(
        "rtfilter.startree.floats",
        "boolean",
        False,
        "",
        "Lets star-trees hold and answer sums and averages of float and double, whose last digits depend on the order of rows.",
        boolean,
    ),
    Option(
        "rtfilter.keys.jobFromRows",
        "integer",
        1 << 16,
        "rows",
        "From so many rows on, keys of a shuffled build side are read by a Spark job and not by the driver itself; 1: always.",
        whole_number(1),
    ),
    Option(
        "rtfilter.python",
        "path",
        "python3",
        "",
        "Interpreter of the planner host, read when the host starts. configure() sets spark.rtfilter.python to its own.",
        text_as_it_is,
        SPARK_CONF,
    ),
    Option(
        "rtfilter.planner.timeoutMs",
        "integer",
        2000,
        "ms",
        "Longest wait for one answer of the planner host; past it the query runs as Spark planned it.",
        whole_number(1),
    ),
    Option(
        "rtfilter.footers.waitMs",
        "integer",
        1000,
        "ms",
        "Longest time a fill waits for Parquet footers that are still being read, within six tenths of rtfilter.planner.timeoutMs; "
        "files not known by then are read whole.",
        whole_number(0),
    ),
    Option(
        "rtfilter.footers.cacheBytes",
        "integer",
        256 << 20,
        "bytes",
        "Memory that the planner host may use for pack statistics read from footers.",
        whole_number(0),
    ),
    Option(
        "rtfilter.footers.jobFromFiles",
        "integer",
        10_000,
        "files",
        "From so many files on, footers of other filesystems are read by a Spark job and not by threads of the driver.",
        whole_number(1),
    ),
    Option(
        "rtfilter.verify",
        "boolean",
        False,
        "",
        "Runs every query with and without filters first, and fails it with rtfilter.ResultMismatchError on a difference; "
        "one that Spark itself leaves open (rows that a limit takes from a shuffle, say) is a warning.",
        boolean,
    ),
    Option("rtfilter.log.path", "path", "", "", "File that gets a line of JSON per query; empty: none.", text_as_it_is, PLACE),
    Option(
        "rtfilter.log.maxBytes",
        "integer",
        64 << 20,
        "bytes",
        "Size from which the log goes on in a new file; the one before is kept under the same name with .1 behind it.",
        whole_number(1),
        PLACE,
    ),
    Option(
        "rtfilter.log.literals",
        "boolean",
        False,
        "",
        "Writes literals and query texts into the log as they are; without it digests stand in their place.",
        boolean,
        PLACE,
    ),
    Option(
        "rtfilter.feedback.enabled",
        "boolean",
        True,
        "",
        "Remembers what filters did; one that won nothing twice in a row with the same literals is not tried with them until its "
        "tables or indexes change, or for seven days.",
        boolean,
    ),
    Option(
        "rtfilter.feedback.path",
        "path",
        "",
        "",
        "File of the driver's machine that keeps it; empty: feedback.json in the cache directory.",
        text_as_it_is,
        PLACE,
    ),
)

BY_KEY: Mapping[str, Option] = {option.key: option for option in OPTIONS}


def option_for(key: str) -> Option:
    """The option of a full key.

    Raises:
        OptionError: there is no such option; the text names the nearest one.
    """
    option = BY_KEY.get(key)
    if option is None:
        raise OptionError(f"unknown option {key!r}. {did_you_mean(key, BY_KEY)}")
    return option


def parse_option(key: str, text: str) -> Any:
    """The value of one conf entry.

    Raises:
        OptionError: the key is unknown or the text does not fit its type.
    """
    option = option_for(key)
    try:
        return option.parse(text)
    except ValueError as wanted:
        raise OptionError(f"option {key} is {text!r}, it must be {wanted} (its default is {option.default_text!r}).") from None


def keyword_entries(keywords: Mapping[str, object]) -> dict[str, str]:
    """Conf entries for keyword arguments such as `kinds="set"` or `planner_timeoutMs=500` (`_` stands for `.`).

    Raises:
        OptionError: an unknown name or a value of the wrong type.
    """
    entries = {}
    for name, value in keywords.items():
        key = PREFIX + name.replace("_", ".")
        text = as_conf_text(value)
        parse_option(key, text)
        entries[key] = text
    return entries


@dataclass(frozen=True)
class Options:
    """All options of one query, parsed."""

    enabled: bool
    kinds: tuple[str, ...]
    cost: str
    key_first: str
    packs_enabled: bool
    gate_enabled: bool
    set_max_keys: int
    bloom_fpp: float
    bloom_max_bytes: int
    store_location: str
    store_cache_directory: str
    store_cache_bytes: int
    store_schemes: tuple[str, ...]
    index_max_stale: float
    startree_enabled: bool
    startree_hybrid: bool
    startree_floats: bool
    keys_job_from_rows: int
    python: str
    planner_timeout_ms: int
    footers_wait_ms: int
    footers_cache_bytes: int
    footers_job_from_files: int
    verify: bool
    log_path: str
    log_max_bytes: int
    log_literals: bool
    feedback_enabled: bool
    feedback_path: str

    @classmethod
    def from_conf(cls, conf: Mapping[str, str]) -> Options:
        """Reads the `rtfilter.` entries of a session conf; what is absent has its default.

        Raises:
            OptionError: an unknown key, or a value of the wrong type.
        """
        for key in conf:
            if key.startswith(PREFIX):
                option_for(key)
        values = [parse_option(option.key, conf.get(option.key, option.default_text)) for option in OPTIONS]
        return cls(*values)


def defaults() -> dict[str, str]:
    """Every option's default as conf text."""
    return {option.key: option.default_text for option in OPTIONS}


def own_interpreter() -> str:
    """The interpreter that runs this code; it has rtfilter, so the planner host can be started with it."""
    return sys.executable
