"""Suite `tpcds`: the 99 queries of TPC-DS."""

from __future__ import annotations

import re

from rtfilter.bench.suites.duckdb_generators import TPCDS, generator_queries
from rtfilter.bench.suites.layout import CLUSTERED, NATURAL, PARTITIONED, SHUFFLED, laid_out_tables
from rtfilter.bench.suites.suite import DataRequest, Query, Suite, SuiteData
from tpcds.data import tpcds_tables
from tpcds.schema import DATE_KEYS, TABLES

NUMBERS = tuple(range(1, 100))
# The texts quote identifiers as standard SQL does, which Spark takes for strings unless told otherwise.
SPARK_CONF = {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"}


def prepare(request: DataRequest) -> SuiteData:
    """dsdgen's tables in the asked layout, and the extension's queries."""
    generated = tpcds_tables(request.cache, request.sf, (), request.say)
    queries = request.wanted(tpcds_queries())
    return SuiteData(laid_out_tables(request, generated, queries, DATE_KEYS), queries)


def tpcds_queries() -> tuple[Query, ...]:
    """The extension's texts, in Spark's dialect where that differs."""
    texts = generator_queries(TPCDS)
    return tuple(
        Query(str(number), for_spark(number, texts[number]), texts[number], tables_in(texts[number]), family="TPC-DS")
        for number in NUMBERS
    )


def for_spark(number: int, text: str) -> str:
    """A query in Spark's dialect.

    All of them parse as they are. Query 66 sums quotients of decimals: DuckDB divides as doubles, Spark rounds each quotient
    to six places, and thousands of such roundings show in the sum.
    """
    if number != 66:
        return text
    return text.replace("/w_warehouse_sq_ft", "/CAST(w_warehouse_sq_ft AS DOUBLE)")


def tables_in(sql: str) -> tuple[str, ...]:
    """The tables that a query names."""
    return tuple(table for table in TABLES if re.search(rf"\b{table}\b", sql, re.IGNORECASE))


SUITE = Suite(
    name="tpcds",
    doc="TPC-DS, 99 queries",
    layouts=(NATURAL, CLUSTERED, SHUFFLED, PARTITIONED),
    query_ids=tuple(map(str, NUMBERS)),
    prepare=prepare,
    spark_conf=SPARK_CONF,
)
