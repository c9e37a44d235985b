"""Why a star-tree does not answer an aggregate: a code for programs and a sentence for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TreeReason(StrEnum):
    """Codes of `reason` in `last_report(spark).star_trees`."""

    USED = "USED"

    # The query.
    OPERATOR_BELOW = "OPERATOR_BELOW"
    NOT_PRESERVED = "NOT_PRESERVED"
    NOT_DETERMINISTIC = "NOT_DETERMINISTIC"
    OR_OVER_DIMENSIONS = "OR_OVER_DIMENSIONS"

    # The query and the tree.
    NO_DIMENSION = "NO_DIMENSION"
    OTHER_TYPE = "OTHER_TYPE"
    NOT_STORED = "NOT_STORED"
    DISTINCT_MEASURE = "DISTINCT_MEASURE"
    FUNCTION_NOT_SERVED = "FUNCTION_NOT_SERVED"
    MAY_OVERFLOW = "MAY_OVERFLOW"
    NULLS_BETWEEN = "NULLS_BETWEEN"
    FLOATS_OFF = "FLOATS_OFF"

    # What is asked for, and what is there.
    HINT_SKIP = "HINT_SKIP"
    OTHER_TREE = "OTHER_TREE"
    HYBRID_OFF = "HYBRID_OFF"
    LISTED_TWICE = "LISTED_TWICE"
    TOO_STALE = "TOO_STALE"
    NOT_FEWER_ROWS = "NOT_FEWER_ROWS"
    UNREADABLE = "UNREADABLE"


@dataclass(frozen=True, slots=True)
class TreeRefusal:
    """Why a tree does not answer. `columns`: those of the table that another tree would need as dimensions to answer, `measure`:
    what it would need to hold, such as `sum(x)`."""

    reason: TreeReason
    detail: str
    columns: tuple[str, ...] = ()
    measure: str = ""


class TreeRefusedError(Exception):
    """Carries a refusal up to where the tree was considered."""

    def __init__(self, reason: TreeReason, detail: str, columns: tuple[str, ...] = (), measure: str = "") -> None:
        super().__init__(detail)
        self.refusal = TreeRefusal(reason, detail, columns, measure)
