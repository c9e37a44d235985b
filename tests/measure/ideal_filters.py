"""What star queries of TPC-DS would take if the keys of their joins stood in their texts: the limit of any runtime filter. No test.

python tests/measure/ideal_filters.py SF LAYOUT [runs], for example: python tests/measure/ideal_filters.py 10 clustered 5

The fact becomes a view with `column in (keys)` for each join of the query on a few keys; finding the keys is not timed. Three modes
in turns, the first run of each not counted: Spark, rtfilter, Spark with the views. Medians in this order.
"""

from __future__ import annotations

import sys
from statistics import median

from pyspark.sql import SparkSession

from rtfilter.bench.engines.spark_engine import SparkEngine, register_tables
from rtfilter.bench.engines.spark_session import start_session
from rtfilter.bench.run.interleaved import steps
from rtfilter.bench.suites.data_cache import DataCache, data_directory
from rtfilter.bench.suites.suite import DataRequest
from tpcds.suite import SPARK_CONF, SUITE

FACT = "store_sales"
LITERALS = "literals"
MODES = ("off", "rtfilter", LITERALS)
BUILD_SIDES = {
    "3": {"ss_sold_date_sk": "date_dim where d_moy = 11", "ss_item_sk": "item where i_manufact_id = 128"},
    "7": {"ss_sold_date_sk": "date_dim where d_year = 2000"},
    "19": {"ss_sold_date_sk": "date_dim where d_moy = 11 and d_year = 1998", "ss_item_sk": "item where i_manager_id = 8"},
    "27": {"ss_sold_date_sk": "date_dim where d_year = 2002", "ss_store_sk": "store where s_state = 'TN'"},
    "42": {"ss_sold_date_sk": "date_dim where d_moy = 11 and d_year = 2000", "ss_item_sk": "item where i_manager_id = 1"},
    "43": {"ss_sold_date_sk": "date_dim where d_year = 2000", "ss_store_sk": "store where s_gmt_offset = -5"},
    "52": {"ss_sold_date_sk": "date_dim where d_moy = 11 and d_year = 2000", "ss_item_sk": "item where i_manager_id = 1"},
    "55": {"ss_sold_date_sk": "date_dim where d_moy = 11 and d_year = 1999", "ss_item_sk": "item where i_manager_id = 28"},
    "89": {"ss_sold_date_sk": "date_dim where d_year = 1999"},
    "98": {"ss_sold_date_sk": "date_dim where d_date between date '1999-02-22' and date '1999-03-24'"},
}
KEY = {"ss_sold_date_sk": "d_date_sk", "ss_item_sk": "i_item_sk", "ss_store_sk": "s_store_sk"}


def main(sf: float, layout: str, runs: int) -> None:
    request = DataRequest(sf, None, layout, DataCache(data_directory(None)), print, query_ids=tuple(BUILD_SIDES))
    data = SUITE.prepare(request)
    spark = start_session("limit", "local[2]", conf={**SPARK_CONF, "rtfilter.feedback.enabled": "false"})
    register_tables(spark, data.tables)
    for query in data.queries:
        conditions = " and ".join(_literal(spark, column, build) for column, build in BUILD_SIDES[query.id].items())
        took_ms: dict[str, list[float]] = {mode: [] for mode in MODES}
        for step in steps([query], MODES, runs, warmup=1):
            register_tables(spark, {FACT: data.tables[FACT]})
            if step.mode == LITERALS:
                spark.table(FACT).where(conditions).createOrReplaceTempView(FACT)
            ms = SparkEngine(spark, "rtfilter" if step.mode == "rtfilter" else "off").run(query).ms
            if step.measured:
                took_ms[step.mode].append(ms)
        off, with_filters, limit = (median(took_ms[mode]) for mode in MODES)
        ratios = f"{off / with_filters:.2f}x with rtfilter, {off / limit:.2f}x with literals"
        print(f"Q{query.id}: {off:,.0f}, {with_filters:,.0f}, {limit:,.0f} ms; {ratios}", flush=True)
    spark.stop()


def _literal(spark: SparkSession, column: str, build: str) -> str:
    keys = sorted(row[0] for row in spark.sql(f"select distinct {KEY[column]} from {build}").collect())
    return f"{column} in ({', '.join(map(str, keys))})" if keys else "false"


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 5)
