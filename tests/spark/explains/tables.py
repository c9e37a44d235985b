"""The tables of the golden EXPLAINs: small, the same on every run, of many packs (row groups of 500 rows)."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from rtfilter import Bloom, Index, MinMax

SALES, PACK_ROWS = 20_000, 500
CUSTOMERS, ITEMS, STORES, NATIONS = 1_000, 400, 10, 25
FIRST_DAY = date(2024, 1, 1)
CITIES, COLORS = ("Aachen", "Bern", "Cork", "Delft", "Essen"), ("red", "green", "blue", "white")


def _days(numbers: np.ndarray) -> pa.Array:
    return pa.array([FIRST_DAY + timedelta(days=int(number)) for number in numbers], pa.date32())


def sales() -> pa.Table:
    """20 rows a customer one after the other, 100 rows a day; items, stores and quantities are all over the table."""
    row = np.arange(SALES)
    customer, item = row // 20, row * 7919 % ITEMS
    return pa.table(
        {
            "id": pa.array(row, pa.int64()),
            "day": _days(row // 100),
            "at": pa.array([datetime(2024, 1, 1) + timedelta(minutes=int(each)) for each in row], pa.timestamp("us", tz="UTC")),
            "customer": pa.array(customer, pa.int32()),
            "known_customer": pa.array(customer, pa.int32(), mask=row % 4 == 0),
            "code": pa.array([f"C{each:05}" for each in customer]),
            "item": pa.array(item, pa.int32()),
            "store": pa.array(row * 31 % STORES, pa.int32()),
            # A number of its own for each sale, all over the table.
            "serial": pa.array(row * 7919 % 1_000_003, pa.int32()),
            "qty": pa.array(row % 5, pa.int32()),
            "price": pa.array([Decimal(int(each)) / 100 for each in customer], pa.decimal128(7, 2)),
            "weight": pa.array(customer * 0.5, pa.float64()),
        }
    )


def returns() -> pa.Table:
    """Every tenth sale, in the order of the sales."""
    row = np.arange(0, SALES, 10)
    return pa.table(
        {
            "sale": pa.array(row, pa.int64()),
            "customer": pa.array(row // 20, pa.int32()),
            "reason": pa.array(row // 10 % 40, pa.int32()),
            "returned": _days(row // 100 + 7),
        }
    )


def customer() -> pa.Table:
    key = np.arange(CUSTOMERS)
    return pa.table(
        {
            "k": pa.array(key, pa.int32()),
            "big": pa.array(key, pa.int64()),
            "code": pa.array([f"C{each:05}" for each in key]),
            "city": pa.array([CITIES[each // 200] for each in key]),
            "nation": pa.array(key // 40, pa.int32()),
            "partner": pa.array((key + 1) % CUSTOMERS, pa.int32(), mask=key % 3 == 0),
            "credit": pa.array([Decimal(int(each)) / 100 for each in key], pa.decimal128(9, 2)),
            "limit": pa.array(key * 0.5, pa.float64()),
            "favorite": pa.array(key * 7919 % ITEMS, pa.int32()),
        }
    )


def item() -> pa.Table:
    key = np.arange(ITEMS)
    return pa.table(
        {
            "k": pa.array(key, pa.int32()),
            "color": pa.array([COLORS[each % 4] for each in key]),
            "class": pa.array(key // 8, pa.int32()),
        }
    )


def day() -> pa.Table:
    number = np.arange(366)
    days = [FIRST_DAY + timedelta(days=int(each)) for each in number]
    return pa.table({"day": pa.array(days, pa.date32()), "month": pa.array([each.month for each in days], pa.int32())})


def nation() -> pa.Table:
    key = np.arange(NATIONS)
    names = pa.array([f"nation {each}" for each in key])
    return pa.table({"k": pa.array(key, pa.int32()), "name": names, "region": pa.array(key // 5, pa.int32())})


def write_tables(folder: Path) -> None:
    """All tables as folders of Parquet files; `months` has the sales of a month in each of its partitions."""
    _write(sales(), folder / "sales", 4)
    _write(sales(), folder / "indexed_sales", 4)
    _write(returns(), folder / "returns", 1)
    for name, table in {"customer": customer(), "item": item(), "day": day(), "nation": nation()}.items():
        _write(table, folder / name, 1)
    months = np.array([each.month for each in sales()["day"].to_pylist()])
    for month in range(1, 8):
        part = sales().filter(pa.array(months == month)).select(["id", "customer", "item"])
        _write(part, folder / "months" / f"month={month}", 1)


def _write(table: pa.Table, folder: Path, files: int) -> None:
    folder.mkdir(parents=True)
    share = -(-table.num_rows // files)
    for number in range(files):
        pq.write_table(table.slice(number * share, share), folder / f"part-{number}.parquet", row_group_size=PACK_ROWS)


TABLES = ("sales", "indexed_sales", "returns", "customer", "item", "day", "nation", "months")


def create_index(spark: SparkSession, folder: Path) -> None:
    """An index of `indexed_sales` that tells which packs hold a serial number, and the bounds of ids."""
    Index.create(spark, str(folder / "indexed_sales"), [Bloom("serial"), MinMax("id")], name="of_serials")
