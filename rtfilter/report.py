"""What the layer did in one query: a report, built from the record that the bridge keeps of each execution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from planner.counted import counted
from rtfilter.report_names import filter_name, numbered
from rtfilter.report_plan import (
    FAILED,
    NOTHING_CONSIDERED,
    PLANNER_FAILED,
    Explanation,
    JoinKeyReason,
    PlannedFilter,
    WhyNot,
    latest_candidates,
    strategy_text,
    warnings_of,
    why_empty,
)
from rtfilter.report_scans import ScanReport, scan_report
from rtfilter.report_table import Column, ShownAsTable, Table, number_text, share_text
from rtfilter.report_trees import TreeReport, tree_reports, trees_text, used_tree

__all__ = [
    "FAILED",
    "PLANNER_FAILED",
    "STATIC",
    "Explanation",
    "FilterReport",
    "JoinKeyReason",
    "PlannedFilter",
    "Report",
    "ScanReport",
    "TreeReport",
    "WhyNot",
    "report_from_record",
    "with_names",
]

Json = Mapping[str, Any]

APPLIED, SKIPPED = "applied", "skipped"
# The strategy of what is no join.
STATIC = "static"
NOT_FILLED = "NOT_FILLED"
NOT_FILLED_SENTENCE = (
    "It was planned, but {what}: the stage of the scan did not run (its result was cached, reused or not needed), or a later plan "
    "of the same query had no place for the filter."
)
NOT_RUN_SENTENCE = "The scan itself did not run: its stage's result was that of an equal stage, or not needed."
COLUMNS = (
    Column("filter"),
    Column("join"),
    Column("kind"),
    Column("decision"),
    Column("keys", numeric=True),
    Column("packs kept", numeric=True),
    Column("rows kept", numeric=True),
    Column("gain ms", numeric=True),
)


@dataclass(frozen=True)
class FilterReport:
    """One candidate: a pair of join keys with a scan that it filters, or several pairs together, and what became of the filter.

    `id` is its name for people: what is filtered by what, with ` #2` behind a second one of equal name. `placeholder` is the
    filter's number in the plan, empty where none was placed. With `strategy` `static` it is no join: `build` is what the query
    itself asks of the scan, judged by the table's indexes. `decision` is `applied`, `skipped` or `failed`; `reason` an UPPER_SNAKE
    code and `detail` its sentence. Counts and times are None where the query never got so far as to know them.
    `estimated_gain_ms` is what the planner expected the filter to save, not what was measured, and never below 0 for one that was
    applied; `estimated_cost_ms` what it took to get there: the wait, reading keys and asking for verdicts. `fill_ms` is the time
    of the whole fill, which all filters of one stage share.
    With `gate` the scan waited for the build side. `rows_tested`: rows were tested above the scan one by one, beside its packs;
    `rows_seen` and `rows_dropped` count them, and `passed_expected` is the share that the planner expected to pass, `passed_actual`
    the one that did. `ran` is False where the scan did not run after all (its stage's result was that of an equal one, or not
    needed): what was expected of it can't have come about then; None where that can't be told. `index_reasons`: codes of what is
    the matter with indexes of the probe table (docs/indexes.md); `detail` has the sentences. `rows_reason`: the code of why rows
    were tested one by one or not, empty where the filter never came to that.
    """

    id: str
    kind: str | None
    build: str
    probe: str
    join_type: str
    strategy: str
    decision: str
    reason: str
    keys: int | None = None
    build_rows: int | None = None
    fill_ms: float | None = None
    packs_total: int | None = None
    packs_kept: int | None = None
    rows_total: int | None = None
    rows_kept: int | None = None
    estimated_gain_ms: float | None = None
    detail: str = ""
    gate: bool = False
    rows_tested: bool | None = None
    rows_dropped: int | None = None
    rows_seen: int | None = None
    passed_expected: float | None = None
    index_reasons: tuple[str, ...] = ()
    ran: bool | None = None
    estimated_cost_ms: float | None = None
    rows_reason: str = ""
    placeholder: str = ""

    @property
    def estimated_net_ms(self) -> float | None:
        """The expected gain less all that the filter has cost; None where no gain is known."""
        return None if self.estimated_gain_ms is None else self.estimated_gain_ms - (self.estimated_cost_ms or 0.0)

    @property
    def passed_actual(self) -> float | None:
        """Of the rows that were tested, the share that passed; None where none was."""
        return 1.0 - self.rows_dropped / self.rows_seen if self.rows_seen and self.rows_dropped is not None else None

    def to_dict(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "index_reasons": list(self.index_reasons),
            "passed_actual": self.passed_actual,
            "estimated_net_ms": self.estimated_net_ms,
        }

    def cells(self) -> list[str]:
        """The row of this candidate under COLUMNS."""
        packs, rows = share_text(self.packs_kept, self.packs_total), share_text(self.rows_kept, self.rows_total)
        join = strategy_text(self.join_type, self.strategy, self.gate)
        named = [self.id, join, self.kind or "", self.decision]
        return [*named, number_text(self.keys), packs, rows, number_text(self.estimated_gain_ms)]

    def sentence(self) -> str:
        text = f"{self.id}: {self.reason}.{' ' if self.detail else ''}{self.detail}"
        return f"{text} {NOT_RUN_SENTENCE}" if self.decision == APPLIED and self.ran is False else text


@dataclass(frozen=True, repr=False)
class Report(ShownAsTable):
    """What each filter of one executed query did. Printed as text, shown as a table in a notebook.

    `query` is the description that the query ran under, or its execution id; `planning_ms` and `filling_ms` are sums over all
    re-plans and fills. `reason`, a code, and its sentence `detail` are empty unless there is no filter to report of, and no
    star-tree answered.
    """

    query: str
    execution: int | None
    session: str | None
    filters: tuple[FilterReport, ...]
    scans: tuple[ScanReport, ...]
    warnings: tuple[str, ...]
    planning_ms: float
    reason: str = ""
    detail: str = ""
    filling_ms: float = 0.0
    star_trees: tuple[TreeReport, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dicts, numbers and texts, ready for JSON."""
        filters, scans = [item.to_dict() for item in self.filters], [asdict(item) for item in self.scans]
        trees = [item.to_dict() for item in self.star_trees]
        return {**asdict(self), "filters": filters, "scans": scans, "warnings": list(self.warnings), "star_trees": trees}

    def _table(self) -> Table:
        applied = sum(item.decision == APPLIED for item in self.filters)
        times = f"planned in {number_text(self.planning_ms)} ms"
        times += f", filled in {number_text(self.filling_ms)} ms" if self.filling_ms else ""
        answered = used_tree(self.star_trees) and not self.filters
        filters = "" if answered else f"{applied} of {counted(len(self.filters), 'candidate')} applied"
        notes = [item.sentence() for item in self.filters] + [scan.sentence() for scan in self.scans]
        notes += [tree.sentence() for tree in self.star_trees]
        return Table(
            title=f"{self.query}: {', '.join(filter(None, (filters, trees_text(self.star_trees), times)))}",
            columns=COLUMNS,
            rows=[item.cells() for item in self.filters],
            notes=[*notes, *(f"warning: {text}" for text in self.warnings)],
            empty=self.detail or ("" if answered else NOTHING_CONSIDERED),
        )


