"""What DuckDB is given for Spark's expressions says the same, up to the ends of the types."""

from __future__ import annotations

import duckdb
import pytest
from pyspark.sql import SparkSession

from tests.spark.differential.sql import DUCKDB_FORMS, FORMS

ENDS = {"int": 2**31, "bigint": 2**63}
FORMS_OF_TYPE = [("tried", "int"), ("wrapped", "int"), ("tried long", "bigint"), ("wrapped long", "bigint")]


@pytest.mark.parametrize(("form", "type_"), FORMS_OF_TYPE)
def test_a_form_that_leaves_its_type_does_so_in_both(session: SparkSession, form: str, type_: str) -> None:
    end = ENDS[type_]
    values = [sign * (end - 1) - sign * step for sign in (1, -1) for step in range(10)] + [-end, 0, 7, -7]
    own = session.newSession()
    own.conf.set("spark.sql.ansi.enabled", False)
    rows = ", ".join(f"(cast('{value}' as {type_}))" for value in values)
    query = "select x, cast({} as varchar(40)) from (values {}) t(x)"
    in_spark = {tuple(row) for row in own.sql(query.format(FORMS[form].format("x", "x"), rows)).collect()}
    in_duckdb = set(duckdb.sql(query.format(DUCKDB_FORMS[form].format("x", "x"), rows)).fetchall())
    assert in_spark == in_duckdb and len(in_spark) == len(set(values))
    assert form.startswith("wrapped") or any(made is None for _, made in in_spark)
