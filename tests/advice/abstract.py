"""The table of Pinot's tests, and short words for predicates."""

from __future__ import annotations

from rtfilter.advice.statistics.tables import ColumnStatistics, TableStatistics
from rtfilter.advice.workload.predicates import And, Leaf, Operator, Or, Predicate


def table(*columns: ColumnStatistics, name: str = "t", rows: int | None = None) -> TableStatistics:
    return TableStatistics(name, rows, {column.name.lower(): column for column in columns})


def column(
    name: str, cardinality: float | None, entries: float = 1.0, index: str | None = None, in_order: float = 0
) -> ColumnStatistics:
    return ColumnStatistics(name, cardinality=cardinality, entries_per_row=entries, index=index, sorted_share=in_order)


def pinot(indexed: bool = True) -> TableStatistics:
    inverted, ranged = ("inverted", "range") if indexed else (None, None)
    return table(
        column("a", 20, index=inverted),
        column("b", 6, 1.5, index=inverted),
        column("c", 7),
        column("d", 41, 2),
        column("e", 18, 4),
        column("f", 13, 3, index=ranged),
        column("h", 12),
        column("i", 7),
        column("j", 4),
        column("t", 10_000),
    )


def eq(name: str) -> Leaf:
    return Leaf((name,), Operator.EQUAL)


def ne(name: str) -> Leaf:
    return Leaf((name,), Operator.NOT_EQUAL)


def isin(name: str, values: int) -> Leaf:
    return Leaf((name,), Operator.IN, values)


def not_in(name: str, values: int) -> Leaf:
    return Leaf((name,), Operator.NOT_IN, values)


def ranged(name: str) -> Leaf:
    return Leaf((name,), Operator.RANGE)


def like(name: str) -> Leaf:
    return Leaf((name,), Operator.LIKE)


def both(*children: Predicate) -> And:
    return And(children)


def either(*children: Predicate) -> Or:
    return Or(children)


TEXT = Leaf(("d",), Operator.TEXT_MATCH)
FUNCTION = Leaf(("h", "i", "j"), Operator.FUNCTION)

# The five queries of Pinot's joint rule with their weights.
Q1 = both(isin("b", 2), either(both(isin("a", 3), eq("e")), eq("c")), isin("d", 23), ranged("t"))
Q2 = either(both(eq("a"), either(eq("h"), ranged("f")), like("i")), both(either(eq("f"), isin("j", 4)), like("d")))
Q3 = both(either(eq("a"), both(eq("b"), either(isin("e", 2), eq("c")))), TEXT, FUNCTION, ranged("t"))
Q4 = either(both(eq("a"), eq("b")), eq("c"), both(eq("d"), eq("e")))
Q5 = ranged("t")
QUERIES = ((Q1, 1.0), (Q2, 2.0), (Q3, 4.0), (Q4, 2.0), (Q5, 2.0))
