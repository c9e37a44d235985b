"""Queries that other engines' roll-ups have answered wrong, and what is right: from their issue threads."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from rtfilter import StarTree
from tests.spark.star_tree_answers.judge import decided, spark_rows

MOMENT = datetime.datetime(2024, 2, 29, 12, 30)


class Cube:
    """A table in a folder, a tree of it, and queries of the table that are looked at both ways."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder

    def table(self, name: str, columns: dict[str, Any], files: int = 1) -> Path:
        table = pa.table(columns)
        place = self.folder / name
        place.mkdir(exist_ok=True)
        step = -(-len(table) // files) or 1
        for number in range(files):
            pq.write_table(table.slice(number * step, step), place / f"{number}.parquet")
        self.show(name)
        return place

    def show(self, name: str) -> None:
        self.spark.read.parquet(str(self.folder / name)).createOrReplaceTempView(name)

    def tree(self, table: str, dimensions: Sequence[str], measures: Sequence[str], name: str = "cube", **more: Any) -> StarTree:
        given: Any = {"max_leaf": 1, "max_rows": 1_000_000, **more}
        place = str(self.folder / table)
        tree: StarTree = StarTree.create(self.spark, place, dimensions=dimensions, measures=measures, name=name, **given)
        return tree

    def both(self, sql: str, *, reason: str = "USED") -> Any:
        """The rows, which are the same with and without the layer; of the tree the reason is as expected."""
        off = spark_rows(self.spark, sql, layer=False)
        on = spark_rows(self.spark, sql, layer=True)
        reasons = [entry["reason"] for entry in decided(self.spark)]
        assert reasons == [reason], (sql, decided(self.spark))
        assert on == off
        return on


@pytest.fixture
def cube(spark: SparkSession, tmp_path: Path) -> Cube:
    return Cube(spark, tmp_path)


def test_counts_of_values_are_those_of_the_table(cube: Cube) -> None:
    """Pinot #17105: the number of aggregated rows came back."""
    values = [None if i % 7 == 0 else 2000 if i % 2 else 10 for i in range(20_000)]
    cube.table("t", {"k": [i % 31 for i in range(20_000)], "col": values}, files=5)
    cube.tree("t", ["k", "col"], ["count(*)", "count(col)"])
    assert cube.both("select count(col), count(*) from t where col > 1000") == [(8571, 8571)]
    # count(col) is of a dimension here, which is null in some groups.
    assert cube.both("select count(col), count(*) from t") == [(sum(each is not None for each in values), 20_000)]


def test_a_filter_column_that_is_a_group_column(cube: Cube) -> None:
    """ClickHouse #106573: a column that a filter takes as a boolean."""
    cube.table("t", {"c": pa.array([1, 2] * 50, pa.int32())})
    cube.tree("t", ["c"], ["count(*)"])
    assert cube.both("select c, count(*) from t where cast(c as boolean) group by c") == [(1, 50), (2, 50)]


def test_nothing_matches(cube: Cube) -> None:
    """StarRocks #34319: COUNT(*) without GROUP BY is 0, and a sum is NULL."""
    cube.table("t", {"k": [1, 2, 3] * 10, "x": [5, 6, 7] * 10})
    cube.tree("t", ["k"], ["count(*)", "sum(x)", "count(x)", "avg(x)"])
    assert cube.both("select count(*), count(x), sum(x), avg(x), min(k) from t where k = 9") == [(0, 0, None, None, None)]
    assert cube.both("select k, count(*) from t where k = 9 group by k") == []
    assert decided(cube.spark)[0]["rows_read"] == 0


def test_rows_are_counted_also_where_only_values_were_asked_for(cube: Cube) -> None:
    """ClickHouse #74495: the number of rows was made of the number of values."""
    cube.table("t", {"k": [1, 2] * 10, "x": [None, 6] * 10})
    cube.tree("t", ["k"], ["count(x)"])
    assert cube.both("select k, count(*), count(x) from t group by k") == [(1, 10, 0), (2, 10, 10)]


def test_groups_by_a_constant(cube: Cube) -> None:
    """ClickHouse #36728: one group, and of an empty table none."""
    cube.table("t", {"k": [1, 2] * 10, "x": [1, 6] * 10})
    cube.tree("t", ["k"], ["count(*)", "sum(x)"])
    assert cube.both("select 'all', sum(x) from t group by 'all'") == [("all", 70)]
    assert cube.both("select 'all', sum(x) from t where k = 3 group by 'all'") == []


def test_a_condition_that_is_always_true_needs_no_dimension(cube: Cube) -> None:
    """Pinot #6109."""
    cube.table("t", {"k": [1, 2] * 10, "x": [1, 6] * 10})
    cube.tree("t", ["k"], ["sum(x)"])
    assert cube.both("select sum(x) from t where (x = x or 1 = 1) and k < 5") == [(70,)]
    assert cube.both("select sum(x) from t where x < 100", reason="NO_DIMENSION") == [(70,)]


def test_keys_of_a_joined_table_that_are_not_unique(cube: Cube) -> None:
    cube.table("fact", {"k": [1, 1, 2] * 3, "x": [10, 5, 7] * 3})
    cube.table("dim", {"k": [1, 1, 2], "name": ["p", "q", "p"], "w": [1, 10, 100]})
    cube.tree("fact", ["k"], ["count(*)", "sum(x)"])
    sql = "select name, sum(x), count(*), sum(w) from fact join dim using (k) group by name"
    assert cube.both(sql) == [("p", 66, 9, 306), ("q", 45, 6, 60)]


def test_a_whole_number_beyond_what_a_double_holds(cube: Cube) -> None:
    cube.table("t", {"k": [1, 2, 2, 2], "x": [2**53 + 1, 1, 1, 1]})
    cube.tree("t", ["k"], ["sum(x)", "avg(x)"])
    assert cube.both("select sum(x) from t where k = 1") == [(2**53 + 1,)]
    cube.both("select avg(x) from t", reason="MAY_OVERFLOW")


def test_sums_of_floats_are_served_only_where_they_are_wanted(cube: Cube) -> None:
    largest, tiny = 1.7976931348623157e308, 5e-324
    cube.table("t", {"k": [1, 1, 2, 2, 2], "x": [largest, 9.0, 10.0, tiny, 12.0]})
    cube.spark.conf.set("rtfilter.startree.floats", True)
    cube.tree("t", ["k"], ["sum(x)"])
    assert cube.both("select k, sum(x) from t group by k") == [(1, largest), (2, 22.0)]
    cube.spark.conf.set("rtfilter.startree.floats", False)
    cube.both("select sum(x) from t", reason="FLOATS_OFF")


def test_a_file_replaced_in_place_is_read_itself(cube: Cube) -> None:
    place = cube.table("t", {"k": [1, 2] * 10, "x": [1, 6] * 10}, files=2)
    tree = cube.tree("t", ["k"], ["sum(x)"])
    pq.write_table(pa.table({"k": [1] * 7, "x": [100] * 7}), place / "1.parquet")
    cube.show("t")
    assert cube.both("select sum(x) from t", reason="TOO_STALE") == [(735,)]
    assert "1.parquet" in decided(cube.spark)[0]["detail"]
    tree.refresh()
    assert cube.both("select sum(x) from t") == [(735,)]


def test_files_that_were_added_are_read_beside_the_tree(cube: Cube) -> None:
    place = cube.table("t", {"k": [1, 2] * 100, "x": pa.array([1, 6] * 100, pa.int32())})
    cube.tree("t", ["k"], ["sum(x)", "count(x)", "min(x)", "avg(x)"])
    pq.write_table(pa.table({"k": [1, 3, None], "x": pa.array([100, None, 4], pa.int32())}), place / "late.parquet")
    cube.show("t")
    sql = "select k, sum(x), count(x), min(x), avg(x), count(*) from t where k is null or k < 9 group by k"
    assert len(cube.both(sql)) == 4
    assert decided(cube.spark)[0]["raw_files"] == 1
    cube.spark.conf.set("rtfilter.startree.hybrid", False)
    cube.both(sql, reason="HYBRID_OFF")


def test_of_two_trees_the_one_with_fewer_rows_to_read_is_used(cube: Cube) -> None:
    count = 3000
    cube.table("t", {"a": [i % 10 for i in range(count)], "b": [i % 300 for i in range(count)], "x": list(range(count))})
    cube.tree("t", ["b", "a"], ["sum(x)"], name="wide", max_leaf=10_000)
    cube.tree("t", ["a"], ["sum(x)"], name="small")
    cube.spark.conf.set("rtfilter.enabled", True)
    cube.spark.sql("select a, sum(x) from t group by a").collect()
    assert {(each["name"], each["used"], each["reason"]) for each in decided(cube.spark)} == {
        ("small", True, "USED"),
        ("wide", False, "OTHER_TREE"),
    }
    cube.spark.sql("select /*+ rtfilter(use(wide)) */ a, sum(x) from t group by a").collect()
    assert {each["name"]: each["reason"] for each in decided(cube.spark)} == {"small": "HINT_SKIP", "wide": "USED"}
    cube.spark.sql("select /*+ rtfilter(skip()) */ a, sum(x) from t group by a").collect()
    assert {each["reason"] for each in decided(cube.spark)} == {"HINT_SKIP"}


def test_types_of_results_are_sparks_own(cube: Cube) -> None:
    prices = [Decimal("12.34"), Decimal("-0.01"), None, Decimal("99999.99")] * 20
    table = {
        "k": [1, 2, None, 1] * 20,
        "at": [MOMENT] * 80,
        "price": pa.array(prices, pa.decimal128(7, 2)),
        "wide": pa.array(prices, pa.decimal128(28, 2)),
        "t": pa.array([1, -128, 127, None] * 20, pa.int8()),
    }
    cube.table("t", table)
    names = [f"{function}({column})" for column in ("price", "wide", "t") for function in ("sum", "avg", "min", "max", "count")]
    cube.tree("t", ["k", "at"], names)
    sql = f"select k, date_trunc('MONTH', at) as m, {', '.join(names)} from t group by k, date_trunc('MONTH', at)"
    cube.both(sql)
    schemas = []
    for layer in (True, False):
        cube.spark.conf.set("rtfilter.enabled", layer)
        schemas.append(cube.spark.sql(sql).schema.simpleString())
    assert schemas[0] == schemas[1]


def test_subqueries_and_what_lies_above(cube: Cube) -> None:
    count = 500
    cube.table("t", {"k": [i % 5 for i in range(count)], "d": [i % 7 for i in range(count)], "x": list(range(count))})
    cube.tree("t", ["k", "d"], ["sum(x)", "count(*)", "max(x)"])
    of_k = "select k, sum(x) as s from t"
    for sql in (
        "select k, s, rank() over (order by s) as r from (select k, sum(x) as s from t where d < 3 group by k)",
        "select k, sum(x) as s from t group by k having sum(x) > (select sum(x) / 9 from t) order by s limit 2",
        f"select a.k, a.s, b.s from ({of_k} where d = 1 group by k) a join ({of_k} group by k) b using (k)",
        "with w as (select k, d, sum(x) s from t group by k, d) select k, sum(s), count(*) from w group by k",
        "select k, sum(x) from t group by k union all select d, max(x) from t group by d",
        "select * from (select k, d, x from t) pivot (sum(x) for d in (1, 2, 3))",
    ):
        off, on = (spark_rows(cube.spark, sql, layer=layer) for layer in (False, True))
        assert on == off and on and not isinstance(on, str), sql
        assert any(each["used"] for each in decided(cube.spark)), sql


def test_averages_where_joins_repeat_rows_very_often(cube: Cube) -> None:
    """A sum of so many values leaves a bigint, and 18 digits; Spark averages as doubles, which hold it."""
    largest, times = 2**31 - 1, 3_000
    price = [Decimal("999999.99")] * 20
    cube.table("fact", {"k": pa.array([1, 2] * 10, pa.int32()), "x": pa.array([largest] * 20, pa.int32()), "price": price})
    cube.table("dim", {"k": pa.array([1] * times, pa.int32()), "g": list(range(times))})
    cube.tree("fact", ["k"], ["avg(x)", "avg(price)"])
    ((mean, of_price),) = cube.both("select avg(x), avg(price) from fact join dim using (k)")
    assert mean == largest and of_price == Decimal("999999.99")


def test_a_choice_with_a_number_for_others_counts_nulls_too(cube: Cube) -> None:
    cube.spark.conf.set("spark.sql.ansi.enabled", False)
    cube.table("t", {"k": [1, 2] * 10, "x": [None, 6] * 10})
    cube.tree("t", ["k"], ["sum(x)", "count(x)"])
    assert cube.both("select k, sum(x + 1) from t group by k") == [(1, None), (2, 70)]
    sql = "select sum(case when k = 2 then x else 0 end + k) from t"
    assert cube.both(sql, reason="NULLS_BETWEEN") == [(90,)]
    # Spark itself moves a literal into the branches.
    assert cube.both(sql.replace("+ k", "+ 1")) == [(80,)]


def test_sums_of_expressions_of_two_measures(cube: Cube) -> None:
    prices = [Decimal("12.34"), Decimal("-0.01"), Decimal("99999.99"), Decimal("0.00")]
    columns = {
        "k": [1, 2, None, 1] * 20,
        "x": pa.array([5, -7, 2**31 - 1, 0] * 20, pa.int32()),
        "y": pa.array([1, 2, 3, 4, -5] * 16, pa.int64()),
        "z": pa.array([1, None] * 40, pa.int64()),
        "p": pa.array(prices * 20, pa.decimal128(7, 2)),
        "w": pa.array([each.quantize(Decimal("0.001")) for each in prices] * 20, pa.decimal128(20, 3)),
    }
    cube.table("t", columns)
    cube.tree("t", ["k"], [f"sum({name})" for name in "xyzpw"], max_leaf=1)
    for ansi in (True, False):
        cube.spark.conf.set("spark.sql.ansi.enabled", ansi)
        for summed in (
            "x + y",
            "y - x",
            "2L * x + y",
            "cast(x as bigint) * 2 + 3 + y",
            "z * 2 + z + 3",
            "p + w",
            "w - 2 * p",
            "p + 1",
            "case when k = 1 then y else 0 end + x",
        ):
            rows = cube.both(f"select k, sum({summed}), count(*) from t group by k")
            assert len(rows) == 3 and cube.both(f"select sum({summed}) from t where k > 7") == [(None,)]
        assert cube.both("select sum(y + z) from t", reason="NULLS_BETWEEN") == [(80,)]
    # An int wraps around in each row.
    cube.both("select sum(x + x) from t", reason="MAY_OVERFLOW")


def test_sketches_are_those_of_all_rows(cube: Cube) -> None:
    """Pinot #12839: the size of a sketch was not looked at. Two forms of one sketch (S13) are one stored column."""
    count = 3_000
    columns = {
        "k": [(1, 2, None)[i % 3] for i in range(count)],
        "d": [i % 7 for i in range(count)],
        "user": [None if i % 11 == 0 else f"u{i * 7 % 1_000}" for i in range(count)],
        "n": pa.array([i % 5 for i in range(count)], pa.int32()),
        "none": pa.array([None] * count, pa.int64()),
    }
    place = cube.table("t", columns, files=2)
    measures = ["theta_sketch_agg(user, 5)", "theta_sketch_agg(user)", "theta_sketch_agg(none, 4)", "bitmap_construct_agg(n)"]
    estimate = cube.tree("t", ["k", "d"], measures, dry_run=True)
    tree = cube.tree("t", ["k", "d"], measures)
    assert estimate.rows == tree.stats()["rows"] and estimate.bytes > 0  # type: ignore[attr-defined]
    of_size = "theta_sketch_agg(user, 5) as s, theta_sketch_estimate(theta_sketch_agg(user, 5)) as e"
    for sql in (
        f"select k, {of_size} from t group by k",
        f"select {of_size} from t where d in (1, 2)",
        f"select {of_size}, theta_sketch_agg(none, 4), bitmap_construct_agg(n) from t where k = 9",
        "select d, theta_sketch_estimate(theta_sketch_agg(user)), theta_sketch_agg(none, 4) from t group by d",
        "select k, bitmap_count(bitmap_construct_agg(n)), bitmap_construct_agg(n) filter (where d > 4) from t group by k",
        "select k, theta_sketch_agg(d, 6), bitmap_construct_agg(d) from t group by k",
    ):
        assert cube.both(sql), sql
    ((users,),) = cube.both("select theta_sketch_estimate(theta_sketch_agg(user, 5)) from t")
    assert 500 < users < 1_800
    cube.both("select theta_sketch_agg(user, 8) from t", reason="NOT_STORED")
    cube.both("select hll_sketch_estimate(hll_sketch_agg(user, 12)) > 0 from t", reason="FUNCTION_NOT_SERVED")
    cube.both("select approx_count_distinct(user) from t", reason="FUNCTION_NOT_SERVED")
    late = {**{name: values[:50] for name, values in columns.items()}, "d": [6] * 50, "user": [f"late{i}" for i in range(50)]}
    pq.write_table(pa.table(late), place / "late.parquet")
    cube.show("t")
    hybrid = f"select k, {of_size}, bitmap_construct_agg(n) from t where d = 6 group by k"
    cube.both(hybrid)
    assert decided(cube.spark)[0]["raw_files"] == 1
    tree.refresh()
    cube.both(hybrid)
    assert tree.optimize() == 1
    cube.both(hybrid)
    assert decided(cube.spark)[0]["raw_files"] == 0


def test_many_ranges_of_rows_are_a_short_text_in_the_plan(cube: Cube) -> None:
    count = 4_000
    cube.table("t", {"a": [i % 200 for i in range(count)], "b": [i % 17 for i in range(count)], "x": list(range(count))})
    cube.tree("t", ["a", "b"], ["sum(x)"])
    sql = "select a, sum(x) from t where b in (1, 5, 9) and a % 2 = 0 group by a"
    assert len(cube.both(sql)) == 100
    cube.spark.conf.set("rtfilter.enabled", True)
    text = cube.spark.sql(sql)._jdf.queryExecution().toString()
    assert "ranges#" in text and len(text) < 20_000


def test_an_aggregate_of_a_stream_is_left_alone(cube: Cube) -> None:
    place = cube.table("t", {"k": [1, 2] * 100, "x": [1, 6] * 100})
    cube.tree("t", ["k"], ["sum(x)"])
    cube.spark.conf.set("rtfilter.enabled", True)
    arriving = cube.folder / "arriving"
    arriving.mkdir()
    pq.write_table(pa.table({"k": [1, 1]}), arriving / "0.parquet")
    stream = cube.spark.readStream.schema("k bigint").parquet(str(arriving))
    summed = stream.join(cube.spark.read.parquet(str(place)), "k").groupBy("k").sum("x")
    query = summed.writeStream.outputMode("complete").format("memory").queryName("sums").trigger(availableNow=True).start()
    query.awaitTermination()
    assert [tuple(row) for row in cube.spark.table("sums").collect()] == [(1, 200)]
    assert not any(each["used"] for each in decided(cube.spark))


def test_a_path_that_is_named_twice_is_read_twice(cube: Cube) -> None:
    place = str(cube.table("t", {"k": [1, 2] * 100, "x": [1, 6] * 100}))
    cube.tree("t", ["k"], ["sum(x)"])
    cube.spark.read.parquet(place, place).createOrReplaceTempView("twice")
    assert cube.both("select sum(x) from twice", reason="LISTED_TWICE") == [(1400,)]
