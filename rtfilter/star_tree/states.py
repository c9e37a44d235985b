"""Measures of rows as arrays that merge by numpy, and merged arrays as columns of a table again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

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


def stored_columns(table: Any, types: Mapping[str, str], measures: Sequence[Measure]) -> tuple[StoredColumn, ...]:
    """The columns that the measures of a pyarrow table need, each once; the number of rows always.

    A sum, a least and a greatest value are null where none of a group's rows has a value. So the number of values is held beside
    them where the column has nulls. An average is held as a sum and a number of values.
    """
    found = {COUNT: StoredColumn(COUNT, None, ("sum",), (np.ones(len(table), np.int64),), lambda states, _: pa.array(states[0]))}
    for measure in measures:
        if measure.column is None:
            continue
        values = _combined(table.column(measure.column))
        name = count_name(measure.column)
        if values.null_count or measure.function == "count":
            counted = pc.is_valid(values).to_numpy(zero_copy_only=False).astype(np.int64)
            found.setdefault(name, StoredColumn(name, measure.column, ("sum",), (counted,), lambda states, _: pa.array(states[0])))
        if measure.function in ("sum", "avg"):
            found.setdefault(sum_name(measure.column), _sum(measure.column, values, types[measure.column]))
        elif measure.function in ("min", "max"):
            column = _extreme(measure.function, measure.column, values, types[measure.column])
            found.setdefault(column.name, column)
    return tuple(found.values())


def count_name(column: str) -> str:
    """The stored column with the number of a column's values."""
    return f"count({column})"


def sum_name(column: str) -> str:
    """The stored column with a column's sum."""
    return f"sum({column})"


def largest_sum(table: Any, column: str) -> int:
    """The sum of the absolute values of a column of whole numbers. Below 2^63 no sum of its rows overflows, in any order."""
    magnitudes = np.abs(_zeroed(_combined(table.column(column)).cast(pa.int64()))).view(np.uint64)
    return (int((magnitudes >> np.uint64(32)).sum()) << 32) + int((magnitudes & _LOW).sum())


def _combined(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


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
    low = np.ascontiguousarray(words[:, 0]).view(np.uint64)
    limbs = (low & _LOW).astype(np.int64), (low >> np.uint64(32)).astype(np.int64), np.ascontiguousarray(words[:, 1])
    result = pa.decimal128(digits[0], scale)
    return StoredColumn(name, column, ("sum",) * 3, limbs, lambda states, counts: _decimals(states, counts, result))


def _nulled(numbers: Numbers, counts: Numbers, arrow_type: Any) -> Any:
    return pa.array(numbers, arrow_type, mask=counts == 0)


def _decimals(limbs: Sequence[Numbers], counts: Numbers, arrow_type: Any) -> Any:
    """Sums of limbs as decimals: what a limb has too much is carried over to the next."""
    low, middle, high = limbs
    middle = middle + (low >> 32)
    high = high + (middle >> 32)
    words = np.empty((len(low), 2), "<u8")
    words[:, 0] = (low & 0xFFFFFFFF).astype(np.uint64) | ((middle & 0xFFFFFFFF).astype(np.uint64) << np.uint64(32))
    words[:, 1] = high.view(np.uint64)
    valid = np.packbits(counts != 0, bitorder="little").tobytes()
    buffers = [pa.py_buffer(valid), pa.py_buffer(words.tobytes())]
    return pa.Array.from_buffers(arrow_type, len(low), buffers)


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
