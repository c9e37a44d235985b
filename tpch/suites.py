"""Suites `tpch` and `tpch-zipf`: the 22 queries of TPC-H, and 4 of them again with joins in a better order."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rtfilter.bench.suites.duckdb_generators import TPCH, generator_queries, tpch_answers
from rtfilter.bench.suites.layout import CLUSTERED, NATURAL, SHUFFLED, laid_out_tables
from rtfilter.bench.suites.suite import DataRequest, Distribution, Query, Suite, SuiteData
from tpch.better import BETTER
from tpch.data import skewed_tables, tpch_tables

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
DATE_KEYS = {"lineitem": "l_shipdate", "orders": "o_orderdate"}
NUMBERS = tuple(range(1, 23))
QUERY_IDS = (*map(str, NUMBERS), *(f"better{number}" for number in BETTER))
# TPC-H has no layout by partitions: none of its joins is on a date, so that Spark had nothing to prune by.
LAYOUTS = (NATURAL, CLUSTERED, SHUFFLED)
FRACTION_AT_SF1 = "0.0001000000"


def prepare_uniform(request: DataRequest) -> SuiteData:
    """dbgen's tables, and its published answers where there are some for this scale."""
    tables = tpch_tables(request.cache, request.sf, (), request.say)
    queries = request.wanted(tpch_queries(request.sf, tpch_answers(request.sf)))
    return SuiteData(laid_out_tables(request, tables, queries, DATE_KEYS), queries)


def prepare_skewed(request: DataRequest) -> SuiteData:
    """The same tables with values drawn from a Zipf law; at zipf 0 they are dbgen's, and so are the answers."""
    zipf = DEFAULT_ZIPF if request.zipf is None else request.zipf
    tables = skewed_tables(request.cache, request.sf, zipf, request.say)
    queries = request.wanted(tpch_queries(request.sf, None if zipf else tpch_answers(request.sf)))
    distributions = tuple(Distribution.from_dict(entry) for entry in tables.manifest.get("distributions", ()))
    return SuiteData(laid_out_tables(request, tables, queries, DATE_KEYS), queries, distributions)


def tpch_queries(sf: float, answers: Mapping[int, str] | None = None) -> tuple[Query, ...]:
    """The extension's texts, which Spark takes as they are; the variants are judged by the originals' rows."""
    texts = {number: _with_fraction(text, sf) if number == 11 else text for number, text in generator_queries(TPCH).items()}
    found = answers or {}
    originals = [_query(str(number), texts[number], texts[number], found.get(number)) for number in NUMBERS]
    variants = [_query(f"better{number}", sql.strip(), texts[number], found.get(number)) for number, sql in BETTER.items()]
    return (*originals, *variants)


def _query(query_id: str, spark_sql: str, duckdb_sql: str, answer: str | None) -> Query:
    return Query(query_id, spark_sql, duckdb_sql, tables_in(f"{spark_sql} {duckdb_sql}"), family=_family(query_id), answer=answer)


def _family(query_id: str) -> str:
    return "better join order" if query_id.startswith("better") else "TPC-H"


def tables_in(sql: str) -> tuple[str, ...]:
    """The tables that a query names."""
    return tuple(table for table in TABLES if re.search(rf"\b{table}\b", sql))


def _with_fraction(text: str, sf: float) -> str:
    """Query 11's threshold is 0.0001 / SF (TPC-H 2.4.11.3). Below SF1 it stays as it is: so do the published answers."""
    return text.replace(FRACTION_AT_SF1, f"{float(FRACTION_AT_SF1) / max(sf, 1.0):.12f}")


DEFAULT_ZIPF = 2.0
TPCH_SUITE = Suite(
    name="tpch",
    doc="TPC-H, 22 queries and 4 with a better join order, on dbgen's uniform data",
    layouts=LAYOUTS,
    query_ids=QUERY_IDS,
    prepare=prepare_uniform,
)
TPCH_ZIPF_SUITE = Suite(
    name="tpch-zipf",
    doc="the same on data whose keys and values follow a Zipf law, --zipf 0 to 4",
    layouts=LAYOUTS,
    query_ids=QUERY_IDS,
    prepare=prepare_skewed,
    default_zipf=DEFAULT_ZIPF,
)
