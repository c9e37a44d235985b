"""The demo: data in the order of the join key, three selectivities, and words that begin with the gain."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from rtfilter.bench.figures.result import Result
from rtfilter.bench.pages.demo_text import SHOWN, demo_text
from rtfilter.bench.suites import demo
from rtfilter.bench.suites.data_cache import DataCache
from rtfilter.bench.suites.suite import DataRequest
from tests.bench.pages.test_report import finished


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(demo, "SALES", 40_000)
    monkeypatch.setattr(demo, "PACK_ROWS", 100)
    monkeypatch.setattr(demo, "ROWS_AT_ONCE", 7_000)
    data = demo.prepare(DataRequest(1.0, None, demo.BY_DAY, DataCache(tmp_path), print))
    return data.tables["sale"].parent


def test_sales_lie_in_the_order_of_their_days(small: Path) -> None:
    day, sale = (pq.read_table(small / name) for name in ("day", "sale"))
    days = sale["s_day"].to_numpy()
    assert len(days) == 40_000 and (days[1:] >= days[:-1]).all() and set(days.tolist()) == set(day["d_day"].to_pylist())
    assert sum(pq.ParquetFile(file).num_row_groups for file in (small / "sale").iterdir()) == 400


def test_queries_are_as_selective_as_they_say(small: Path) -> None:
    day = pq.read_table(small / "day")
    kept = {
        "holiday": pc.sum(pc.equal(day["d_holiday"], "Christmas Eve")).as_py(),
        "year": pc.sum(pc.equal(day["d_year"], 2019)).as_py(),
        "all days": day.num_rows,
    }
    assert {query.id: query.selectivity for query in demo.demo_queries()} == {name: days / demo.DAYS for name, days in kept.items()}
    assert demo.DEMO.query_ids == tuple(kept)


def shown(modes: tuple[str, ...] = SHOWN) -> Result:
    result = finished(modes, queries=demo.demo_queries())
    told = [dataclasses.replace(each, last=dataclasses.replace(each.last, report="THE REPORT")) for each in result.measurements]
    return dataclasses.replace(result, measurements=tuple(told))


def test_the_words_begin_with_the_gain_and_end_with_a_report() -> None:
    lines = demo_text(shown()).splitlines()
    assert lines[0] == "Gained: 'holiday' takes 40 ms with rtfilter and 100 ms in Spark with its defaults: 2.50x as fast."
    assert lines[1] == "Of its row groups 4 % (4 of 100) were read. Results are equal."
    assert [line.split() for line in lines[4:7]] == [
        ["holiday", "100", "40", "40", "2.50x"],
        ["year", "100", "40", "40", "2.50x"],
        ["all", "days", "100", "40", "40", "2.50x"],
    ]
    assert lines[-1] == "THE REPORT" and max(map(len, lines)) <= 130


def test_a_query_that_failed_leaves_the_others() -> None:
    result = shown()
    lost = [each for each in result.measurements if not (each.query.id == "holiday" and each.mode == "rtfilter")]
    text = demo_text(dataclasses.replace(result, measurements=tuple(lost)))
    assert text.startswith("Gained: 'year'") and "failed" in text
    assert demo_text(dataclasses.replace(result, measurements=())) == "No query ran in all modes."
