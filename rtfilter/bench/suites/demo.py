"""The demo's own data and queries: ten years of sales, in the order in which they were loaded, joined with the days of a calendar.

The data comes from a seeded generator and is there in seconds. It is made such that a selective join can gain: the rows of one day
lie together, as in a table that is loaded day by day. The query for all days is there to show what is not gained.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.bench.suites.data_cache import Manifest
from rtfilter.bench.suites.pack_writer import plan_packs, write_packs
from rtfilter.bench.suites.suite import DataRequest, Query, Suite, SuiteData

FIRST_DAY, DAYS = datetime.date(2015, 1, 1), 3652
SALES, PACK_ROWS, FILES = 20_000_000, 50_000, 8
ROWS_AT_ONCE = 1_000_000
SEED = 20260101
BY_DAY = "by day"
# Id, condition on the calendar, days that fulfil it.
SELECTIVITIES = (("holiday", "d_holiday = 'Christmas Eve'", 10), ("year", "d_year = 2019", 365), ("all days", "d_year > 0", DAYS))


def prepare(request: DataRequest) -> SuiteData:
    """Finds or makes `day` and `sale`."""

    def build(directory: Path) -> Manifest:
        request.say(f"makes {SALES:,} sales of {DAYS:,} days")
        (directory / "day").mkdir()
        pq.write_table(calendar(), directory / "day" / "part-00000.parquet")
        plan = plan_packs(SALES, SALES // PACK_ROWS, FILES, PACK_ROWS)
        write_packs(sales(SALES), next(sales(1)).schema, plan, directory / "sale")
        return {"generator": "demo", "rows": {"day": DAYS, "sale": SALES}}

    path = request.cache.dataset(f"demo-{SALES}x{PACK_ROWS}", build).path
    return SuiteData({"day": path / "day", "sale": path / "sale"}, demo_queries())


def calendar() -> pa.Table:
    dates = [FIRST_DAY + datetime.timedelta(days) for days in range(DAYS)]
    holidays = {(12, 24): "Christmas Eve", (1, 1): "New Year"}
    return pa.table(
        {
            "d_day": pa.array(range(DAYS), pa.int32()),
            "d_date": pa.array(dates, pa.date32()),
            "d_year": pa.array([date.year for date in dates], pa.int32()),
            "d_holiday": [holidays.get((date.month, date.day), "none") for date in dates],
        }
    )


def sales(rows: int) -> Iterator[pa.RecordBatch]:
    """`rows` sales in the order of their days."""
    for first in range(0, rows, ROWS_AT_ONCE):
        count = min(ROWS_AT_ONCE, rows - first)
        chance = np.random.Generator(np.random.PCG64([SEED, first]))
        columns = {
            "s_day": ((first + np.arange(count)) * DAYS // rows).astype(np.int32),
            "s_customer": chance.integers(0, 2_000_000, count),
            "s_quantity": chance.integers(1, 100, count, np.int32),
            "s_price": chance.random(count),
        }
        yield pa.record_batch(columns)


def demo_queries() -> tuple[Query, ...]:
    return tuple(_query(name, condition, days) for name, condition, days in SELECTIVITIES)


def _query(name: str, condition: str, days: int) -> Query:
    sql = f"select count(*), sum(s_quantity), max(s_customer), max(s_price)\nfrom sale join day on s_day = d_day\nwhere {condition}"
    return Query(name, sql, sql, ("sale", "day"), "sale x day", days / DAYS)


DEMO = Suite(
    "demo",
    "ten years of sales x the days of a calendar",
    (BY_DAY,),
    tuple(name for name, _, _ in SELECTIVITIES),
    prepare,
    scales=False,
)
