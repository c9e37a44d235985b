"""Random tables for aggregates: few values in each dimension, nulls, NaN, -0.0, sums near the end of a bigint."""

from __future__ import annotations

import datetime
import shutil
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DAY = datetime.date(2021, 1, 30)
# Columns that trees may have as dimensions, and those that may be measures.
DIMENSIONS = ("c", "d", "f", "b", "k", "dec", "t", "moment")
NUMBERS = ("x", "y", "big", "price", "wide")
MEASURED = (*NUMBERS, "s", "day")


def rows(r: np.random.Generator, count: int) -> pa.Table:
    """A part of the table."""

    def some(values: list[Any], kind: Any, nulls: float = 0.1) -> Any:
        return pa.array([None if r.random() < nulls else values[i] for i in r.integers(0, len(values), count)], kind)

    huge = [2**61, -(2**61), 2**62, 5, -1]
    return pa.table(
        {
            "c": some(["CA", "", "ü", "MX", "ca "], pa.string()),
            "d": some([DAY + datetime.timedelta(days) for days in (-400, 0, 2, 33)], pa.date32()),
            "f": some([0.0, -0.0, float("nan"), 1.5], pa.float64()),
            "b": some([True, False], pa.bool_()),
            "k": some([1, 2, 3, 7, -4], pa.int32(), 0.05),
            "dec": some([Decimal("1.10"), Decimal("-2.00"), Decimal("0.00")], pa.decimal128(5, 2)),
            "t": some([-128, 0, 127], pa.int8(), 0.0),
            "moment": some(
                [datetime.datetime(2021, 1, 30, 23, 59, 59), datetime.datetime(2022, 6, 1)], pa.timestamp("us", tz="UTC")
            ),
            "x": some(list(range(-9, 12)), pa.int32(), 0.3),
            "y": some(list(range(100)), pa.int16(), 0.0),
            "big": some(huge if r.random() < 0.5 else [3, 4, -5], pa.int64(), 0.1),
            "price": some([Decimal("99999.99"), Decimal("-0.01"), Decimal("5.00"), Decimal("17.35")], pa.decimal128(7, 2)),
            "wide": some([Decimal("12345678901234567.891"), Decimal("-1.5"), Decimal("0.125")], pa.decimal128(20, 3)),
            "s": some(["b", "a", "", "zz", "Z"], pa.string(), 0.4),
            "day": some([DAY, DAY + datetime.timedelta(1)], pa.date32(), 0.2),
        }
    )


def small(r: np.random.Generator) -> pa.Table:
    """A table to join with; its key `dk` is not unique."""
    count = int(r.integers(1, 9))
    return pa.table(
        {
            "dk": pa.array([None if r.random() < 0.1 else int(i) for i in r.choice([1, 2, 2, 3, 9, -4], count)], pa.int32()),
            "name": pa.array([None if r.random() < 0.1 else str(i) for i in r.choice(["p", "q"], count)], pa.string()),
            "w": pa.array(r.integers(-3, 100, count), pa.int32()),
            "dc": pa.array([str(i) for i in r.choice(["CA", "MX", "no"], count)], pa.string()),
        }
    )


@dataclass
class Files:
    """A table in a folder, whose files come, go and are replaced."""

    folder: Path
    r: np.random.Generator
    made: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, count: int) -> None:
        """A file more."""
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"part-{self.made}.parquet"
        self.made += 1
        self._write(name, count)
        self.names.append(name)

    def remove(self) -> None:
        """One file less, unless it is the last."""
        if len(self.names) > 1:
            (self.folder / self.names.pop(int(self.r.integers(len(self.names))))).unlink()

    def replace(self, count: int) -> None:
        """One file with other rows."""
        self._write(self.names[int(self.r.integers(len(self.names)))], count)

    def _write(self, name: str, count: int) -> None:
        scratch = self.folder / f"_scratch-{self.made}"
        table = rows(self.r, count)
        # By bounds that know nothing of NaN Spark and DuckDB leave out row groups in which `f > 0` holds for a NaN.
        bounds = [name for name in table.column_names if name != "f"]
        pq.write_table(table, scratch, row_group_size=int(self.r.choice([50, 1000])), write_statistics=bounds)
        shutil.move(scratch, self.folder / name)

    @property
    def pattern(self) -> str:
        return str(self.folder / "part-*.parquet")
