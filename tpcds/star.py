"""Suite `star`: aggregates on tables with star-trees, by how they are answered: out of nodes, out of leaves, under a join, beside
files that the tree does not know, not at all."""

from __future__ import annotations

from rtfilter.bench.suites.layout import NATURAL
from rtfilter.bench.suites.suite import DataRequest, Query, Suite, SuiteData
from tpcds.data import tpcds_tables
from tpcds.star_tables import TABLES, star_table
from tpch.data import tpch_tables

NODE, LEAF, JOIN, HYBRID, REFUSED = "node", "leaf", "join", "hybrid", "refused"
SALES = "count(*), sum(ss_quantity), sum(ss_net_paid), max(ss_net_profit)"
PAID = "count(*), sum(quantity), sum(net_paid)"
OF_TPCH = ("lineitem",)

TEXTS: dict[tuple[str, str], str] = {
    (NODE, "all"): f"SELECT {SALES} FROM store_sales",
    (NODE, "day"): f"SELECT {SALES} FROM store_sales WHERE ss_sold_date_sk = 2451911",
    (NODE, "stores"): f"SELECT ss_store_sk, {SALES} FROM store_sales GROUP BY ss_store_sk",
    (NODE, "year"): f"SELECT {SALES} FROM store_sales WHERE ss_sold_date_sk BETWEEN 2451545 AND 2451910",
    (NODE, "months"): f"SELECT month, {PAID} FROM flat GROUP BY month",
    (NODE, "class"): f"SELECT month, {PAID} FROM flat WHERE i_class = 'pants' GROUP BY month",
    (NODE, "flags"): "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), avg(l_discount), count(*) "
    "FROM lineitem WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus",
    (NODE, "shipmodes"): "SELECT l_shipmode, count(*), max(l_tax) FROM lineitem GROUP BY l_shipmode",
    (LEAF, "store"): f"SELECT ss_sold_date_sk, {SALES} FROM store_sales WHERE ss_store_sk = 1 GROUP BY ss_sold_date_sk",
    (LEAF, "potential"): f"SELECT hd_buy_potential, {PAID} FROM flat GROUP BY hd_buy_potential",
    (LEAF, "mail"): f"SELECT month, {PAID} FROM flat WHERE p_channel_dmail = 'Y' AND p_channel_tv = 'N' GROUP BY month",
    (LEAF, "categories"): "SELECT i_category, p_channel_event, avg(sales_price), max(net_profit) FROM flat "
    "WHERE month BETWEEN 200001 AND 200012 AND store IN (1, 2, 4) GROUP BY i_category, p_channel_event",
    (LEAF, "no promotion"): f"SELECT i_class, {PAID} FROM flat WHERE p_channel_dmail IS NULL GROUP BY i_class",
    (LEAF, "returned"): "SELECT l_shipmode, sum(l_quantity) FROM lineitem "
    "WHERE l_returnflag = 'R' AND l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' GROUP BY l_shipmode",
    (
        JOIN,
        "month",
    ): f"SELECT {SALES} FROM store_sales JOIN date_dim ON ss_sold_date_sk = d_date_sk WHERE d_year = 2000 AND d_moy = 3",
    (JOIN, "weekdays"): f"SELECT d_day_name, {SALES} FROM store_sales JOIN date_dim ON ss_sold_date_sk = d_date_sk "
    "WHERE d_year = 2001 GROUP BY d_day_name",
    (JOIN, "states"): f"SELECT s_state, {SALES} FROM store_sales JOIN store ON ss_store_sk = s_store_sk GROUP BY s_state",
    (JOIN, "both"): f"SELECT s_store_name, d_moy, {SALES} FROM store_sales JOIN date_dim ON ss_sold_date_sk = d_date_sk "
    "JOIN store ON ss_store_sk = s_store_sk WHERE d_year = 1999 GROUP BY s_store_name, d_moy",
    (JOIN, "semi"): f"SELECT ss_store_sk, {SALES} FROM store_sales WHERE ss_sold_date_sk IN "
    "(SELECT d_date_sk FROM date_dim WHERE d_year = 2002 AND d_holiday = 'Y') GROUP BY ss_store_sk",
    (JOIN, "outer"): f"SELECT s_city, {SALES} FROM store_sales LEFT JOIN store ON ss_store_sk = s_store_sk GROUP BY s_city",
    (HYBRID, "all"): f"SELECT {PAID}, max(net_profit) FROM flat_grown",
    (HYBRID, "months"): f"SELECT month, {PAID} FROM flat_grown GROUP BY month",
    (HYBRID, "class"): f"SELECT store, {PAID} FROM flat_grown WHERE i_class = 'dresses' GROUP BY store",
    (HYBRID, "potential"): f"SELECT hd_buy_potential, {PAID} FROM flat_grown WHERE month > 200106 GROUP BY hd_buy_potential",
    (REFUSED, "item"): f"SELECT ss_item_sk, {SALES} FROM store_sales GROUP BY ss_item_sk ORDER BY ss_item_sk LIMIT 100",
    (REFUSED, "customers"): "SELECT ss_store_sk, count(DISTINCT ss_customer_sk) FROM store_sales GROUP BY ss_store_sk",
    (REFUSED, "product"): "SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' "
    "AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
    (REFUSED, "either"): f"SELECT {PAID} FROM flat WHERE month = 200001 OR store = 4",
    (REFUSED, "measure"): "SELECT i_category, sum(net_profit) FROM flat GROUP BY i_category",
    (REFUSED, "window"): f"SELECT {PAID} FROM (SELECT * FROM flat WHERE month = 200001 "
    "QUALIFY row_number() OVER (PARTITION BY i_class ORDER BY net_paid DESC, quantity DESC, net_profit) = 1)",
}


def star_queries() -> tuple[Query, ...]:
    """`CLASS NAME` each, with its class as the family."""
    return tuple(Query(f"{kind} {name}", sql, sql, _tables_in(sql), family=kind) for (kind, name), sql in TEXTS.items())


def _tables_in(sql: str) -> tuple[str, ...]:
    words = set(sql.replace("(", " ").replace(")", " ").split())
    return tuple(table for table in TABLES if table in words)


def prepare(request: DataRequest) -> SuiteData:
    """Finds or makes the tables of the queries, and their star-trees."""
    queries = request.wanted(star_queries())
    names = sorted({table for query in queries for table in query.tables})
    of_tpch = [name for name in names if name in OF_TPCH]
    tpcds = tpcds_tables(request.cache, request.sf, (), request.say) if len(names) > len(of_tpch) else None
    tpch = tpch_tables(request.cache, request.sf, (), request.say) if of_tpch else None
    tables = {}
    for name in names:
        sources = tpch if name in OF_TPCH else tpcds
        assert sources is not None, "generated above"
        tables[name] = star_table(request, name, sources)
    return SuiteData(tables, queries)


SUITE = Suite(
    name="star",
    doc="aggregates over TPC-DS and TPC-H with star-trees: by a node, by leaves, under joins, beside new files, refused",
    layouts=(NATURAL,),
    query_ids=tuple(query.id for query in star_queries()),
    prepare=prepare,
)
