"""Static filters: what a query itself asks of a scan, judged by the indexes of its table before anything runs.

A condition is a JSON tree of docs/protocol.md ("Static predicates"). Of a scan's conditions those are used that could reject a pack
by the columns that indexes cover.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.inputs.settings import PlanSettings
from planner.inputs.table_hints import refuse_by_cost
from planner.legality.lineage import refuse_corrupt
from planner.legality.row_order import keeps_splits, refuse_by_place
from planner.placement.answer import Candidate
from planner.plan.columns import as_padded, padded_to
from planner.plan.nodes import Scan, StaticCondition
from planner.plan.tree import Plan
from planner.reasons import (
    CONDITION_NOT_JUDGED,
    FIELD_ID_READ,
    INDEX_LACKS_COLUMN,
    MAY_RAISE,
    NOT_PLAIN_PARQUET,
    PLANNED,
    Refusal,
)
from planner.static.index_remarks import ScanIndex, codes_of

STATIC = "static"
Tree = Mapping[str, Any]


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


def columns_of(tree: Tree) -> frozenset[str]:
    """The columns that a condition speaks of."""
    own = {tree["column"]} if isinstance(tree.get("column"), str) else set()
    return frozenset(own.union(*(columns_of(part) for part in _parts(tree))))


def _mentioned(tree: Tree) -> frozenset[str]:
    """The columns that a condition speaks of, in whatever form."""
    named = tree.get("columns")
    own = {name for name in named if isinstance(name, str)} if isinstance(named, list) else set[str]()
    return columns_of(tree).union(own, *(_mentioned(part) for part in _parts(tree)))


def could_reject(tree: Tree, covered: frozenset[str]) -> bool:
    """Whether knowing these columns is enough to find that a condition holds for no row."""
    op = tree.get("op")
    if op == "and":
        return any(could_reject(part, covered) for part in _parts(tree))
    if op == "or":
        return bool(_parts(tree)) and all(could_reject(part, covered) for part in _parts(tree))
    if op == "not":
        return _is_known(tree, covered)
    return tree.get("column") in covered


def _is_known(tree: Tree, covered: frozenset[str]) -> bool:
    parts = _parts(tree)
    return all(_is_known(part, covered) for part in parts) if parts else tree.get("column") in covered


def _without_needless(conditions: Sequence[StaticCondition]) -> list[StaticCondition]:
    """Without IS NOT NULL, which Spark adds to every comparison, where something else is asked of the column."""
    compared = frozenset[str]().union(*(_mentioned(each.test) for each in conditions if each.test.get("op") != "is_not_null"))
    return [each for each in conditions if each.test.get("op") != "is_not_null" or each.test.get("column") not in compared]


def _needed(judged: Sequence[StaticCondition]) -> list[StaticCondition]:
    """The same of what is judged: there a column that a condition only mentions is not asked about."""
    compared = frozenset[str]().union(*(columns_of(each.test) for each in judged if each.test.get("op") != "is_not_null"))
    return [each for each in judged if each.test.get("op") != "is_not_null" or each.test.get("column") not in compared]


def _that_hide_no_error(conditions: Sequence[StaticCondition]) -> list[StaticCondition]:
    """Those that a row fails before it reaches a condition that may raise: without the row there is no error less.

    Conditions are evaluated in their order, up to the first that is false. After one that is null Spark stops where it generates
    code for the whole filter, else it goes on: so the columns must have been found not to be null. Code for IS NOT NULL stands just
    before the column's next use, or last of all.
    """
    first = next((number for number, condition in enumerate(conditions) if condition.may_raise), None)
    if first is None:
        return list(conditions)
    before = conditions[:first]
    there = frozenset(str(each.test.get("column")) for each in before if each.test.get("op") == "is_not_null")
    return [each for each in before if each.test.get("op") != "is_not_null" and _is_never_null(each.test, there)]


def _is_never_null(tree: Tree, there: frozenset[str]) -> bool:
    """Whether a condition is true or false in rows in which the columns `there` are not null."""
    if tree.get("op") in ("is_null", "is_not_null", "same"):
        return True
    parts = _parts(tree)
    return all(_is_never_null(part, there) for part in parts) if parts else tree.get("column") in there


def _parts(tree: Tree) -> list[Tree]:
    parts = tree.get("args")
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []


def plan_statics(
    plan: Plan, settings: PlanSettings, indexes: Mapping[int, Sequence[ScanIndex]]
) -> tuple[tuple[StaticPlaceholder, ...], tuple[Candidate, ...]]:
    """Static placeholders, and candidates for each scan (by number) whose table has an index."""
    placeholders: list[StaticPlaceholder] = []
    candidates: list[Candidate] = []
    for number, found in sorted(indexes.items()):
        scan = plan.nodes[number]
        if not isinstance(scan, Scan) or not scan.static or not found:
            continue
        covered = frozenset[str]().union(*(index.covers for index in found if index.refusal is None))
        judged = [condition for condition in scan.static if could_reject(condition.test, covered)]
        asked = _needed([condition for condition in _that_hide_no_error(scan.static) if condition in judged])
        refusal = _refusal(plan, scan, settings, found, judged_any=bool(judged), asked_any=bool(asked))
        placeholder = None
        if refusal is None:
            predicate: Tree = {"op": "and", "args": [condition.test for condition in asked]}
            columns = columns_of(predicate)
            ids = tuple(column.id for column in scan.columns if column.name in columns)
            label = _text(asked)
            name, keep = f"{settings.decision}.s{len(placeholders)}", keeps_splits(plan, number, settings.goes_on)
            placeholder = StaticPlaceholder(name, number, ids, label, predicate, keep)
            placeholders.append(placeholder)
        outcome, codes = refusal or _planned(found), codes_of(_said(found))
        shown = _without_needless(scan.static) if placeholder is None else asked
        candidates.append(_candidate(scan, shown, placeholder, outcome, codes if outcome.reason in (PLANNED, *codes) else ()))
        if placeholder is not None and _asks_for_nulls_only(asked):
            # The condition that Spark has added this one for is what the user knows.
            meant = _refuse_conditions([each for each in scan.static if not _asks_for_nulls_only([each])], found)
            if meant is not None and meant.reason != INDEX_LACKS_COLUMN:
                candidates.append(_candidate(scan, _without_needless(scan.static), None, meant, ()))
    return tuple(placeholders), tuple(candidates)


def _refusal(
    plan: Plan, scan: Scan, settings: PlanSettings, indexes: Sequence[ScanIndex], *, judged_any: bool, asked_any: bool
) -> Refusal | None:
    forbidden = refuse_by_cost(settings, scan.hints, scan.table)
    if forbidden is not None:
        return forbidden
    by_place = refuse_by_place(plan, scan.id)
    if by_place is not None:
        return by_place
    if not scan.plain_parquet:
        return Refusal(NOT_PLAIN_PARQUET, f"{scan.table} is not read by Spark's own Parquet reader.")
    if settings.field_id_read:
        return Refusal(
            FIELD_ID_READ,
            "spark.sql.parquet.fieldId.read.enabled is on: columns are matched by field id, and indexes know them by name.",
        )
    if scan.skips_corrupt:
        return refuse_corrupt(scan)
    if asked_any:
        return None
    if judged_any:
        return Refusal(
            MAY_RAISE, "A condition before it can raise an error, and a pack that is not read may hold the row that raises it."
        )
    unusable = [index.refusal for index in indexes if index.refusal is not None]
    if unusable:
        return Refusal(unusable[0].reason, " ".join(each.detail for each in _said(indexes)))
    return _refuse_conditions(scan.static, indexes)


def _refuse_conditions(conditions: Sequence[StaticCondition], indexes: Sequence[ScanIndex]) -> Refusal | None:
    """Why conditions that no index can judge are not judged; None for no condition."""
    if not conditions:
        return None
    indexes = [index for index in indexes if index.refusal is None] or indexes
    names = _names(indexes)
    said = f"{names[0].upper()}{names[1:]} {'knows' if len(indexes) == 1 else 'know'}"
    mentioned = frozenset[str]().union(*(_mentioned(condition.test) for condition in conditions))
    mistyped = sorted(mentioned & frozenset[str]().union(*(index.mistyped for index in indexes)))
    if mistyped:
        return Refusal(CONDITION_NOT_JUDGED, f"{said} {', '.join(mistyped)} as another type than the query reads.")
    known = sorted(mentioned & frozenset[str]().union(*(index.covers for index in indexes)))
    if known:
        whose = "its" if len(known) == 1 else "their"
        what = f"{said} {', '.join(known)}, but no condition of the query can be judged by {whose} values alone."
        widths = sorted({width for condition in conditions if (width := padded_to(condition.text)) is not None})
        padded = f" {as_padded(widths[0])}" if widths else ""
        return Refusal(CONDITION_NOT_JUDGED, what + padded)
    columns = f": {', '.join(sorted(mentioned))}" if mentioned else ""
    return Refusal(INDEX_LACKS_COLUMN, f"{said} no column that the query asks about{columns}.")


def _names(indexes: Sequence[ScanIndex]) -> str:
    found = sorted(index.name for index in indexes)
    return f"index {found[0]}" if len(found) == 1 else f"the indexes {', '.join(found)}"


def _planned(indexes: Sequence[ScanIndex]) -> Refusal:
    names = _names([index for index in indexes if index.refusal is None])
    sentences = [f"To be judged by {names} before the scan starts.", *(each.detail for each in _said(indexes))]
    return Refusal(PLANNED, " ".join(sentences))


def _said(indexes: Sequence[ScanIndex]) -> list[Refusal]:
    return [each for index in indexes for each in index.said]


def _text(conditions: Sequence[StaticCondition]) -> str:
    return " AND ".join(condition.text for condition in conditions)


def _asks_for_nulls_only(conditions: Sequence[StaticCondition]) -> bool:
    """Whether all that is asked is IS NOT NULL, which Spark adds to what it joins and compares by."""
    return all(condition.test.get("op") == "is_not_null" for condition in conditions)


def _candidate(
    scan: Scan, shown: Sequence[StaticCondition], placeholder: StaticPlaceholder | None, outcome: Refusal, codes: Sequence[str]
) -> Candidate:
    label = _text(shown)
    columns = sorted(frozenset[str]().union(*(_mentioned(condition.test) for condition in shown)))
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
        minor=_asks_for_nulls_only(shown) or outcome.reason == INDEX_LACKS_COLUMN,
    )


def with_statics(answer: Mapping[str, Any], statics: tuple[tuple[StaticPlaceholder, ...], tuple[Candidate, ...]]) -> dict[str, Any]:
    """The whole answer to a plan in the form of the protocol; `statics` is left out where there are none."""
    placeholders, candidates = statics
    said = {**answer, "candidates": [*answer["candidates"], *(each.to_dict() for each in candidates)]}
    return {**said, "statics": [each.to_dict() for each in placeholders]} if placeholders else said
