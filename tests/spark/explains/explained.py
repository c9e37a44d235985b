"""Runs the query of a golden EXPLAIN and says what users see of it.

    # What it shows.
    conf rtfilter.cost=always spark.sql.autoBroadcastJoinThreshold=-1
    cache item
    select ...
    =>
    the report, as it is printed

`conf` sets options of the session, `cache` puts a table into memory. With `explain` or `why not` what rtfilter.explain or
rtfilter.why_not says of the frame stands there instead. Masked is what depends on the run or on a writer's version: times, numbers
of expressions, and guesses that go by the sizes of files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession

import rtfilter
from rtfilter.report import Explanation, FilterReport, PlannedFilter, Report, WhyNot
from tests.golden_pairs import Pair

_VARIES = (
    (re.compile(r"\d[\d,]*(\.\d+)?(?= (ms|ns)\b)"), "N"),
    (re.compile(r"(?<=\w)#\d+L?"), ""),
    (re.compile(r"\d[\d,]*(?= build rows)|(?<=expected to have )\d[\d,]*|(?<=at most )\d[\d,]*"), "N"),
    (re.compile(r"about \d+%"), "about N%"),
)
_TIMES = re.compile(r", planned in .*$", re.MULTILINE)


Entry = TypeVar("Entry", FilterReport, PlannedFilter)


@dataclass(frozen=True)
class Ran:
    """What a query gave: its rows with and without the layer, sorted, and the lines of what is said of it."""

    rows: list[str]
    rows_without: list[str]
    lines: list[str]


@dataclass
class Asked:
    """The parts of a pair: the query, what is set for it, and what is printed of it."""

    query: str = ""
    shown: str = "report"
    settings: dict[str, str] = field(default_factory=lambda: {"rtfilter.enabled": "true"})
    cached: list[str] = field(default_factory=list)


def asked(pair: Pair) -> Asked:
    """What a pair asks for."""
    found = Asked()
    for line in pair.before:
        word, _, rest = line.partition(" ")
        if word == "conf":
            found.settings.update((name, value) for name, _, value in (setting.partition("=") for setting in rest.split()))
        elif word == "cache":
            found.cached.append(rest)
        elif line in ("explain", "why not"):
            found.shown = line
        else:
            found.query = f"{found.query}\n{line}".strip()
    return found


def run(spark: SparkSession, pair: Pair) -> Ran:
    """The query of a pair, first without the layer and then with it."""
    wanted = asked(pair)
    for table in wanted.cached:
        spark.catalog.cacheTable(table)
    for name, value in {**wanted.settings, "rtfilter.enabled": "false"}.items():
        spark.conf.set(name, value)
    without = _rows(spark.sql(wanted.query))
    spark.conf.set("rtfilter.enabled", wanted.settings["rtfilter.enabled"])
    frame = spark.sql(wanted.query)
    if wanted.shown != "report":
        said = rtfilter.explain(frame) if wanted.shown == "explain" else rtfilter.why_not(frame)
        return Ran(_rows(frame), without, _lines(_steady(said)))
    rows, report = _rows(frame), rtfilter.last_report(spark)
    assert report is not None
    return Ran(rows, without, _lines(_steady(report)))


def _rows(frame: DataFrame) -> list[str]:
    return sorted(map(str, frame.collect()))


def _steady(said: Report | Explanation | WhyNot) -> Report | Explanation | WhyNot:
    """What is said without what varies, taken out before it is put into columns and lines."""
    if isinstance(said, Report):
        return replace(said, query="query", filters=tuple(map(_without_figures, said.filters)), detail=_masked(said.detail))
    if isinstance(said, Explanation):
        return replace(said, filters=tuple(map(_without_figures, said.filters)))
    return replace(said, keys=tuple(replace(key, detail=_masked(key.detail)) for key in said.keys))


def _without_figures(entry: Entry) -> Entry:
    return replace(entry, detail=_masked(entry.detail), estimated_gain_ms=None)


def _lines(said: object) -> list[str]:
    return [line.rstrip() for line in _TIMES.sub("", str(said)).splitlines() if line.strip()]


def _masked(text: str) -> str:
    for pattern, instead in _VARIES:
        text = pattern.sub(instead, text)
    return text
