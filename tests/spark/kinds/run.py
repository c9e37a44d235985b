"""Runs a case with the layer off and on, and compares rows and errors."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession

import rtfilter
from rtfilter.bridge import jvm
from rtfilter.report import FilterReport, Report
from tests.spark.differential.engines import PATIENCE
from tests.spark.differential.time_limit import TimeLimit, TimeLimitError
from tests.spark.kinds.actions import Doing, take_rows
from tests.spark.kinds.case import Case, world_of
from tests.spark.kinds.scene import Scene
from tests.spark.kinds.table_events import CASES_PER_WORLD, Event
from tests.spark.kinds.udfs import register
from tests.spark.kinds.unfilled_filters import lost_filter

LONGEST_S = 120.0
SEVERAL_STAGES = "STAGE_MATERIALIZATION_MULTIPLE_FAILURES"
SHOWN_ROWS, SHOWN_CHARACTERS = 4, 700
# How often the layer is left off where it differs, to see whether Spark itself is steady.
MORE_RUNS = 3


@dataclass(frozen=True)
class Answer:
    """Rows in their order, or the class of an error and its words."""

    rows: tuple[Any, ...] = ()
    error: str = ""
    words: str = ""
    invalid: bool = False

    def differs(self, other: Answer, ordered: bool) -> bool:
        """Whether the other answer is another one. Of errors that Spark raises together each is as good as all of them."""
        if self.error == SEVERAL_STAGES:
            return f"[{other.error}]" not in self.words and other.error != SEVERAL_STAGES
        if self.error or other.error:
            return self.error != other.error
        return self.rows != other.rows if ordered else Counter(self.rows) != Counter(other.rows)


@dataclass(frozen=True)
class Outcome:
    """What came of a case. `finding` is empty where nothing was found.

    `differs`: rows or errors do. `unsteady`: Spark itself differs from run to run. `showing_s`: how long the world's tables took.
    `invalid`: Spark refuses the query before it runs. `reasons` are those of all candidates for a filter in the report.
    """

    finding: str = ""
    differs: bool = False
    unsteady: bool = False
    applied: bool = False
    packs_total: int = 0
    packs_read: int = 0
    rows: int = 0
    error: str = ""
    invalid: bool = False
    reasons: tuple[str, ...] = ()
    showing_s: float = 0.0


class Harness:
    """Runs cases in a session of its own of an application, one thread at a time."""

    def __init__(self, application: SparkSession, folder: Path, name: str) -> None:
        self.spark = application.newSession()
        # What earlier cases won or lost is nothing to a later one.
        for key, value in {**PATIENCE, "rtfilter.feedback.enabled": "false"}.items():
            self.spark.conf.set(key, value)
        register(self.spark)
        self._folder = folder
        self.scene = Scene(self.spark, folder, name)
        self._limit = TimeLimit(LONGEST_S)
        self._conf: dict[str, str] = {}
        self.happened: list[Event] = []
        # The reports of a case, and the query of the one that was seen last.
        self._reports: list[Report] = []
        self._reported = ""

    def close(self) -> None:
        self.scene.close()
        self._limit.close()

    def run(self, case: Case) -> Outcome:
        try:
            return self._limit.call(lambda: self._compare(case))
        except TimeLimitError as e:
            return Outcome(f"hangs: {e}")

    def differs(self, case: Case) -> bool:
        """Whether on and off differ in a case of the world that is shown; each runs once."""

        def ask() -> bool:
            self._configure(case)
            return _differ(case, self._answer(case, on=False)[0], self._answer(case, on=True)[0])

        try:
            return self._limit.call(ask)
        except TimeLimitError:
            return True

    def _configure(self, case: Case) -> None:
        wanted = dict(case.conf)
        for key in self._conf.keys() - wanted.keys():
            self.spark.conf.unset(key)
        for key, value in wanted.items():
            if self._conf.get(key) != value:
                self.spark.conf.set(key, value)
        self._conf = wanted

    def _compare(self, case: Case) -> Outcome:
        began = time.monotonic()
        self.happened = self.scene.show(world_of(case.seed), case.seed % CASES_PER_WORLD)
        showing_s = time.monotonic() - began
        self._configure(case)
        off, _ = self._answer(case, on=False)
        on, frame = self._answer(case, on=True)
        found, differs = "", False
        if _differ(case, off, on):
            again = [self._answer(case, on=False)[0] for _ in range(MORE_RUNS)]
            if any(each.differs(off, case.ordered) for each in again) or self._is_spared(case, off, on):
                return Outcome(unsteady=True)
            on_again, _ = self._answer(case, on=True)
            steadily = "" if _differ(case, off, on_again) else " (right when run again)"
            found, differs = _difference(on, off, case.ordered) + steadily, True
        return replace(self._outcome(case, on, frame, found), differs=differs, showing_s=showing_s)

    def _is_spared(self, case: Case, off: Answer, on: Answer) -> bool:
        """Whether Spark alone raises the error too, where no side is empty before the other one has started.

        Which stage of a shuffled join ends first is chance: adaptive execution gives up the other side of an empty one, and with it
        the error of a row there.
        """
        if off.error or not on.error or off.rows:
            return False
        one_by_one = replace(case, conf=(*case.conf, ("spark.sql.adaptive.enabled", "false")))
        self._configure(one_by_one)
        alone, _ = self._answer(one_by_one, on=False)
        self._configure(case)
        return alone.error == on.error

    def _answer(self, case: Case, *, on: bool) -> tuple[Answer, DataFrame | None]:
        world = world_of(case.seed)
        self.spark.conf.set("rtfilter.enabled", on)
        frame = None
        try:
            frame = self.spark.sql(case.query.sql)
            between = (lambda: self.scene.index_for_a_moment(world)) if on else _nothing
            doing = Doing(self.spark, self.scene.place, between, on, self._note if on else _nothing)
            return Answer(tuple(_comparable(row) for row in take_rows(case.action, frame, doing))), frame
        except Exception as e:
            invalid = isinstance(e, AnalysisException)
            return Answer(error=error_class(e), words=str(e)[:SHOWN_CHARACTERS], invalid=invalid), frame
        finally:
            self.spark.conf.set("rtfilter.enabled", False)
            if case.action in ("split", "planned before") and on:
                self.scene.forget_moment(world)

    def _outcome(self, case: Case, on: Answer, frame: DataFrame | None, found: str) -> Outcome:
        self._note()
        reports, self._reports = self._reports, []
        scans = jvm.scan_metrics(frame) if frame is not None and case.action == "collect" else []
        narrowed = [scan for scan in scans if scan["narrowed"]]
        filters = [each for report in reports for each in report.filters]
        kept = [each for report in reports for each in report.scans if each.packs_total is not None]
        warnings = [str(warning) for report in reports for warning in report.warnings]
        if not found:
            found = f"warnings: {warnings}" if warnings else self._lost(case, on, filters, frame)
        return Outcome(
            found,
            applied=bool(narrowed) or any(each.decision == "applied" for each in filters),
            packs_total=sum(scan["packs_total"] for scan in narrowed) or sum(each.packs_total or 0 for each in kept),
            packs_read=sum(scan["packs_read"] for scan in narrowed) if narrowed else sum(each.packs_read or 0 for each in kept),
            rows=len(on.rows),
            error=on.error,
            invalid=on.invalid,
            reasons=tuple(each.reason for each in filters),
        )

    def _lost(self, case: Case, on: Answer, filters: list[FilterReport], frame: DataFrame | None) -> str:
        if on.error or case.action != "collect" or not any(each.reason == "NOT_FILLED" for each in filters):
            return ""
        return lost_filter(filters, *_plans(frame))

    def _note(self) -> None:
        """Keeps the report of the latest query, unless it is an older one."""
        report = rtfilter.last_report(self.spark)
        if report is not None and report.query != self._reported:
            self._reported = report.query
            self._reports.append(report)


def _differ(case: Case, off: Answer, on: Answer) -> bool:
    together = case.runs_twice and on.error == SEVERAL_STAGES and f"[{off.error}]" in on.words
    return off.differs(on, case.ordered) and not together


def _nothing() -> None:
    pass


def _plans(frame: DataFrame | None) -> tuple[str, str]:
    """The tree that adaptive execution came to, and that it began with; empty where it had no part."""
    plan = None if frame is None else frame._jdf.queryExecution().executedPlan()
    if plan is None or plan.getClass().getSimpleName() != "AdaptiveSparkPlanExec":
        return "", ""
    return str(plan.executedPlan().toString()), str(plan.initialPlan().toString())


def error_class(e: Exception) -> str:
    """Spark's own name of an error where it has one."""
    condition = getattr(e, "getCondition", lambda: None)()
    if condition:
        return str(condition)
    found = re.search(r"\[([A-Z][A-Z0-9_.]+)\]", str(e))
    return found.group(1) if found else type(e).__name__


def _comparable(value: Any) -> Any:
    """NaN as a text, for it equals nothing. -0.0 equals 0.0: which of the two an aggregate returns is chance."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, (Row, tuple, list)):
        return tuple(map(_comparable, value))
    return value


def _difference(on: Answer, off: Answer, ordered: bool) -> str:
    if on.error or off.error:
        return f"on: {on.error or f'{len(on.rows)} rows'}; off: {off.error or f'{len(off.rows)} rows'}; {on.words or off.words}"
    surplus, missing = Counter(on.rows) - Counter(off.rows), Counter(off.rows) - Counter(on.rows)
    if ordered and not surplus and not missing:
        return f"the same {len(on.rows)} rows in another order: on {on.rows[:SHOWN_ROWS]}, off {off.rows[:SHOWN_ROWS]}"
    shown = [f"on has {len(on.rows)} rows, off {len(off.rows)}"]
    for name, part in (("on", surplus), ("off", missing)):
        shown.append(f"only {name} ({part.total()}): {list(part)[:SHOWN_ROWS]}")
    return "; ".join(shown)[: 2 * SHOWN_CHARACTERS]
