"""How stored columns are made of a table's rows and of each other by Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from rtfilter.store.index_files.tree_measures import measure_parts


@dataclass(frozen=True, slots=True)
class Merge:
    """Spark's aggregates of a function that a tree holds: over the rows of a table, and over what these gave."""

    of_rows: Callable[[Column], Column]
    of_states: Callable[[Column], Column]


# By the function in the name of a stored column; sketches with a size are made by `merge_of`.
MERGES: Mapping[str, Merge] = {
    "count": Merge(F.count, F.sum),
    "sum": Merge(F.sum, F.sum),
    "min": Merge(F.min, F.min),
    "max": Merge(F.max, F.max),
    "bitmap_construct_agg": Merge(lambda column: F.bitmap_construct_agg(column.cast("bigint")), F.bitmap_or_agg),
}


def merge_of(stored: str) -> Merge:
    """That of a stored column, by its name."""
    function, _, size = measure_parts(stored)
    if function == "theta_sketch_agg":
        return Merge(lambda column: F.theta_sketch_agg(column, size), lambda state: F.theta_union_agg(state, size))
    return MERGES[function]
