"""How many bytes a value and a row of a plan take, in memory and in Spark's own format."""

from __future__ import annotations

from planner.plan.nodes import PlanNode
from planner.plan.tree import Plan

# A row in Spark's own format: a word for nulls, a word for each column, and the bytes of texts; 12 letters are a guess.
ROW_HEADER_BYTES, WORD_BYTES, TEXT_BYTES = 8, 8, 12
TEXTS = ("string", "binary")
VALUE_BYTES = {"boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "date": 4, "float": 4}


def value_bytes(type: str) -> float:
    """A decoded value of a type, in memory."""
    if type in TEXTS:
        return WORD_BYTES + TEXT_BYTES
    return VALUE_BYTES.get(type, WORD_BYTES)


def row_bytes(plan: Plan, node: PlanNode) -> float:
    """A row that a node puts out, in Spark's own format; a column that is made on the way counts as a word."""
    types = plan.column_types()
    texts = sum(types.get(id_) in TEXTS for id_ in node.output)
    return ROW_HEADER_BYTES + WORD_BYTES * len(node.output) + TEXT_BYTES * texts