def report_from_record(record: Json) -> Report:
    """A report of the record of one execution.

    A candidate is planned anew at every re-plan and keeps its `key_id`: it is one entry here, or as many as one plan has copies
    of that join. What a fill said of any of its placeholders is the last word on it, else its latest planning is; a
    plan that never came to a fill counts as skipped.
    """
    decisions, fills = list(record.get("decisions") or ()), list(record.get("fills") or ())
    row_filters = record.get("row_filters") or ()
    outcomes = _fill_outcomes(fills, _row_counts(row_filters), _ran(record.get("scans") or (), row_filters))
    merged = list(_merged(decisions, outcomes, _unassigned_error(decisions, fills)))
    filters = with_names(_without_earlier_forms([entry for entry, is_minor in merged if not is_minor]))
    minor = next((asdict(entry) for entry, is_minor in merged if is_minor), None)
    idle = PLANNER_FAILED if _errors(decisions) else str(record.get("idle") or "")
    trees = tree_reports(decisions, record.get("tree_rows"))
    reason, detail = ("", "") if filters or used_tree(trees) else why_empty(minor, idle)
    execution = record.get("execution")
    return Report(
        query=str(record.get("description") or ("an RDD" if execution is None else f"execution {execution}")),
        filters=filters,
        scans=tuple(scan_report(scan) for scan in record.get("scans") or () if _has_run(scan)),
        warnings=tuple(dict.fromkeys([*warnings_of([record, *decisions]), *_errors(decisions), *_errors(fills)])),
        planning_ms=float(sum(decision.get("ms") or 0.0 for decision in decisions)),
        execution=execution,
        session=record.get("session"),
        reason=reason,
        detail=detail,
        filling_ms=float(sum(fill.get("ms") or 0.0 for fill in fills)),
        star_trees=trees,
    )


