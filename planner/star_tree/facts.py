"""What is known of a star-tree before a query uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

COUNT = "count"


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """A tree of a table.

    Attributes:
        types: Spark's catalog text of each dimension and measure column.
        dimensions: In split order.
        stored: What its rows hold beside dimensions: `count`, `count(x)`, `sum(x)`, `min(x)`, `max(x)`.
        rows: How many of the table's rows it covers.
        largest: Of summed columns the greatest absolute value in the rows that it covers, unscaled.
        raw: Whether rows beside it are read from the table itself, of which none of this is known.
        without_nulls: Columns of measures that have a value in every row of the table.
    """

    name: str
    types: Mapping[str, str]
    dimensions: tuple[str, ...]
    stored: frozenset[str]
    rows: int
    largest: Mapping[str, int]
    raw: bool = False
    without_nulls: frozenset[str] = frozenset()
