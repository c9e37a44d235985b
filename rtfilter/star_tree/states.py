"""Measures of rows as arrays that merge by numpy, and merged arrays as columns of a table again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rtfilter.star_tree.measures import Measure, sum_type
from rtfilter.store.parquet.key_values import sortable_doubles
from rtfilter.store.sketches.domain import decimal_of

Numbers: TypeAlias = NDArray[Any]
# A decimal's 128 bits as two of 32 and the high 64: so sums of 2^31 of them stay in 64 bits.
_LOW = np.uint64(2**32 - 1)
COUNT = "count"
# Sums of up to so many digits are whole numbers of 64 bits.
_DIGITS_OF_A_LONG = 18


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column of a tree's rows: its name, the table's column it is of, how its states merge, and what makes a column of them.

    `decode` takes the merged states of this column, and how many values each row has.
    """

    name: str
    source: str | None
    merges: tuple[str, ...]
    states: tuple[Numbers, ...]
    decode: Callable[[Sequence[Numbers], Numbers], Any]


class Given(Protocol):
    """Rows that measures are computed of."""

    def __len__(self) -> int: ...

    def counted(self, column: str | None) -> Numbers:
        """How many values of a column each row stands for; of None, how many rows of the table."""
        ...

    def values(self, function: str, column: str) -> Any:
        """An array of what the function is to be computed of."""
        ...


@dataclass(frozen=True, slots=True)
class TableRows:
    """The rows of a table itself."""

    table: Any

    def __len__(self) -> int:
        return len(self.table)

    def counted(self, column: str | None) -> Numbers:
        if column is None:
            return np.ones(len(self), np.int64)
        found: Numbers = pc.is_valid(combined(self.table.column(column))).to_numpy(zero_copy_only=False).astype(np.int64)
        return found

    def values(self, function: str, column: str) -> Any:
        return combined(self.table.column(column))


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """Rows that are aggregated already: their columns have the names of stored columns."""

    table: Any

    def __len__(self) -> int:
        return len(self.table)

    def counted(self, column: str | None) -> Numbers:
        name = COUNT if column is None else count_name(column)
        found: Numbers = combined(self.table.column(name)).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        return found

    def values(self, function: str, column: str) -> Any:
        return combined(self.table.column(f"{function}({column})"))


def stored_columns(
    given: Given, types: Mapping[str, str], measures: Sequence[Measure], counted: Collection[str]
) -> tuple[StoredColumn, ...]:
    """The columns that measures need, each once; the number of rows always, and that of values of the columns in `counted`.

    A sum, a least and a greatest value are null where none of a group's rows has a value. So columns with nulls are to be counted.
    An average is held as a sum and a number of values.
    """
    functions = stored_functions(measures, counted)
    return tuple(_stored(given, types, each.function, each.column) for each in functions)


def stored_functions(measures: Sequence[Measure], counted: Collection[str]) -> list[Measure]:
    """What `stored_columns` are of, in their order."""
    found = {Measure(COUNT, None): None}
    for measure in measures:
        if measure.column is None:
            continue
        if measure.column in counted or measure.function == "count":
            found[Measure(COUNT, measure.column)] = None
        found[replace(measure, function="sum") if measure.function == "avg" else measure] = None
    return list(found)


def stored_name(measure: Measure) -> str:
    """The name of the stored column for one of `stored_functions`."""
    return COUNT if measure.column is None else str(measure)


def _stored(given: Given, types: Mapping[str, str], function: str, column: str | None) -> StoredColumn:
    if column is None or function == COUNT:
        return _count(given, column)
    values = given.values(function, column)
    return _sum(column, values, types[column]) if function == "sum" else _extreme(function, column, values, types[column])


def _count(given: Given, column: str | None) -> StoredColumn:
    name = COUNT if column is None else count_name(column)
    return StoredColumn(name, column, ("sum",), (given.counted(column),), lambda states, _: pa.array(states[0]))


def count_name(column: str) -> str:
    """The stored column with the number of a column's values."""
    return f"count({column})"


def sum_name(column: str) -> str:
    """The stored column with a column's sum."""
    return f"sum({column})"


def largest_sum(table: Any, column: str) -> int:
    """The sum of the absolute values of a column of whole numbers. Below 2^63 no sum of its rows overflows, in any order."""
    magnitudes = np.abs(_zeroed(combined(table.column(column)).cast(pa.int64()))).view(np.uint64)
    return (int((magnitudes >> np.uint64(32)).sum()) << 32) + int((magnitudes & _LOW).sum())