def with_names(entries: Iterable[FilterReport]) -> tuple[FilterReport, ...]:
    """The same with the names that go by their sides; one without sides keeps its placeholder's number."""
    entries = list(entries)
    names = numbered(filter_name(entry.probe, entry.build) or entry.placeholder for entry in entries)
    return tuple(replace(entry, id=name) for entry, name in zip(entries, names, strict=True))


def _without_earlier_forms(entries: list[FilterReport]) -> list[FilterReport]:
    """Without joins that adaptive execution planned in another way later, and with filters then: each pair of keys stands once."""
    filled = {(entry.build, entry.probe, entry.join_type) for entry in entries if entry.ran is not None}
    return [each for each in entries if each.reason != NOT_FILLED or (each.build, each.probe, each.join_type) not in filled]


def _has_run(scan: Json) -> bool:
    """A scan of a plan that never ran has told none of its packs, and no row."""
    return scan.get("packs_total") != 0 or bool(scan.get("numOutputRows"))


def _errors(entries: list[Json]) -> list[str]:
    return [str(entry["error"]) for entry in entries if entry.get("error")]


def _unassigned_error(decisions: list[Json], fills: list[Json]) -> str | None:
    """The latest error that names no candidate: it is why those that were planned were not filled. Star-trees plan none."""
    nameless = [d for d in decisions if not d.get("candidates") and "star_trees" not in d] + [
        f for f in fills if not f.get("filters")
    ]
    return next(reversed(_errors(nameless)), None)


def _row_counts(row_filters: Iterable[Json]) -> dict[str, dict[str, int]]:
    """By placeholder id: rows tested and dropped. Of a stage that was planned twice and ran once one copy has counts."""
    found: dict[str, dict[str, int]] = {}
    for counts in row_filters:
        seen, dropped = int(counts.get("rows_tested") or 0), int(counts.get("rows_dropped") or 0)
        before = found.get(str(counts.get("filter")), {"rows_seen": 0})
        found[str(counts.get("filter"))] = before if before["rows_seen"] > seen else {"rows_seen": seen, "rows_dropped": dropped}
    return found


def _ran(scans: Iterable[Json], row_filters: Iterable[Json]) -> dict[str, bool]:
    """By placeholder id: whether its scan has run, or its test has seen a row. A scan tells its packs only when it runs."""
    found: dict[str, bool] = {}
    for scan in scans:
        for name in scan.get("placeholders") or ():
            found[str(name)] = found.get(str(name), False) or bool(scan.get("packs_total"))
    for counts in row_filters:
        name = str(counts.get("filter"))
        found[name] = found.get(name, False) or bool(counts.get("rows_tested"))
    return found


