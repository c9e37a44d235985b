"""The Python of README.md does what the page says, block by block in one namespace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import rtfilter

ROOT = Path(__file__).parents[2]
# A path that no reader has.
PLACEHOLDER = "path/or/table"
ITEMS, PER_ITEM = 100, 100


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def session(session: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """The session that a builder finds, with the tables that the page names."""
    own = SparkSession.builder.getOrCreate()
    (tmp_path / "sales").mkdir()
    keys = [item for item in range(ITEMS) for _ in range(PER_ITEM)]
    sales: dict[str, Any] = {
        "s_item": keys,
        "s_date": keys,
        "s_customer": [key * 37 % 101 for key in keys],
        "s_code": [f"c{key}" for key in keys],
    }
    sales["s_price"] = keys
    pq.write_table(pa.table(sales), tmp_path / "sales" / "0.parquet", row_group_size=PER_ITEM)
    item = {"i_item": list(range(ITEMS)), "i_category": ["Books" if i % 50 == 7 else "Music" for i in range(ITEMS)]}
    pq.write_table(pa.table(item), tmp_path / "item.parquet")
    own.read.parquet(str(tmp_path / "sales")).createOrReplaceTempView("sales")
    own.read.parquet(str(tmp_path / "item.parquet")).createOrReplaceTempView("item")
    yield own
    own.conf.unset("rtfilter.enabled")
    for view in ("sales", "item"):
        own.catalog.dropTempView(view)


def test_the_blocks_run_and_filters_are_applied(session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    switch_on, prune, index_and_tree = blocks()
    names: dict[str, Any] = {}
    exec(switch_on, names)
    printed = capsys.readouterr().out
    assert "200" in printed and "applied" in printed and "2 of 100" in printed
    names["df"] = session.sql("select count(*) from sales join item on s_item = i_item where i_category = 'Books'")
    exec(prune, names)
    assert names["fast"].collect()[0][0] == 2 * PER_ITEM and callable(names["top_items"])
    assert index_and_tree.count(PLACEHOLDER) == 2
    exec(index_and_tree.replace(PLACEHOLDER, str(tmp_path / "sales")), names)
    frame = session.sql("select count(*) from sales where s_code = 'c5'")
    assert frame.collect()[0][0] == PER_ITEM
    report = rtfilter.last_report(session)
    assert report is not None and [scan.packs_kept for scan in report.scans] == [1]
    summed = session.sql("select i_category, sum(s_price) from sales join item on s_item = i_item group by i_category")
    assert dict(map(tuple, summed.collect()))["Books"] == (7 + 57) * PER_ITEM
    report = rtfilter.last_report(session)
    assert report is not None and [(tree.name, tree.used, tree.rows_read) for tree in report.star_trees] == [("cube", True, ITEMS)]
