"""Suite `joins`: the three joins of TPC-DS on which shuffled filters are judged, small dimensions kept from being broadcast."""

from __future__ import annotations

from rtfilter.bench.suites.layout import CLUSTERED, NATURAL, PARTITIONED, SHUFFLED, laid_out_tables
from rtfilter.bench.suites.suite import DataRequest, Query, Suite, SuiteData
from tpcds.data import tpcds_tables
from tpcds.schema import DATE_KEYS

BORN = "c_birth_year = 1980 AND c_birth_month = 5"

CUSTOMER = f"""
SELECT count(*), sum(ss_net_paid)
FROM store_sales JOIN customer ON ss_customer_sk = c_customer_sk
WHERE {BORN}"""

CUSTOMER_ITEM = f"""
SELECT count(*), sum(ss_net_paid)
FROM store_sales JOIN customer ON ss_customer_sk = c_customer_sk JOIN item ON ss_item_sk = i_item_sk
WHERE {BORN} AND i_category IN ('Books', 'Music')"""

RETURNS_DATE = """
SELECT count(*), sum(sr_return_amt)
FROM store_sales JOIN store_returns ON ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number
  JOIN date_dim ON sr_returned_date_sk = d_date_sk
WHERE d_year = 2000 AND d_moy = 3"""


def _query(query_id: str, sql: str, *tables: str) -> Query:
    return Query(query_id, sql.strip(), sql.strip(), ("store_sales", *tables), family="joins")


QUERIES = (
    _query("customer", CUSTOMER, "customer"),
    _query("customer-item", CUSTOMER_ITEM, "customer", "item"),
    _query("returns-date", RETURNS_DATE, "store_returns", "date_dim"),
)


def prepare(request: DataRequest) -> SuiteData:
    """Finds or makes TPC-DS, and lays the tables of the queries out."""
    # All tables are made and kept: the suite tpcds finds them then, and dsdgen makes every one of them anyway.
    generated = tpcds_tables(request.cache, request.sf, (), request.say)
    queries = request.wanted(QUERIES)
    return SuiteData(laid_out_tables(request, generated, queries, DATE_KEYS), queries)


SUITE = Suite(
    name="joins",
    doc="store_sales x customer, x customer x item, x store_returns x date_dim: shuffled joins at every size",
    layouts=(NATURAL, CLUSTERED, SHUFFLED, PARTITIONED),
    query_ids=tuple(query.id for query in QUERIES),
    prepare=prepare,
    broadcast_threshold_bytes=-1,
)
