"""How many rows a condition leaves, from numbers of distinct values alone.

`S` of a column is how many times fewer rows one of its values has than the table; `selected` is the share of rows of a condition.
"""

from __future__ import annotations

from fractions import Fraction

from rtfilter.advice.statistics.tables import ColumnStatistics
from rtfilter.advice.workload.predicates import Leaf, Operator

# The share of rows of a condition that numbers of distinct values say nothing of.
UNKNOWN_SHARE = 0.5


def column_selectivity(column: ColumnStatistics | None) -> Fraction:
    """S of a column: its distinct values, less by the share of packs in which it is sorted; 1, which never gets a vote, where
    nothing is known, it is sorted everywhere, or it has an index."""
    if column is None or column.cardinality is None or column.sorted_share >= 1 or column.index == "inverted":
        return Fraction(1)
    return exact(column.cardinality) * (1 - exact(column.sorted_share))


def exact(number: float) -> Fraction:
    """The decimal number that a float was written as: 0.1 is one tenth."""
    return Fraction(repr(number)) if number != int(number) else Fraction(int(number))


def leaf_selectivity(leaf: Leaf, s: Fraction) -> Fraction | None:
    """S of a condition on a column of selectivity `s`; None where it has none: ranges, patterns, functions."""
    if s <= 1:
        return None
    match leaf.operator:
        case Operator.EQUAL:
            return s
        case Operator.IN:
            return s / max(1, leaf.values)
        case Operator.NOT_EQUAL | Operator.NOT_IN:
            rest = s - leaf.values
            return s if rest <= 1 else s / rest
    return None


def selected(n: float, k: int, r: float = 1.0) -> float:
    """The share of rows with at least one of `k` values, where a column has `n` of them and a row `r` different ones."""
    if k + r > n:
        return 1.0
    if k == 1 or r == 1:
        return max(k, r) / n
    none = 1.0
    for i in range(k):
        none *= (n - r - i) / (n - i)
    return 1.0 - none


def leaf_share(leaf: Leaf, column: ColumnStatistics | None) -> float:
    """The share of rows that a leaf lets through."""
    if column is None or column.cardinality is None:
        return UNKNOWN_SHARE
    match leaf.operator:
        case Operator.EQUAL | Operator.IN:
            return selected(column.cardinality, leaf.values, column.entries_per_row)
        case Operator.NOT_EQUAL | Operator.NOT_IN:
            return 1.0 - selected(column.cardinality, leaf.values, column.entries_per_row)
    return UNKNOWN_SHARE
