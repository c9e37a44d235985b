"""What the layer would do with a query that has not run: the filters it plans, and why other join keys get none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from planner.counted import counted
from rtfilter.report_names import filter_name, numbered
from rtfilter.report_table import Column, ShownAsTable, Table, number_text
from rtfilter.report_trees import TreeReport, tree_reports, trees_text, used_tree

Json = Mapping[str, Any]

PLANNED, FAILED = "planned", "failed"
PLANNER_FAILED = "PLANNER_FAILED"
# A re-plan finds the scan's stage running. What was decided before it started is the reason that counts.
ALREADY_STARTED = "ALREADY_STARTED"
# Why a query has nothing to report of: by reason code.
NO_PART = {
    "LAYER_OFF": "The layer was off: rtfilter.enabled was not set for this query.",
    "ADAPTIVE_OFF": "Adaptive execution was off (spark.sql.adaptive.enabled): the layer leaves such plans alone.",
    "NO_JOIN": "The plan has no join, and no condition on a table with an index.",
    "NO_EQUALITY": "No join of the plan has an equality between its two sides: filters are made of equal join keys.",
    "NO_FILE_SCAN": "No table of the plan is read by Spark's own file scan. Cached tables, tables of data source V2 "
    "(spark.sql.sources.useV1SourceList) and other sources get no filter.",
    "NOTHING_DUE": "The planner was not asked: the frame's plan was made while the layer was off, or no scan was left to filter.",
    PLANNER_FAILED: "The planner failed, so nothing is known of this query's joins.",
}
NOTHING_CONSIDERED = "No pair of join keys was considered."


def latest_candidates(answers: Iterable[Json]) -> dict[str, dict[str, Any]]:
    """By `key_id`, in the order of first appearance: each candidate as the latest answer has it that could still decide on it.

    An answer with an error failed as a whole, and so did its candidates. Of copies in one answer one that is planned counts.
    """
    latest: dict[str, dict[str, Any]] = {}
    for answer in answers:
        planned: set[str] = set()
        error = answer.get("error")
        failure = {"decision": FAILED, "reason": PLANNER_FAILED, "detail": str(error)} if error else {}
        kinds = {placeholder["id"]: placeholder.get("kinds") for placeholder in answer.get("placeholders") or ()}
        for candidate in answer.get("candidates") or ():
            key_id = str(candidate["key_id"])
            if key_id in planned or (key_id in latest and candidate.get("reason") == ALREADY_STARTED):
                continue
            latest[key_id] = {"kinds": kinds.get(candidate.get("placeholder")), **candidate, **failure}
            if candidate.get("decision") == PLANNED:
                planned.add(key_id)
    return latest


def shown_candidates(answers: Iterable[Json]) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """The latest candidates that are worth a line, and the first of those that are not (`minor`)."""
    found = list(latest_candidates(answers).values())
    return [each for each in found if not each.get("minor")], next((each for each in found if each.get("minor")), None)


def strategy_text(join_type: str, strategy: str, gate: bool) -> str:
    """How a join is carried out, and whether the scan that is filtered has to wait for its build side; `static`: no join at all."""
    return f"{join_type} {strategy}{', gated' if gate else ''}".strip()


def _errors(answers: Iterable[Json]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(answer["error"]) for answer in answers if answer.get("error")))


def warnings_of(answers: Iterable[Json]) -> tuple[str, ...]:
    """What the planner says about hints that mean nothing; each sentence once."""
    return tuple(dict.fromkeys(str(text) for answer in answers for text in answer.get("warnings") or ()))


def _notes(errors: Iterable[str], warnings: Iterable[str]) -> list[str]:
    return [*(f"error: {error}" for error in errors), *(f"warning: {text}" for text in warnings)]


@dataclass(frozen=True)
class PlannedFilter:
    """A filter that would be built: `kinds` is what the planner chooses from once it knows the keys.

    `id` is its name for people, as in reports. A composite filter has several columns in `build` and `probe`. With `gate` the scan
    of the probe side waits for the build side. `estimated_gain_ms` is None where nothing can be said before the keys are there.
    """

    build: str
    probe: str
    join_type: str
    strategy: str
    kinds: str
    estimated_gain_ms: float | None
    detail: str
    gate: bool = False
    id: str = ""

    def cells(self) -> list[str]:
        gain = number_text(self.estimated_gain_ms) or "known at fill"
        return [self.id, strategy_text(self.join_type, self.strategy, self.gate), self.kinds, gain]


@dataclass(frozen=True, repr=False)
class Explanation(ShownAsTable):
    """The filters that are planned for a query, and the star-trees that would answer its aggregates; nothing has run."""

    filters: tuple[PlannedFilter, ...]
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    trees: tuple[TreeReport, ...] = ()

    @classmethod
    def from_answers(cls, answers: Iterable[Json]) -> Explanation:
        """Out of the planner's `plan` answers (docs/protocol.md)."""
        answers = list(answers)
        candidates, _ = shown_candidates(answers)
        planned = [_planned_filter(candidate) for candidate in candidates if candidate.get("decision") == PLANNED]
        names = numbered(filter_name(each.probe, each.build) for each in planned)
        named = tuple(replace(each, id=name) for each, name in zip(planned, names, strict=True))
        return cls(named, _errors(answers), warnings_of(answers), tuple(each for each in tree_reports(answers) if each.used))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dicts and texts, ready for JSON."""
        filters, trees = [asdict(item) for item in self.filters], [item.to_dict() for item in self.trees]
        return {"filters": filters, "errors": list(self.errors), "warnings": list(self.warnings), "trees": trees}

    def _table(self) -> Table:
        used = f", {counted(len(self.trees), 'star-tree')} used" if self.trees else ""
        return Table(
            title=f"{counted(len(self.filters), 'filter')} planned{used}",
            columns=[*map(Column, ("filter", "join", "kinds")), Column("gain ms", numeric=True)],
            rows=[item.cells() for item in self.filters],
            notes=[*(item.sentence() for item in self.trees), *_notes(self.errors, self.warnings)],
            empty="" if self.trees else "No filter is planned; rtfilter.why_not(df) gives the reason for every join key.",
        )


@dataclass(frozen=True)
class JoinKeyReason:
    """One pair of join keys with a scan that it could filter, or several pairs together; or (`static`) the query's own conditions.

    `id` is its name for people, as in reports. `decision` is `planned`, `skipped` or `failed`, `reason` its code and `detail` its
    sentence. `index_reasons`: codes of what was the matter with indexes of the probe table at the latest look (docs/indexes.md);
    `detail` has the sentences.
    """

    build: str
    probe: str
    join_type: str
    strategy: str
    decision: str
    reason: str
    detail: str
    index_reasons: tuple[str, ...] = ()
    id: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "index_reasons": list(self.index_reasons)}

    def cells(self) -> list[str]:
        return [self.id, strategy_text(self.join_type, self.strategy, gate=False), self.decision, self.reason]

    def sentence(self) -> str:
        return f"{self.id}: {self.detail}"


@dataclass(frozen=True, repr=False)
class WhyNot(ShownAsTable):
    """Every pair of join keys of a query, and for those without a filter the reason; nothing has run.

    `reason` and `detail` say why there is none, where there is none and no star-tree would answer: a code and its sentence.
    `trees`: for every aggregate and star-tree the first check that fails.
    """

    keys: tuple[JoinKeyReason, ...]
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    reason: str = ""
    detail: str = ""
    trees: tuple[TreeReport, ...] = ()

    @classmethod
    def from_answers(cls, answers: Iterable[Json], idle: str = "") -> WhyNot:
        """Out of the planner's `plan` answers (docs/protocol.md); `idle` is the code of why it was not asked."""
        answers = list(answers)
        candidates, minor = shown_candidates(answers)
        keys = [_join_key_reason(candidate) for candidate in candidates]
        names = numbered(filter_name(each.probe, each.build) for each in keys)
        named = tuple(replace(each, id=name) for each, name in zip(keys, names, strict=True))
        errors = _errors(answers)
        trees = tree_reports(answers)
        why = ("", "") if keys or used_tree(trees) else why_empty(minor, PLANNER_FAILED if errors else idle)
        return cls(named, errors, warnings_of(answers), *why, trees)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dicts and texts, ready for JSON."""
        return {
            **asdict(self),
            "keys": [item.to_dict() for item in self.keys],
            "trees": [item.to_dict() for item in self.trees],
            "errors": list(self.errors),
            "warnings": list(self.warnings),
        }

    def _table(self) -> Table:
        without = sum(item.decision != PLANNED for item in self.keys)
        keys = f"{counted(len(self.keys), 'pair')} of join keys, {without} without a filter"
        sentences = [item.sentence() for item in self.keys if item.detail] + [item.sentence() for item in self.trees]
        return Table(
            title=", ".join(filter(None, (keys, trees_text(self.trees)))),
            columns=[*map(Column, ("filter", "join", "decision", "reason"))],
            rows=[item.cells() for item in self.keys],
            notes=[*sentences, *_notes(self.errors, self.warnings)],
            empty=self.detail or ("" if used_tree(self.trees) else NOTHING_CONSIDERED),
        )


def why_empty(minor: Json | None, idle: str) -> tuple[str, str]:
    """Why there is no line, a code and its sentence: what is said of a candidate that is worth none, else why none was made."""
    if minor is not None:
        return str(minor.get("reason") or ""), str(minor.get("detail") or "")
    return idle, NO_PART.get(idle, "")


def _join_key_reason(candidate: Json) -> JoinKeyReason:
    texts = ("build", "probe", "join_type", "strategy", "decision", "reason", "detail")
    codes = tuple(str(code) for code in candidate.get("index_reasons") or ())
    return JoinKeyReason(**{name: str(candidate.get(name) or "") for name in texts}, index_reasons=codes)


def _planned_filter(candidate: Json) -> PlannedFilter:
    texts = ("build", "probe", "join_type", "strategy", "kinds", "detail")
    values: dict[str, Any] = {name: str(candidate.get(name) or "") for name in texts}
    gate = candidate.get("gate") is True
    return PlannedFilter(estimated_gain_ms=candidate.get("estimated_gain_ms"), gate=gate, **values)
