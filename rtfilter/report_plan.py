"""What the layer would do with a query that has not run: the filters it plans, and why other join keys get none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rtfilter.report_table import Column, ShownAsTable, Table, number_text

Json = Mapping[str, Any]

PLANNED, FAILED = "planned", "failed"
PLANNER_FAILED = "PLANNER_FAILED"
# A re-plan finds the scan's stage running. What was decided before it started is the reason that counts.
ALREADY_STARTED = "ALREADY_STARTED"
NO_JOIN_KEY = "No pair of join keys: the plan has no join, or no file scan that is still to run."


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

    A composite filter has several columns in `build` and `probe`. With `gate` the scan of the probe side waits for the build side.
    `estimated_gain_ms` is None where nothing can be said before the keys are there.
    """

    build: str
    probe: str
    join_type: str
    strategy: str
    kinds: str
    estimated_gain_ms: float | None
    detail: str
    gate: bool = False

    def cells(self) -> list[str]:
        gain = number_text(self.estimated_gain_ms) or "known at fill"
        return [self.build, self.probe, strategy_text(self.join_type, self.strategy, self.gate), self.kinds, gain]


@dataclass(frozen=True, repr=False)
class Explanation(ShownAsTable):
    """The filters that are planned for a query; nothing has run."""

    filters: tuple[PlannedFilter, ...]
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def from_answers(cls, answers: Iterable[Json]) -> Explanation:
        """Out of the planner's `plan` answers (docs/protocol.md)."""
        answers = list(answers)
        candidates = latest_candidates(answers).values()
        planned = tuple(_planned_filter(candidate) for candidate in candidates if candidate.get("decision") == PLANNED)
        return cls(planned, _errors(answers), warnings_of(answers))

    def to_dict(self) -> dict[str, Any]:
        return {"filters": [asdict(item) for item in self.filters], "errors": list(self.errors), "warnings": list(self.warnings)}

    def _table(self) -> Table:
        return Table(
            title=f"{len(self.filters)} filters planned",
            columns=[*map(Column, ("keys of", "filter", "join", "kinds")), Column("gain ms", numeric=True)],
            rows=[item.cells() for item in self.filters],
            notes=_notes(self.errors, self.warnings),
            empty="No filter is planned; rtfilter.why_not(df) gives the reason for every join key.",
        )


@dataclass(frozen=True)
class JoinKeyReason:
    """One pair of join keys with a scan that it could filter, or several pairs together; or (`static`) the query's own conditions.

    `decision` is `planned`, `skipped` or `failed`, `reason` its code and `detail` its sentence. `index_reasons`: codes of what was
    the matter with indexes of the probe table at the latest look (docs/indexes.md); `detail` has the sentences.
    """

    build: str
    probe: str
    join_type: str
    strategy: str
    decision: str
    reason: str
    detail: str
    index_reasons: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "index_reasons": list(self.index_reasons)}

    def cells(self) -> list[str]:
        return [self.build, self.probe, self.join_type, self.strategy, self.decision, self.reason, self.detail]


@dataclass(frozen=True, repr=False)
class WhyNot(ShownAsTable):
    """Every pair of join keys of a query, and for those without a filter the reason; nothing has run."""

    keys: tuple[JoinKeyReason, ...]
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def from_answers(cls, answers: Iterable[Json]) -> WhyNot:
        """Out of the planner's `plan` answers (docs/protocol.md)."""
        answers = list(answers)
        keys = tuple(_join_key_reason(candidate) for candidate in latest_candidates(answers).values())
        return cls(keys, _errors(answers), warnings_of(answers))

    def to_dict(self) -> dict[str, Any]:
        return {"keys": [item.to_dict() for item in self.keys], "errors": list(self.errors), "warnings": list(self.warnings)}

    def _table(self) -> Table:
        without = sum(item.decision != PLANNED for item in self.keys)
        return Table(
            title=f"{len(self.keys)} pairs of join keys, {without} of them without a filter",
            columns=[*map(Column, ("build", "probe", "join", "strategy", "filter", "reason", "because"))],
            rows=[item.cells() for item in self.keys],
            notes=_notes(self.errors, self.warnings),
            empty=NO_JOIN_KEY,
        )


def _join_key_reason(candidate: Json) -> JoinKeyReason:
    texts = ("build", "probe", "join_type", "strategy", "decision", "reason", "detail")
    codes = tuple(str(code) for code in candidate.get("index_reasons") or ())
    return JoinKeyReason(**{name: str(candidate.get(name) or "") for name in texts}, index_reasons=codes)


def _planned_filter(candidate: Json) -> PlannedFilter:
    texts = ("build", "probe", "join_type", "strategy", "kinds", "detail")
    values: dict[str, Any] = {name: str(candidate.get(name) or "") for name in texts}
    gate = candidate.get("gate") is True
    return PlannedFilter(estimated_gain_ms=candidate.get("estimated_gain_ms"), gate=gate, **values)
