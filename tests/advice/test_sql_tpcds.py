"""The texts of TPC-DS: all are understood, and their conditions are those that the texts have."""

from __future__ import annotations

import duckdb
import pytest

from rtfilter.advice.logs.sql_queries import fingerprint_of
from rtfilter.advice.statistics.tables import ColumnStatistics, TableStatistics
from rtfilter.bench.suites.duckdb_generators import TPCDS, load_extension
from tpcds.suite import tpcds_queries

QUERIES = {query.id: query.spark_sql for query in tpcds_queries()}


@pytest.fixture(scope="module")
def tables() -> dict[str, TableStatistics]:
    with duckdb.connect() as con:
        load_extension(con, TPCDS.extension)
        con.execute("call dsdgen(sf = 0)")
        found: dict[str, dict[str, ColumnStatistics]] = {}
        for table, column in con.execute("select table_name, column_name from information_schema.columns").fetchall():
            found.setdefault(table, {})[column] = ColumnStatistics(column, cardinality=10)
    return {name: TableStatistics(name, 1000, columns) for name, columns in found.items()}


def test_every_text_is_understood_and_names_known_tables_only(tables: dict[str, TableStatistics]) -> None:
    assert len(QUERIES) == 99
    for id_, sql in QUERIES.items():
        found = fingerprint_of(sql.strip().rstrip(";"), tables)
        assert found is not None and found.uses and not found.unknown_tables, id_
        assert not any(use.strangers for use in found.uses), id_


@pytest.mark.parametrize(
    ("id_", "meaning"),
    [
        ("3", "date_dim: d_moy = ?; store_sales: no condition; item: i_manufact_id = ?"),
        (
            "7",
            "store_sales: no condition; "
            "customer_demographics: cd_gender = ? and cd_marital_status = ? and cd_education_status = ?; "
            "date_dim: d_year = ?; item: no condition; promotion: p_channel_email = ? or p_channel_event = ?",
        ),
    ],
)
def test_conditions_are_those_of_the_text(tables: dict[str, TableStatistics], id_: str, meaning: str) -> None:
    assert str(fingerprint_of(QUERIES[id_].strip().rstrip(";"), tables)) == meaning