def combined(column: Any) -> Any:
    """A column as one array of its values, without a dictionary."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def largest_value(values: Any, spark_type: str) -> int:
    """The largest absolute value of an array of whole numbers or decimals, of the latter unscaled; 0 without one."""
    if values.null_count == len(values):
        return 0
    digits = decimal_of(spark_type)
    extremes = pc.min_max(values).as_py()
    scale = 1 if digits is None else 10 ** digits[1]
    # Decimals of Python are exact only within their context: so by their digits.
    return max(abs(_unscaled(each, scale)) for each in (extremes["min"], extremes["max"]))


def _unscaled(value: int | Decimal, scale: int) -> int:
    fraction = Fraction(value) * scale
    return int(fraction)


def _zeroed(values: Any) -> Numbers:
    """Numbers with 0 in place of null."""
    numbers: Numbers = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
    return numbers


def _sum(column: str, values: Any, spark_type: str) -> StoredColumn:
    name = sum_name(column)
    digits = decimal_of(sum_type(spark_type))
    if digits is None:
        wide = pa.int64() if sum_type(spark_type) == "bigint" else pa.float64()
        numbers = _zeroed(values.cast(wide))
        return StoredColumn(name, column, ("sum",), (numbers,), lambda states, counts: _nulled(states[0], counts, wide))
    scale = digits[1]
    exact = pc.fill_null(values, pa.scalar(0, pa.int8()).cast(values.type)).cast(pa.decimal128(38, scale))
    words = np.frombuffer(exact.buffers()[1], dtype="<i8").reshape(-1, 2)[exact.offset : exact.offset + len(exact)]
    result = pa.decimal128(digits[0], scale)
    if digits[0] <= _DIGITS_OF_A_LONG:
        unscaled = np.ascontiguousarray(words[:, 0])
        return StoredColumn(name, column, ("sum",), (unscaled,), lambda states, counts: _short_decimals(states[0], counts, result))
    low = np.ascontiguousarray(words[:, 0]).view(np.uint64)
    limbs = (low & _LOW).astype(np.int64), (low >> np.uint64(32)).astype(np.int64), np.ascontiguousarray(words[:, 1])
    return StoredColumn(name, column, ("sum",) * 3, limbs, lambda states, counts: _decimals(states, counts, result))


def _nulled(numbers: Numbers, counts: Numbers, arrow_type: Any) -> Any:
    return pa.array(numbers, arrow_type, mask=counts == 0)


def _short_decimals(unscaled: Numbers, counts: Numbers, arrow_type: Any) -> Any:
    words = np.empty((len(unscaled), 2), "<i8")
    words[:, 0], words[:, 1] = unscaled, unscaled >> 63
    return _of_words(words, counts, arrow_type)


def _decimals(limbs: Sequence[Numbers], counts: Numbers, arrow_type: Any) -> Any:
    """Sums of limbs as decimals: what a limb has too much is carried over to the next."""
    low, middle, high = limbs
    middle = middle + (low >> 32)
    high = high + (middle >> 32)
    words = np.empty((len(low), 2), "<u8")
    words[:, 0] = (low & 0xFFFFFFFF).astype(np.uint64) | ((middle & 0xFFFFFFFF).astype(np.uint64) << np.uint64(32))
    words[:, 1] = high.view(np.uint64)
    return _of_words(words, counts, arrow_type)


def _of_words(words: Numbers, counts: Numbers, arrow_type: Any) -> Any:
    """Decimals of 128 bits, null where nothing was counted."""
    valid = np.packbits(counts != 0, bitorder="little").tobytes()
    return pa.Array.from_buffers(arrow_type, len(words), [pa.py_buffer(valid), pa.py_buffer(words.tobytes())])


def ordered_values(values: Any, spark_type: str) -> tuple[Any, NDArray[np.int64]]:
    """The distinct values of an array in Spark's order, and the place of each entry among them; null is behind the last.

    Of floating point numbers -0.0 is 0.0, and all that are no number are one, the greatest, as Spark groups them.
    """
    if spark_type in ("float", "double"):
        numbers = _zeroed(values) + 0.0
        keys, first, places = np.unique(sortable_doubles(numbers.astype(np.float64)), return_index=True, return_inverse=True)
        is_null = pc.is_null(values).to_numpy(zero_copy_only=False)
        used = np.isin(np.arange(len(keys)), places[~is_null])
        places = (np.cumsum(used) - 1)[places]
        return pa.array(numbers[first][used], values.type), np.where(is_null, int(used.sum()), places).astype(np.int64)
    distinct = pc.unique(pc.drop_null(values))
    distinct = distinct.take(pc.sort_indices(distinct))
    places = pc.fill_null(pc.index_in(values, distinct), len(distinct)).to_numpy(zero_copy_only=False)
    return distinct, places.astype(np.int64)


def _extreme(function: str, column: str, values: Any, spark_type: str) -> StoredColumn:
    """Least and greatest values by their place in the order of all; a null never wins."""
    distinct, places = ordered_values(values, spark_type)
    if function == "max":
        places = np.where(places == len(distinct), -1, places)

    def decode(states: Sequence[Numbers], _: Numbers) -> Any:
        is_none = (states[0] < 0) | (states[0] >= len(distinct))
        return distinct.take(pa.array(states[0], mask=is_none))

    return StoredColumn(f"{function}({column})", column, (function,), (places,), decode)
