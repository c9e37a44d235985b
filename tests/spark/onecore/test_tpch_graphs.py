"""Every join graph of TPC-H with one core, all joins shuffled, all legal filters planned: no gate waits for what waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.bench.suites.data_cache import DataCache
from rtfilter.bench.suites.suite import DataRequest, SuiteData
from rtfilter.bridge import jvm
from tests.spark.applications import application, give_time
from tpch.suites import QUERY_IDS, TPCH_SUITE

SCALE = 0.01
LONGEST_S = 120


@dataclass
class Counts:
    """Over all queries: with gates, rows dropped, packs rejected."""

    gated: int = 0
    rows_dropped: int = 0
    packs_rejected: int = 0


@pytest.fixture(scope="module")
def counts() -> Counts:
    return Counts()


@pytest.fixture(scope="module")
def suite_data(tmp_path_factory: pytest.TempPathFactory) -> SuiteData:
    cache = DataCache(tmp_path_factory.mktemp("data"))
    request = DataRequest(sf=SCALE, zipf=None, layout="clustered", cache=cache, say=lambda _: None, pack_rows=2048, files=2)
    return TPCH_SUITE.prepare(request)


@pytest.fixture(scope="module")
def one_core(suite_data: SuiteData, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    scratch: Path = tmp_path_factory.mktemp("spark")
    conf = {"spark.sql.shuffle.partitions": "2", "spark.sql.autoBroadcastJoinThreshold": "-1"}
    with application("rtfilter with one core", conf, scratch=scratch, master="local[1]") as spark:
        give_time(spark)
        spark.conf.set("rtfilter.cost", "always")
        for name, path in suite_data.tables.items():
            spark.read.parquet(str(path)).createOrReplaceTempView(name)
        yield spark


@pytest.mark.parametrize("query_id", QUERY_IDS)
def test_the_query_ends_with_the_same_rows(one_core: SparkSession, suite_data: SuiteData, counts: Counts, query_id: str) -> None:
    sql = next(query.spark_sql for query in suite_data.queries if query.id == query_id)

    def rows(on: bool) -> tuple[list[str], object]:
        one_core.conf.set("rtfilter.enabled", on)
        frame = one_core.sql(sql)
        return sorted(repr(tuple(row)) for row in frame.collect()), frame

    off, _ = rows(False)
    with ThreadPoolExecutor(1) as waiting:
        on, frame = waiting.submit(rows, True).result(timeout=LONGEST_S)
    assert on == off
    report = rtfilter.last_report(one_core)
    if report is None:
        assert query_id == "1", "only a query without a join leaves no report"
        return
    assert {entry.decision for entry in report.filters} <= {"applied", "skipped"}, str(report)
    counts.gated += any(entry.gate for entry in report.filters)
    counts.rows_dropped += sum(each["rows_dropped"] for each in jvm.row_metrics(frame))  # type: ignore[arg-type]
    scans = jvm.scan_metrics(frame)  # type: ignore[arg-type]
    counts.packs_rejected += sum(scan["packs_total"] - scan["packs_read"] for scan in scans if scan["narrowed"])


def test_gates_were_set_and_rows_and_packs_went(counts: Counts) -> None:
    assert counts.gated >= 15
    assert counts.rows_dropped > 10_000
    assert counts.packs_rejected > 0
