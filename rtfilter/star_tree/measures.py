"""What a tree holds of each group: measures as users write them, and the types that Spark gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rtfilter.errors import IndexDefinitionError, did_you_mean
from rtfilter.store.index_files.tree_measures import MEASURE_FUNCTIONS, SIZED, SKETCH_FUNCTIONS, measure_parts, measure_text
from rtfilter.store.index_files.tree_snapshot import MOST_MEASURES
from rtfilter.store.sketches.domain import decimal_of, domain_of

WHOLE_NUMBERS = ("tinyint", "smallint", "int", "bigint")
# Spark sums decimals of p digits as decimals of p + 10. Up to this many no table of fewer than 10^10 rows leaves that type.
MOST_DIGITS = 28
# What Spark 4.3 makes theta sketches of.
SKETCHED = ("int", "bigint", "float", "double", "string", "binary")
# Sizes of theta sketches, and the one that they have where none is named.
LEAST_SIZE, MOST_SIZE, USUAL_SIZE = 4, 26, 12
# Functions whose sketches are others once they are merged, or that Spark can't store.
_INEXACT = ("hll_sketch_agg", "approx_count_distinct", "percentile_approx", "approx_percentile")
_MEASURE = re.compile(r"\s*(\w+)\s*\(\s*(.+?)\s*\)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Measure:
    """An aggregate function of a column; `count` of None counts rows. `size`: of a sketch that has one."""

    function: str
    column: str | None
    size: int | None = None

    def __str__(self) -> str:
        return measure_text(self.function, self.column, self.size)

    @property
    def is_sketch(self) -> bool:
        """Whether only Spark can merge it."""
        return self.function in SKETCH_FUNCTIONS


def parse_measures(texts: Sequence[str], types: Mapping[str, str], *, floats: bool = False) -> tuple[Measure, ...]:
    """Measures such as `count(*)` and `sum(price)`.

    Args:
        types: Spark's catalog text of the type of each column of the table.
        floats: Whether sums and averages of floating point numbers are wanted, whose last bits depend on the order of rows.

    Raises:
        IndexDefinitionError: one is no measure, is there twice, or can't be held exactly; the text names it.
    """
    if not texts:
        raise IndexDefinitionError("a star-tree needs a measure or more, such as measures=['count(*)', 'sum(price)'].")
    if len(texts) > MOST_MEASURES:
        raise IndexDefinitionError(f"a star-tree has at most {MOST_MEASURES} measures; {len(texts)} are named.")
    found: list[Measure] = []
    for text in texts:
        measure = _measure(text)
        _check(measure, types, floats)
        if measure in found:
            raise IndexDefinitionError(f"the measure {text!r} is there twice.")
        found.append(measure)
    return tuple(found)


def _measure(text: str) -> Measure:
    match = _MEASURE.fullmatch(text)
    function = match.group(1).lower() if match else ""
    if function in _INEXACT or function.startswith(("kll_", "tuple_")):
        raise IndexDefinitionError(
            f"{text!r}: a tree can't hold {function}, for Spark merges no sketches of it to just those of all rows. For distinct "
            "counts hold theta_sketch_agg, or make the column a dimension and ask for count(distinct ...)."
        )
    if match is None or function not in MEASURE_FUNCTIONS:
        raise IndexDefinitionError(
            f"{text!r} is no measure; it must be one of {', '.join(MEASURE_FUNCTIONS)} of a column, as 'sum(price)'."
        )
    column, size = match.group(2), None
    if function in SIZED:
        _, column, size = measure_parts(f"{function}({column})")
        size = USUAL_SIZE if size is None else size
        if not LEAST_SIZE <= size <= MOST_SIZE:
            raise IndexDefinitionError(f"{text!r} is no measure; the size of its sketches must be {LEAST_SIZE} to {MOST_SIZE}.")
    if column == "*":
        if function != "count":
            raise IndexDefinitionError(f"{text!r} is no measure; only count can be of all rows.")
        return Measure(function, None)
    quoted = len(column) > 2 and column[0] == column[-1] == "`"
    return Measure(function, column[1:-1].replace("``", "`") if quoted else column, size)


def _check(measure: Measure, types: Mapping[str, str], floats: bool) -> None:
    if measure.column is None:
        return
    if measure.column not in types:
        hint = did_you_mean(measure.column, types)
        raise IndexDefinitionError(f"the measure {measure}: the table has no column {measure.column!r}. {hint}")
    spark_type = types[measure.column]
    if measure.function in ("sum", "avg"):
        digits = decimal_of(spark_type)
        if spark_type in ("float", "double"):
            if not floats:
                raise IndexDefinitionError(
                    f"the measure {measure}: the last digits of a {spark_type}'s sum depend on the order of rows, and a tree has "
                    "another one. Leave it out, or set rtfilter.startree.floats."
                )
        elif digits is not None and digits[0] > MOST_DIGITS:
            raise IndexDefinitionError(f"the measure {measure}: sums of {spark_type} may leave Spark's type for them.")
        elif digits is None and spark_type not in WHOLE_NUMBERS:
            raise IndexDefinitionError(
                f"the measure {measure}: {measure.column} is a {spark_type}, of which there is no exact sum."
            )
    elif measure.is_sketch:
        held = SKETCHED if measure.function in SIZED else WHOLE_NUMBERS
        if spark_type not in held:
            raise IndexDefinitionError(
                f"the measure {measure}: {measure.column} is a {spark_type}; {measure.function} takes {', '.join(held)}."
            )
    elif measure.function in ("min", "max") and domain_of(spark_type) is None:
        raise IndexDefinitionError(f"the measure {measure}: {measure.column} is a {spark_type}, which a tree can't order.")


def sum_type(spark_type: str) -> str:
    """The type of Spark's `sum` of a column of this type."""
    digits = decimal_of(spark_type)
    if digits is not None:
        return f"decimal({min(digits[0] + 10, 38)},{digits[1]})"
    return "bigint" if spark_type in WHOLE_NUMBERS else "double"
