"""item and inventory of TPC-DS at large scales, without the other 22 tables that dsdgen makes along with them.

At scale factor 100 dsdgen makes 100 GB to get at the 2 % that the micro-benchmark reads. The keys here are the ones that it would
make, rule for rule, at the sizes of the specification (TPC-DS v3, table 3-2); quantities have its distribution and are other ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.bench.suites.data_cache import DataCache, Dataset, Manifest


@dataclass(frozen=True)
class Shape:
    """How many rows `item` has, a multiple of six, and how many warehouses there are."""

    items: int
    warehouses: int

    @property
    def inventory_rows(self) -> int:
        return WEEKS * self.warehouses * self.items // 2


SHAPES: Mapping[float, Shape] = {100.0: Shape(204_000, 15), 300.0: Shape(264_000, 17), 1000.0: Shape(300_000, 20)}
# Every Thursday from 1998-01-01 on, as Julian day numbers.
WEEKS, FIRST_DAY = 261, 2_450_815
# Of six items in a row the first is an item for itself, the next two and the last three are revisions of one item: the weeks from
# which on each of them is the one that is kept in stock, and until which.
REVISIONS = ((0, WEEKS), (0, 157), (157, WEEKS), (0, 105), (105, 209), (209, WEEKS))
# Quantities are evenly spread up to and with the largest, this share of them is null.
LARGEST_QUANTITY, NULL_SHARE = 1000, 0.05
SEED = 20260101

INVENTORY = pa.schema(
    [
        ("inv_date_sk", pa.int64()),
        ("inv_item_sk", pa.int64()),
        ("inv_warehouse_sk", pa.int64()),
        ("inv_quantity_on_hand", pa.int32()),
    ]
)


def large_inventory(cache: DataCache, sf: float, say: Callable[[str], None] = lambda _: None) -> Dataset:
    """Finds or makes `item.parquet`, the two columns that the micro-benchmark names, and `inventory.parquet`, in dsdgen's order.

    Raises:
        KeyError: there is no shape for `sf`.
        BenchError: the cache cannot be written.
    """
    shape = SHAPES[sf]

    def build(directory: Path) -> Manifest:
        say(f"makes inventory at scale factor {sf:g}: {shape.inventory_rows:,} rows")
        pq.write_table(items(shape), directory / "item.parquet")
        with pq.ParquetWriter(directory / "inventory.parquet", INVENTORY) as writer:
            for week in weeks(shape):
                writer.write_table(week)
        rows = {"item": shape.items, "inventory": shape.inventory_rows}
        return {"sf": sf, "generator": "tpcds.inventory", "rows": rows}

    return cache.dataset(f"tpcds-inventory-sf{sf:g}", build)


def items(shape: Shape) -> pa.Table:
    """`i_item_sk` from 1 on, and `i_item_id`, which revisions of one item share."""
    keys = np.arange(1, shape.items + 1)
    first_revision = keys - np.array([0, 0, 1, 0, 1, 2])[(keys - 1) % 6]
    return pa.table({"i_item_sk": pa.array(keys, pa.int64()), "i_item_id": [_business_key(key) for key in first_revision.tolist()]})


def _business_key(number: int) -> str:
    """Sixteen letters A to P: the number's hexadecimal digits, the least significant first, behind eight of 0."""
    return "A" * 8 + "".join(chr(ord("A") + (number >> 4 * digit & 15)) for digit in range(8))


def weeks(shape: Shape) -> Iterator[pa.Table]:
    """The rows of inventory, a week at a time: by date, warehouse and item."""
    for week in range(WEEKS):
        stocked = _stocked(shape, week)
        rows = len(stocked) * shape.warehouses
        chance = np.random.Generator(np.random.PCG64([SEED, week]))
        columns = [
            pa.array(np.full(rows, FIRST_DAY + 7 * week)),
            pa.array(np.tile(stocked, shape.warehouses)),
            pa.array(np.repeat(np.arange(1, shape.warehouses + 1), len(stocked))),
            pa.array(chance.integers(0, LARGEST_QUANTITY, rows, np.int32, endpoint=True), mask=chance.random(rows) < NULL_SHARE),
        ]
        yield pa.table(columns, schema=INVENTORY)


def _stocked(shape: Shape, week: int) -> npt.NDArray[np.int64]:
    """The keys of items that are in stock in a week, ascending: one revision of each."""
    of_six = [place + 1 for place, (first, end) in enumerate(REVISIONS) if first <= week < end]
    stocked: npt.NDArray[np.int64] = np.arange(0, shape.items, 6)[:, np.newaxis] + np.array(of_six)
    return stocked.reshape(-1)
