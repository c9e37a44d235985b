"""From a join's probe key down to the one Parquet column that it is.

The trace goes by structure, node by node: expression ids may occur twice in a plan (unions, inlined CTEs), so an id means something
only below the node where it was met. It stops at the first thing that could make a filter on the scan wrong or useless.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.legality import join_type_name, passes_key_down
from planner.reasons import (
    AMBIGUOUS_COLUMN,
    CAST_NOT_WIDENING,
    FIELD_ID_READ,
    KEY_TYPE,
    NOT_A_FILE_SCAN,
    NOT_A_PLAIN_COLUMN,
    NOT_DETERMINISTIC,
    NOT_PLAIN_PARQUET,
    OPERATOR_IN_BETWEEN,
    OTHER_STAGE,
    PARTITION_COLUMN,
    Refusal,
)
from planner.snapshot import (
    BROADCAST,
    LEFT,
    RIGHT,
    Alias,
    Attribute,
    Cast,
    Exchange,
    Expression,
    Filter,
    Join,
    Plan,
    Project,
    QueryStage,
    Scan,
    Sort,
)

# Integral types by width: a cast to the same or a wider one keeps every value and the order.
INTEGRAL_WIDTH = {"tinyint": 1, "smallint": 2, "int": 4, "bigint": 8}
DATE = "date"
# Joins that return none of the right side's columns.
LEFT_COLUMNS_ONLY = ("LeftSemi", "LeftAnti", "ExistenceJoin")


@dataclass(frozen=True, slots=True)
class ProbeColumn:
    """Where a probe key comes from: a scan of the plan and one of its columns."""

    scan: int
    table: str
    column: int
    name: str
    type: str


def is_key_type(type_: str) -> bool:
    """The types that a filter of whole numbers can stand for."""
    return type_ in INTEGRAL_WIDTH or type_ == DATE


def trace_to_scan(plan: Plan, start: int, key: Expression, field_id_read: bool) -> ProbeColumn | Refusal:
    """Follows `key`, an expression over the output of node `start`, down to a column of a plain Parquet scan.

    Returns the column, or why a filter cannot go there.
    """
    if not is_key_type(key.type):
        return Refusal(KEY_TYPE, f"The key is of type {key.type}; only whole numbers and dates can be filtered.")
    wanted = _plain_column(key)
    at: int | None = start
    while at is not None:
        if isinstance(wanted, Refusal):
            return wanted
        node = plan.nodes[at]
        if isinstance(node, Scan):
            return _column_of(node, wanted, field_id_read)
        if isinstance(node, Project):
            at, wanted = node.children[0], _through_project(plan, node, wanted)
        elif isinstance(node, Filter):
            at, wanted = node.children[0], _through_filter(node, wanted)
        elif isinstance(node, Sort):
            at = node.children[0]
        elif isinstance(node, Join):
            side = _side_of(plan, node, wanted)
            if isinstance(side, Refusal):
                return side
            at = node.child_of(side)
        elif isinstance(node, Exchange | QueryStage):
            return Refusal(OTHER_STAGE, f"{node.op} lies between the join and the scan: the scan runs in a stage of its own.")
        elif node.children:
            return Refusal(OPERATOR_IN_BETWEEN, f"{node.op} lies between the join and the scan.")
        else:
            return Refusal(NOT_A_FILE_SCAN, f"The key comes from {node.op}, which is not a scan of files.")
    raise AssertionError("a node of the plan is always there")


def _plain_column(key: Expression) -> Attribute | Refusal:
    """The column under aliases and widening casts."""
    at = key
    while True:
        if not at.deterministic:
            return Refusal(NOT_DETERMINISTIC, "The key is computed by an expression that is not deterministic.")
        if isinstance(at, Attribute):
            return at
        if isinstance(at, Cast):
            if not _keeps_values(at.child.type, at.type):
                return Refusal(CAST_NOT_WIDENING, f"The key is cast from {at.child.type} to {at.type}, which may change values.")
            at = at.child
        elif isinstance(at, Alias):
            at = at.child
        else:
            return Refusal(NOT_A_PLAIN_COLUMN, f"The key is computed: {at.text}.")


def _keeps_values(source: str, target: str) -> bool:
    if source == target:
        return True
    return INTEGRAL_WIDTH.get(source, 9) <= INTEGRAL_WIDTH.get(target, 0)


def _through_project(plan: Plan, node: Project, wanted: Attribute) -> Attribute | Refusal:
    projection = plan.projection(node)
    # A non-deterministic neighbour counts rows or draws numbers: it would see other rows.
    if not projection.deterministic:
        return Refusal(NOT_DETERMINISTIC, f"{node.op} in between computes something that is not deterministic.")
    found = projection.by_id.get(wanted.id)
    if found is None:
        return Refusal(NOT_A_PLAIN_COLUMN, f"{node.op} does not say what {wanted.name}#{wanted.id} is.")
    return _plain_column(found)


def _through_filter(node: Filter, wanted: Attribute) -> Attribute | Refusal:
    if not node.condition.deterministic:
        return Refusal(NOT_DETERMINISTIC, f"{node.op} in between has a condition that is not deterministic.")
    return wanted


def _side_of(plan: Plan, join: Join, wanted: Attribute) -> str | Refusal:
    """The side of a join in between that the key comes from, if rows may be dropped there."""
    sides = [side for side in (LEFT, RIGHT) if plan.has_output(join.child_of(side), wanted.id)]
    if join_type_name(join.join_type) in LEFT_COLUMNS_ONLY:
        sides = [side for side in sides if side == LEFT]
    if not sides:
        return Refusal(NOT_A_PLAIN_COLUMN, f"{join.op} computes {wanted.name}#{wanted.id} itself.")
    if len(sides) > 1:
        return Refusal(AMBIGUOUS_COLUMN, f"{wanted.name}#{wanted.id} comes from both sides of {join.op}.")
    side = sides[0]
    if join.kind == BROADCAST and side == join.build_side:
        return Refusal(OTHER_STAGE, f"The key comes from the build side of {join.op} below, which runs in a stage of its own.")
    if not passes_key_down(join.join_type, side):
        return Refusal(OPERATOR_IN_BETWEEN, f"{join.op} ({join.join_type}) lies in between and needs every row of its {side} side.")
    return side


def _column_of(scan: Scan, wanted: Attribute, field_id_read: bool) -> ProbeColumn | Refusal:
    matching = [column for column in scan.columns if column.id == wanted.id]
    if len(matching) != 1:
        return Refusal(NOT_A_PLAIN_COLUMN, f"The scan of {scan.table} has {len(matching)} columns with the id {wanted.id}.")
    column = matching[0]
    if column.partition:
        return Refusal(
            PARTITION_COLUMN, f"{scan.table}.{column.name} is a partition column: Spark's dynamic partition pruning covers it."
        )
    if not scan.plain_parquet:
        return Refusal(NOT_PLAIN_PARQUET, f"{scan.table} is read as {scan.format}, not by Spark's own Parquet reader.")
    if field_id_read:
        return Refusal(FIELD_ID_READ, "spark.sql.parquet.fieldId.read.enabled is on: columns are matched by field id, not by name.")
    if not is_key_type(column.type):
        return Refusal(KEY_TYPE, f"{scan.table}.{column.name} is {column.type}; only whole numbers and dates can be filtered.")
    return ProbeColumn(scan.id, scan.table, column.id, column.name, column.type)
