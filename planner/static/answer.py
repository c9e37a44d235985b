"""The answer to what a query itself asks of scans: placeholders that need no keys, and candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.inputs.settings import PlanSettings
from planner.legality.row_order import keeps_splits
from planner.placement.answer import Candidate
from planner.plan.nodes import Scan, StaticCondition
from planner.plan.tree import Plan
from planner.reasons import INDEX_LACKS_COLUMN, PLANNED, Refusal
from planner.static.conditions import Tree, asks_for_nulls_only, columns_of, mentioned_in, without_needless
from planner.static.index_remarks import ScanIndex, codes_of
from planner.static.rules import names_of, refuse_conditions, said_of

STATIC = "static"


@dataclass(frozen=True, slots=True)
class StaticPlaceholder:
    """A filter that needs no keys: `predicate` on `columns` (expression ids) of node `scan`."""

    id: str
    scan: int
    columns: tuple[int, ...]
    label: str
    predicate: Tree
    keep_splits: bool

    def to_dict(self) -> dict[str, object]:
        """The form of the protocol; `keep_splits` is absent where it is false."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name != "keep_splits" or self.keep_splits}
        return {**fields, "columns": list(self.columns)}


def placeholder_of(
    plan: Plan, settings: PlanSettings, scan: Scan, asked: Sequence[StaticCondition], refusal: Refusal | None, number: int
) -> StaticPlaceholder | None:
    """The placeholder of a scan, the `number`th of the query; None where nothing is asked."""
    if refusal is not None:
        return None
    predicate: Tree = {"op": "and", "args": [condition.test for condition in asked]}
    columns = columns_of(predicate)
    ids = tuple(column.id for column in scan.columns if column.name in columns)
    keep = keeps_splits(plan, scan.id, settings.goes_on)
    return StaticPlaceholder(f"{settings.decision}.s{number}", scan.id, ids, _text(asked), predicate, keep)


@dataclass(frozen=True, slots=True)
class StaticAnswer:
    """What becomes of what a query asks of one scan."""

    placeholder: StaticPlaceholder | None
    candidates: tuple[Candidate, ...]


def answer_of_scan(
    scan: Scan,
    indexes: Sequence[ScanIndex],
    asked: Sequence[StaticCondition],
    refusal: Refusal | None,
    placeholder: StaticPlaceholder | None,
) -> StaticAnswer:
    """The placeholder with the candidates of its scan: one, or two where what users know is not what is asked."""
    outcome, codes = refusal or _planned(indexes), codes_of(said_of(indexes))
    shown = without_needless(scan.static) if placeholder is None else asked
    candidates = [_candidate(scan, shown, placeholder, outcome, codes if outcome.reason in (PLANNED, *codes) else ())]
    if placeholder is not None and asks_for_nulls_only(asked):
        # The condition that Spark has added this one for is what the user knows.
        meant = refuse_conditions([each for each in scan.static if not asks_for_nulls_only([each])], indexes)
        if meant is not None and meant.reason != INDEX_LACKS_COLUMN:
            candidates.append(_candidate(scan, without_needless(scan.static), None, meant, ()))
    return StaticAnswer(placeholder, tuple(candidates))


def _planned(indexes: Sequence[ScanIndex]) -> Refusal:
    names = names_of([index for index in indexes if index.refusal is None])
    sentences = [f"To be judged by {names} before the scan starts.", *(each.detail for each in said_of(indexes))]
    return Refusal(PLANNED, " ".join(sentences))


def _text(conditions: Sequence[StaticCondition]) -> str:
    return " AND ".join(condition.text for condition in conditions)


def _candidate(
    scan: Scan, shown: Sequence[StaticCondition], placeholder: StaticPlaceholder | None, outcome: Refusal, codes: Sequence[str]
) -> Candidate:
    label = _text(shown)
    columns = sorted(frozenset[str]().union(*(mentioned_in(condition.test) for condition in shown)))
    return Candidate(
        key_id=f"{STATIC}|{scan.table}|{'|'.join(str(column.id) for column in scan.columns)}|{label}",
        join=-1,
        pairs=(),
        scan=scan.id,
        placeholder=None if placeholder is None else placeholder.id,
        gate=False,
        build=label,
        probe=", ".join(f"{scan.table}.{column}" for column in columns) or scan.table,
        join_type="",
        strategy=STATIC,
        decision="skipped" if placeholder is None else "planned",
        reason=outcome.reason,
        detail=outcome.detail,
        index_reasons=tuple(codes),
        minor=asks_for_nulls_only(shown) or outcome.reason == INDEX_LACKS_COLUMN,
    )


def with_statics(answer: Mapping[str, Any], statics: Iterable[StaticAnswer]) -> dict[str, Any]:
    """The whole answer to a plan in the form of the protocol; `statics` is left out where there are none."""
    told = tuple(statics)
    candidates = [*answer["candidates"], *(candidate.to_dict() for each in told for candidate in each.candidates)]
    placeholders = [each.placeholder.to_dict() for each in told if each.placeholder is not None]
    return {**answer, "candidates": candidates, **({"statics": placeholders} if placeholders else {})}
