"""Pinot's other rules: rules of thumb on a table's queries, each a function. `advise` prints what they say as notes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rtfilter.advice.statistics.tables import ColumnStatistics, TableStatistics
from rtfilter.advice.workload.fingerprints import Fingerprint
from rtfilter.advice.workload.predicates import EQUALITIES, And, Leaf, Operator, Or, Predicate, leaves

BLOOM_SHARE, BLOOM_MOST_VALUES = 0.5, 1_000_000
RANGE_SHARE, RANGE_LEAST_VALUES = 0.4, 2
PARTITION_MOST_IN, PARTITION_TOP_SHARE, PARTITION_VALUES = 4, 0.8, 0.7
PARTITION_LEAST_QPS, PARTITION_MOST_SLA_MS = 200, 1000
MOST_LIMIT = 100_000
_NUMBERS = ("int", "float", "double", "decimal", "long", "short", "byte", "number")
_TIMES = ("date", "timestamp")


@dataclass(frozen=True, slots=True)
class Asked:
    """What one kind of query asks of a table, and for how many calls it stands."""

    predicate: Predicate | None
    weight: float


def is_numeric(column: ColumnStatistics) -> bool:
    return column.type is None or any(word in column.type.lower() for word in _NUMBERS)


def is_time(column: ColumnStatistics) -> bool:
    return column.type is not None and column.type.lower().startswith(_TIMES)


def _shares(asked: Sequence[Asked], operators: frozenset[Operator]) -> dict[str, float]:
    """By column the share of the calls that have a leaf with one of the operators on it."""
    total = math.fsum(each.weight for each in asked)
    weights: dict[str, list[float]] = {}
    for each in asked:
        for name in {leaf.column for leaf in leaves(each.predicate) if leaf.operator in operators}:
            weights.setdefault(name, []).append(each.weight)
    return {name: math.fsum(found) / total for name, found in sorted(weights.items()) if total}


def bloom_columns(
    asked: Sequence[Asked], table: TableStatistics, share: float = BLOOM_SHARE, most_values: float = BLOOM_MOST_VALUES
) -> list[str]:
    """Columns that more than `share` of the calls ask for values, with fewer than `most_values` of them; by name."""
    found = [(name, table.column(name)) for name, part in _shares(asked, EQUALITIES).items() if part > share]
    return [name for name, column in found if column and column.cardinality is not None and column.cardinality < most_values]


def range_columns(asked: Sequence[Asked], table: TableStatistics, share: float = RANGE_SHARE) -> list[str]:
    """Numeric columns without an index that more than `share` of the calls ask for a range, of more than two values; by name."""
    found = [(name, table.column(name)) for name, part in _shares(asked, frozenset((Operator.RANGE,))).items() if part > share]
    return [
        name
        for name, column in found
        if column and is_numeric(column) and column.index is None and column.sorted_share < 1
        if column.cardinality is not None and column.cardinality > RANGE_LEAST_VALUES
    ]


def partition_columns(predicate: Predicate | None, table: TableStatistics) -> frozenset[str]:
    """The columns by which a query could go to few partitions: with = or a short IN, in every arm of an OR, never under a NOT."""
    match predicate:
        case And(children):
            return frozenset[str]().union(*(partition_columns(child, table) for child in children))
        case Or(children):
            return frozenset.intersection(*(partition_columns(child, table) for child in children))
        case Leaf(operator=operator, values=values) if operator in EQUALITIES and values <= PARTITION_MOST_IN:
            column = table.column(predicate.column)
            return frozenset((column.name,)) if column and column.is_single_valued and not is_time(column) else frozenset()
    return frozenset()


def partition_weights(asked: Sequence[Asked], table: TableStatistics) -> dict[str, float]:
    """By column the weight of the calls that could go by it."""
    weights: dict[str, list[float]] = {}
    for each in asked:
        for name in partition_columns(each.predicate, table):
            weights.setdefault(name, []).append(each.weight)
    return {name: math.fsum(found) for name, found in sorted(weights.items())}


def best_partition_column(
    weights: Mapping[str, float],
    cardinalities: Mapping[str, float],
    partitions: int,
    qps: float = math.inf,
    sla_ms: float = 0,
) -> str | None:
    """Of the columns near the top weight, with enough values for so many partitions, the one with most values."""
    if qps < PARTITION_LEAST_QPS or sla_ms > PARTITION_MOST_SLA_MS:
        return None
    enough = {name: weight for name, weight in weights.items() if cardinalities.get(name, 0) > PARTITION_VALUES * partitions}
    top = [name for name, weight in enough.items() if weight > PARTITION_TOP_SHARE * max(enough.values())]
    return min(top, key=lambda name: (-cardinalities[name], name), default=None)


def flags(fingerprint: Fingerprint, tables: Mapping[str, TableStatistics]) -> list[str]:
    """What is odd about a query: no condition, none on time, a huge LIMIT, a column that its table lacks."""
    found = []
    for use in fingerprint.uses:
        table = tables[use.table]
        named = {name.lower() for leaf in leaves(use.predicate) for name in leaf.columns}
        times = {name for name, column in table.columns.items() if is_time(column)}
        if use.strangers:
            found.append(f"{use.table} has no column {', '.join(use.strangers)}")
        if use.predicate is None and not use.is_partial and not use.join_keys:
            found.append(f"reads all of {use.table}: no condition")
        elif use.predicate is not None and times and not times & named:
            found.append(f"no condition on time ({', '.join(sorted(times))}) of {use.table}")
    if fingerprint.limit is not None and fingerprint.limit > MOST_LIMIT:
        found.append(f"LIMIT {fingerprint.limit} is above {MOST_LIMIT}")
    return found


def can_be_aggregated_before(fingerprint: Fingerprint, metrics: frozenset[str]) -> bool:
    """Whether a query selects group keys and sums of metrics only, so that rows could be summed up once for all such queries."""
    sums = [columns for kind, columns in fingerprint.aggregates if kind == "sum"]
    only_sums = len(sums) == len(fingerprint.aggregates) > 0 and not fingerprint.plain
    return only_sums and all(columns and set(columns) <= metrics for columns in sums)
