"""How stored columns are made of a table's rows and of each other by Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F


@dataclass(frozen=True, slots=True)
class Merge:
    """Spark's aggregates of a function that a tree holds: over the rows of a table, and over what these gave."""

    of_rows: Callable[[Column], Column]
    of_states: Callable[[Column], Column]


# By the function in the name of a stored column.
MERGES: Mapping[str, Merge] = {
    "count": Merge(F.count, F.sum),
    "sum": Merge(F.sum, F.sum),
    "min": Merge(F.min, F.min),
    "max": Merge(F.max, F.max),
}


def merge_of(stored: str) -> Merge:
    """That of a stored column, by its name."""
    return MERGES[stored.partition("(")[0]]
