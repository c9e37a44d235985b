"""Filters of a suite that were planned and never filled, although their scan ran. Prints each, and how many; no test.

python tests/measure/lost_filters.py SUITE SF LAYOUT [queries or all] [runs]
For example: python tests/measure/lost_filters.py tpcds 1 natural all 1
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import rtfilter
from rtfilter.bridge import jvm
from rtfilter.report import NOT_FILLED
from tests.measure.layer_session import layer_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(name: str, sf: float, layout: str, chosen: str, runs: int) -> None:
    lost = unfilled = 0
    with layer_session(name, sf, layout) as (spark, queries):
        for query in (each for each in queries if chosen == "all" or each.id in chosen.split(",")):
            for _ in range(runs):
                of_scans = filters_by_scan(spark, query.spark_sql)
                unfilled += len(of_scans)
                for text, ran in of_scans:
                    lost += ran
                    print(
                        f"Q{query.id}: {text}" if ran else f"Q{query.id}: {text} (its scan is not in the plan that ran)", flush=True
                    )
    print(f"{lost} lost, {unfilled - lost} without a scan in the plan that ran")


def filters_by_scan(spark: SparkSession, sql: str) -> list[tuple[str, bool]]:
    """The filters that were planned and not filled, and whether their table was scanned."""
    frame = spark.sql(sql)
    frame.collect()
    report, scanned = rtfilter.last_report(spark), {scan["table"] for scan in jvm.scan_metrics(frame)}
    entries = () if report is None else report.filters
    return [(f"{e.build} -> {e.probe}", e.probe.partition(".")[0] in scanned) for e in entries if e.reason == NOT_FILLED]


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3], given.get(4, "all"), int(given.get(5, 1)))
