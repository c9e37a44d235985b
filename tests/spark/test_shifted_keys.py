"""Keys that are a column moved or mirrored: packs and rows are dropped, rows on which the key would overflow never are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import rtfilter
from tests.spark.cases import OnOffDuckDB, collected
from tests.spark.shuffled.jobs import packs_rejected, rows_dropped

PACK_ROWS = 100
MOST_INT, MOST_BIGINT = 2**31 - 1, 2**63 - 1
HINTS = ("broadcast(dim)", "merge(dim)", "shuffle_hash(dim)")


@pytest.mark.parametrize("hint", HINTS)
@pytest.mark.parametrize(
    "key",
    [
        "k + 7 = id",
        "k - 7 = id",
        "4000 - k = id",
        "-k = id - 4000",
        "cast(k as bigint) + 7 = id",
        "cast(k + 7 as bigint) = id",
        "10 - (k + 7) = id - 4000",
        "ks + 7 = id",
        "kn + 7 = id",
        "kl - 1000000007 = idl",
    ],
)
def test_packs_without_a_partner_are_rejected(spark: SparkSession, check: OnOffDuckDB, hint: str, key: str) -> None:
    # Left to the cost model no scan of a table this small waits for a shuffle.
    spark.conf.set("rtfilter.cost", "always")
    sql = f"select count(*), sum(v), count(distinct id) from fact join dim on {key} where id between 1200 and 1240"
    check(sql.replace("select", f"select /*+ {hint} */", 1), rejects=True, duck_sql=sql)


@pytest.mark.parametrize("key", ["date_add(fact.d, 7) = day", "date_sub(fact.d, 7) = day", "fact.d + 7 = day"])
def test_days_added_to_a_date(check: OnOffDuckDB, key: str) -> None:
    duck = key.replace("date_add(fact.d, 7)", "fact.d + 7").replace("date_sub(fact.d, 7)", "fact.d - 7")
    sql = "select count(*), sum(v) from fact join dim on {} where id between 1200 and 1240"
    check(sql.format(key), rejects=True, duck_sql=sql.format(duck))


PROJECTED = "select count(*), sum(v) from (select {} as moved, v from fact) f join dim on moved = id where id between 1200 and 1240"


def test_a_key_that_a_projection_computed(check: OnOffDuckDB) -> None:
    check(PROJECTED.format("try_add(k, 7)"), rejects=True, duck_sql=PROJECTED.format("k + 7"))


def test_a_key_that_a_projection_computed_and_spark_asks_to_be_there(check: OnOffDuckDB) -> None:
    """Spark infers `isnotnull(k + 7)` and puts it above the scan: it fails on no row but those that the filter keeps."""
    check(PROJECTED.format("k + 7"), rejects=True)


def test_a_condition_that_fails_on_other_rows_than_the_key_is_not_robbed_of_them(check: OnOffDuckDB) -> None:
    derived = "(select {} as moved, v from fact where {} is not null) f"
    moved = f"select count(*), sum(v) from {derived} join dim on moved = id where id < 1240"
    check(moved.format("k + 7", "ks + 7"), rejects=False)
    check(moved.format("k", "k + 7"), rejects=False)


def test_rows_are_dropped_before_the_shuffle(spark: SparkSession) -> None:
    sql = "select /*+ merge(dim) */ count(*) from fact join dim on r + 7 = id where id between 1200 and 1240"
    spark.conf.set("rtfilter.cost", "always")
    spark.conf.set("rtfilter.enabled", True)
    frame = spark.sql(sql)
    frame.collect()
    assert rows_dropped(frame) > 30_000


@pytest.fixture
def extremes(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """`t`: packs of small numbers, at last each type's greatest one; `one`: 150, and each type's least number."""
    small = list(range(1, 20 * PACK_ROWS))
    columns = {
        "i": pa.array([*small, MOST_INT], pa.int32()),
        "l": pa.array([*small, MOST_BIGINT], pa.int64()),
        "v": pa.array([*small, 0], pa.int64()),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=PACK_ROWS)
    one = {"n": pa.array([150], pa.int64()), "least_i": pa.array([-MOST_INT - 1], pa.int32()), "least_l": [-MOST_BIGINT - 1]}
    pq.write_table(pa.table(one), tmp_path / "one.parquet")
    spark.read.parquet(str(tmp_path / "t.parquet")).createOrReplaceTempView("t")
    spark.read.parquet(str(tmp_path / "one.parquet")).createOrReplaceTempView("one")
    spark.conf.set("rtfilter.cost", "always")
    yield spark
    spark.conf.set("rtfilter.enabled", False)


@pytest.mark.parametrize("hint", ["broadcast(one)", "merge(one)"])
@pytest.mark.parametrize(
    "joined",
    [
        # In the join's key, and below the join.
        "t join one on i + 1 = n",
        "t join one on l + 1 = n",
        "(select i + 1 as m, v from t) t join one on m = n",
        "(select i as m, v from t where i + 1 is not null) t join one on m = n",
        "(select i as m, v from t where i + 1 > 0) t join one on m = n",
        "(select i - 1 as m, v from t where i + 1 > 0) t join one on m = n",
        "(select i as m, v from t distribute by i + 1) t join one on m = n",
    ],
)
def test_a_row_that_overflows_still_fails_the_query(extremes: SparkSession, hint: str, joined: str) -> None:
    sql = f"select /*+ {hint} */ v from {joined}"
    for enabled in (False, True):
        extremes.conf.set("rtfilter.enabled", enabled)
        with pytest.raises(Exception, match="OVERFLOW"):
            extremes.sql(sql).collect()


@pytest.mark.parametrize("hint", ["broadcast(one)", "merge(one)"])
def test_where_nothing_overflows_packs_are_rejected_and_the_pack_of_the_overflow_is_kept(extremes: SparkSession, hint: str) -> None:
    extremes.conf.set("rtfilter.enabled", True)
    frame = extremes.sql(f"select /*+ {hint} */ v from t join one on try_add(i, 1) = n")
    assert collected(frame) == [(149,)]
    assert packs_rejected(frame) == 18


@pytest.mark.parametrize("hint", ["broadcast(one)", "merge(one)"])
@pytest.mark.parametrize("column", ["i", "l"])
def test_a_sum_that_wraps_round_keeps_its_partner(extremes: SparkSession, hint: str, column: str) -> None:
    extremes.conf.set("spark.sql.ansi.enabled", False)
    extremes.conf.set("rtfilter.enabled", True)
    frame = extremes.sql(f"select /*+ {hint} */ v from t join one on {column} + 1 = least_{column}")
    assert collected(frame) == [(0,)]
    assert packs_rejected(frame) == 19


def test_what_is_computed_otherwise_is_refused(spark: SparkSession) -> None:
    for key in ("2 * k = id", "k % 100 = id", "cast(k as smallint) = id"):
        (entry,) = rtfilter.why_not(spark.sql(f"select count(*) from fact join dim on {key}")).keys
        assert entry.reason in ("NOT_A_PLAIN_COLUMN", "MAY_RAISE", "CAST_NOT_WIDENING"), entry
