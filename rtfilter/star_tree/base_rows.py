"""The rows that a tree is built of: those of a table, grouped by all dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rtfilter.star_tree.measures import WHOLE_NUMBERS, Measure
from rtfilter.star_tree.records import Codes, Records, merged
from rtfilter.star_tree.states import (
    COUNT,
    StoredColumn,
    TableRows,
    combined,
    count_name,
    largest_value,
    ordered_values,
    stored_columns,
)
from rtfilter.store.sketches.domain import decimal_of


@dataclass(frozen=True, slots=True)
class BaseRows:
    """Grouped rows.

    Attributes:
        table: Columns `d0`, `d1`, … in split order, `count`, for each column of a measure `count(x)`, and what measures need of
            `sum(x)`, `min(x)` and `max(x)`. The same group may be there twice.
        table_rows: How many rows of the table they stand for.
        largest: The largest absolute value (of decimals: unscaled) of each column that `summed_exactly` has.
    """

    table: Any
    table_rows: int
    largest: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.table)

    def close(self) -> None:
        """Nothing is kept for them elsewhere."""


def summed_exactly(types: Mapping[str, str], measures: Sequence[Measure]) -> tuple[str, ...]:
    """The columns of whole numbers and decimals of which sums are held."""
    summed = dict.fromkeys(each.column for each in measures if each.column is not None and each.function in ("sum", "avg"))
    return tuple(name for name in summed if types[name] in WHOLE_NUMBERS or decimal_of(types[name]) is not None)


def measured(measures: Sequence[Measure]) -> tuple[str, ...]:
    """The columns that measures are about, each once."""
    return tuple(dict.fromkeys(each.column for each in measures if each.column is not None))


def grouped_rows(table: Any, types: Mapping[str, str], dimensions: Sequence[str], measures: Sequence[Measure]) -> BaseRows:
    """Groups the rows of a pyarrow table in memory."""
    values, codes = encoded([table.column(name) for name in dimensions], [types[name] for name in dimensions])
    stored = stored_columns(TableRows(table), types, measures, measured(measures))
    records = Records(codes, np.zeros(len(table), np.int32), tuple(state for column in stored for state in column.states))
    merges = [merge for column in stored for merge in column.merges]
    base, _ = merged(records, [codes[:, d] for d in range(len(dimensions))], merges)
    largest = {name: largest_value(combined(table.column(name)), types[name]) for name in summed_exactly(types, measures)}
    return BaseRows(pa.table(decoded(base, values, stored)), len(table), largest)


def appended_rows(parts: Sequence[BaseRows]) -> BaseRows:
    """The rows of several parts of a table; at least one part."""
    largest = {name: max(part.largest[name] for part in parts) for name in parts[0].largest}
    table = pa.concat_tables([part.table for part in parts])
    return BaseRows(table, sum(part.table_rows for part in parts), largest)


def encoded(columns: Sequence[Any], types: Sequence[str]) -> tuple[list[Any], Codes]:
    """Of each dimension the distinct values in order, and [rows, dimensions] their codes; null is behind the last."""
    values, codes = [], np.empty((len(columns[0]), len(columns)), np.int32)
    for number, (column, spark_type) in enumerate(zip(columns, types, strict=True)):
        distinct, codes[:, number] = ordered_values(combined(column), spark_type)
        values.append(distinct)
    return values, codes


def decoded(records: Records, values: Sequence[Any], stored: Sequence[StoredColumn]) -> dict[str, Any]:
    """Rows as columns: dimensions (null at stars), then the stored ones."""
    columns: dict[str, Any] = {}
    for number, distinct in enumerate(values):
        codes = records.codes[:, number]
        is_none = (codes == len(distinct)) | (records.stars & (1 << number) != 0)
        columns[f"d{number}"] = distinct.take(pa.array(codes, mask=is_none))
    states = iter(records.states)
    of_column = {column.name: [next(states) for _ in column.states] for column in stored}
    for column in stored:
        counts = of_column.get(count_name(column.source or ""), of_column[COUNT])[0]
        columns[column.name] = column.decode(of_column[column.name], counts)
    return columns