def _fill_outcomes(fills: list[Json], rows: Mapping[str, Mapping[str, int]], ran: Mapping[str, bool]) -> dict[str, Json]:
    """By placeholder id: what the latest fill said; its time and error, what the row test counted and whether it ran are added."""
    return {
        str(item["id"]): {
            **item,
            "fill_ms": fill.get("ms"),
            **rows.get(str(item["id"]), {}),
            "ran": ran.get(str(item["id"])),
            **_failure(fill.get("error")),
        }
        for fill in fills
        for item in fill.get("filters") or ()
    }


def _failure(error: object) -> dict[str, str]:
    return {"decision": FAILED, "reason": PLANNER_FAILED, "detail": str(error)} if error else {}


def _merged(decisions: list[Json], outcomes: dict[str, Json], error: str | None) -> Iterator[tuple[FilterReport, bool]]:
    """The entries of each `key_id`, in the order of first planning; then fills whose planning was not recorded.

    With each: whether it is worth no line, as it is minor and was not applied.
    """
    placeholders, copies = _placeholders(decisions)
    for key_id, candidate in latest_candidates(decisions).items():
        own = placeholders.get(key_id, [])
        filled = [name for name in own if name in outcomes][-copies[key_id] :]
        entries = [_entry(name, {**candidate, "index_reasons": (), **outcomes[name]}) for name in filled]
        entries = entries or [_unfilled(_entry(own[-1] if own else "", candidate), error)]
        yield from ((entry, bool(candidate.get("minor")) and entry.decision != APPLIED) for entry in entries)
    known = {name for names in placeholders.values() for name in names}
    yield from ((_entry(name, outcome), False) for name, outcome in outcomes.items() if name not in known)


def _placeholders(decisions: list[Json]) -> tuple[dict[str, list[str]], Counter[str]]:
    """By `key_id`: the ids of all its placeholders, and how often it stands in one plan.

    The arms of a union can be copies of one join, with one `key_id` and a filter for each: none may hide another.
    """
    names: dict[str, list[str]] = {}
    copies: Counter[str] = Counter()
    for decision in decisions:
        candidates = decision.get("candidates") or ()
        copies |= Counter(str(candidate["key_id"]) for candidate in candidates)
        for candidate in candidates:
            if candidate.get("placeholder"):
                names.setdefault(str(candidate["key_id"]), []).append(str(candidate["placeholder"]))
    return names, copies


def _unfilled(entry: FilterReport, error: str | None) -> FilterReport:
    if entry.decision in (SKIPPED, FAILED):
        return entry
    what = "no index was asked" if entry.strategy == STATIC else "its keys were never read"
    reason, detail = (PLANNER_FAILED, error) if error else (NOT_FILLED, NOT_FILLED_SENTENCE.format(what=what))
    return replace(entry, decision=FAILED if error else SKIPPED, reason=reason, detail=detail)


def _entry(name: str, known: Json) -> FilterReport:
    texts = ("build", "probe", "join_type", "strategy", "decision", "reason", "detail", "rows_reason")
    packs = ("packs_total", "packs_kept", "rows_total", "rows_kept", "rows_dropped", "rows_seen", "passed_expected")
    numbers = ("keys", "build_rows", "fill_ms", *packs, "estimated_gain_ms", "estimated_cost_ms")
    values: dict[str, Any] = {key: str(known.get(key) or "") for key in texts}
    values.update({key: known.get(key) for key in numbers})
    values["index_reasons"] = tuple(str(code) for code in known.get("index_reasons") or ())
    return FilterReport(
        id="",
        placeholder=name,
        kind=known.get("kind"),
        gate=known.get("gate") is True,
        rows_tested=known.get("rows"),
        ran=known.get("ran"),
        **values,
    )
