"""What is asked of the indexes of a scan, or why nothing is."""

from __future__ import annotations

from collections.abc import Sequence

from planner.inputs.settings import PlanSettings
from planner.inputs.table_hints import refuse_by_cost
from planner.legality.lineage import refuse_corrupt
from planner.legality.row_order import refuse_by_place
from planner.plan.columns import as_padded, padded_to
from planner.plan.nodes import Scan, StaticCondition
from planner.plan.tree import Plan
from planner.reasons import CONDITION_NOT_JUDGED, FIELD_ID_READ, INDEX_LACKS_COLUMN, MAY_RAISE, NOT_PLAIN_PARQUET, Refusal
from planner.static.conditions import could_reject, mentioned_in, needed, that_hide_no_error
from planner.static.index_remarks import ScanIndex


def judged_conditions(scan: Scan, indexes: Sequence[ScanIndex]) -> list[StaticCondition]:
    """The conditions that the columns of usable indexes could refute."""
    covered = frozenset[str]().union(*(index.covers for index in indexes if index.refusal is None))
    return [condition for condition in scan.static if could_reject(condition.test, covered)]


def asked_conditions(scan: Scan, judged: Sequence[StaticCondition]) -> list[StaticCondition]:
    """Those of the judged ones that are asked: they hide no error, and none of them is needless."""
    return needed([condition for condition in that_hide_no_error(scan.static) if condition in judged])


def refuse_static(
    plan: Plan,
    settings: PlanSettings,
    scan: Scan,
    indexes: Sequence[ScanIndex],
    judged: Sequence[StaticCondition],
    asked: Sequence[StaticCondition],
) -> Refusal | None:
    """Why nothing is asked of a scan's indexes."""
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
    if asked:
        return None
    if judged:
        return Refusal(
            MAY_RAISE, "A condition before it can raise an error, and a pack that is not read may hold the row that raises it."
        )
    unusable = [index.refusal for index in indexes if index.refusal is not None]
    if unusable:
        return Refusal(unusable[0].reason, " ".join(each.detail for each in said_of(indexes)))
    return refuse_conditions(scan.static, indexes)


def refuse_conditions(conditions: Sequence[StaticCondition], indexes: Sequence[ScanIndex]) -> Refusal | None:
    """Why conditions that no index can judge are not judged; None for no condition."""
    if not conditions:
        return None
    indexes = [index for index in indexes if index.refusal is None] or indexes
    names = names_of(indexes)
    said = f"{names[0].upper()}{names[1:]} {'knows' if len(indexes) == 1 else 'know'}"
    mentioned = frozenset[str]().union(*(mentioned_in(condition.test) for condition in conditions))
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


def names_of(indexes: Sequence[ScanIndex]) -> str:
    """Indexes in a sentence."""
    found = sorted(index.name for index in indexes)
    return f"index {found[0]}" if len(found) == 1 else f"the indexes {', '.join(found)}"


def said_of(indexes: Sequence[ScanIndex]) -> list[Refusal]:
    """All that is the matter with indexes."""
    return [each for index in indexes for each in index.said]
