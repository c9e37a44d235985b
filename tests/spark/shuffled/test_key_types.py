"""Every key type, plain and dictionary encoded: packs and rows go, and on = off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rtfilter.bridge import jvm
from tests.spark.shuffled.jobs import jobs_of, on_and_off, packs_rejected, rows_dropped

ROWS = 8_000

# Name, expression over `id` in the fact (0..3999, clustered), the same in the dimension, whether footers can reject packs.
TYPES = {
    "tinyint": ("cast(id div 40 as tinyint)", "cast(id div 40 as tinyint)", True),
    "smallint": ("cast(id as smallint)", "cast(id as smallint)", True),
    "int": ("cast(id as int)", "cast(id as int)", True),
    "bigint": ("id * 1000000007", "id * 1000000007", True),
    "int_bigint": ("cast(id as int)", "id", True),
    "date": ("date_add(date'1999-12-31', cast(id as int))", "date_add(date'1999-12-31', cast(id as int))", True),
    "timestamp": ("timestamp_seconds(id * 3601)", "timestamp_seconds(id * 3601)", True),
    "timestamp_ntz": (
        "cast(timestamp_seconds(id * 3601) as timestamp_ntz)",
        "cast(timestamp_seconds(id * 3601) as timestamp_ntz)",
        True,
    ),
    "boolean": ("id >= 2000", "id >= 4000", True),
    "decimal9": ("cast(id as decimal(9, 2)) / 4", "cast(id as decimal(9, 2)) / 4", True),
    "decimal9_18": ("cast(id as decimal(9, 2))", "cast(id as decimal(18, 4))", True),
    "decimal18": ("cast(id as decimal(18, 3)) * 7", "cast(id as decimal(18, 3)) * 7", True),
    "decimal38": ("cast(id as decimal(38, 5)) * 3", "cast(id as decimal(38, 5)) * 3", True),
    "int_decimal": ("cast(id as int)", "cast(id as decimal(12, 2))", True),
    "float": ("cast(id as float) / 8", "cast(id as float) / 8", True),
    "double": ("cast(id as double) / 3", "cast(id as double) / 3", True),
    "float_double": ("cast(id as float) / 8", "cast(cast(id as float) / 8 as double)", True),
    "string": ("lpad(string(id), 6, '0')", "lpad(string(id), 6, '0')", True),
    "string_prefix": ("concat('a common prefix that is long: ', lpad(string(id), 6, '0'))",) * 2 + (True,),
    "binary": ("unhex(lpad(hex(id), 8, '0'))", "unhex(lpad(hex(id), 8, '0'))", True),
}


@pytest.fixture(scope="module")
def tables(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """fact_plain and fact_dictionary with a column per type, clustered, some keys null; dim with the other side's types."""
    folder = tmp_path_factory.mktemp("types")
    own = session.newSession()
    own.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    fact = own.range(0, ROWS, 1, 2).selectExpr(
        *(
            f"if(id % 97 = 5, null, {expression.replace('id', '(id div 2)')}) as {name}"
            for name, (expression, _, _) in TYPES.items()
        ),
        "id as v",
    )
    for encoding, dictionary in (("plain", "false"), ("dictionary", "true")):
        options = {
            "parquet.enable.dictionary": dictionary,
            "parquet.block.size": "4096",
            "parquet.page.size": "1024",
            "parquet.block.size.row.check.min": "100",
            "parquet.block.size.row.check.max": "100",
        }
        fact.write.options(**options).parquet(str(folder / f"fact_{encoding}"))
    own.range(0, 5000, 1, 1).selectExpr(
        *(f"if(id % 89 = 3, null, {other}) as {name}" for name, (_, other, _) in TYPES.items()), "id as n"
    ).write.parquet(str(folder / "dim_types"))
    return folder


@pytest.fixture
def views(spark: SparkSession, tables: Path) -> Iterator[SparkSession]:
    for name in ("fact_plain", "fact_dictionary", "dim_types"):
        spark.read.parquet(str(tables / name)).createOrReplaceTempView(name)
    yield spark


@pytest.mark.parametrize("encoding", ["plain", "dictionary"])
@pytest.mark.parametrize("name", TYPES)
def test_a_shuffled_join_on(views: SparkSession, name: str, encoding: str) -> None:
    join = f"fact_{encoding} f join dim_types d on f.{name} = d.{name}"
    sql = f"select count(*), sum(v), sum(n) from {join} where n between 900 and 930"
    rows, frame = on_and_off(views, sql)
    assert rows[0][0] > 0
    if name != "boolean":
        assert rows_dropped(frame) > 0
    if TYPES[name][2]:
        assert packs_rejected(frame) > 0, jvm.scan_metrics(frame)


@pytest.mark.parametrize("name", ["int", "date", "decimal9", "double", "string", "binary", "timestamp"])
def test_a_broadcast_join_on(views: SparkSession, name: str) -> None:
    views.conf.set("spark.sql.autoBroadcastJoinThreshold", "10MB")
    sql = f"select count(*), sum(v), sum(n) from fact_plain f join dim_types d on f.{name} = d.{name} where n between 900 and 930"
    rows, frame = on_and_off(views, sql)
    assert rows[0][0] > 0
    assert packs_rejected(frame) > 0


@pytest.mark.parametrize("pair", [("int", "string"), ("decimal38", "string"), ("binary", "date")])
def test_two_keys_of_different_domains_make_one_filter_on_both(views: SparkSession, pair: tuple[str, str]) -> None:
    on_both = " and ".join(f"f.{name} = d.{name}" for name in pair)
    sql = f"select count(*), sum(v), sum(n) from fact_plain f join dim_types d on {on_both} where n between 900 and 930"
    rows, frame = on_and_off(views, sql)
    assert rows[0][0] > 0
    assert rows_dropped(frame) > 0
    assert packs_rejected(frame) > 0


def test_nan_and_negative_zero_find_their_partners(spark: SparkSession, tmp_path: Path) -> None:
    numbers = (
        "case id % 5 when 0 then double('NaN') when 1 then -0.0d when 2 then 0.0d when 3 then double('-inf') else id * 1.5d end"
    )
    spark.range(0, 4000, 1, 1).selectExpr(f"{numbers} as x", "id as v").write.option("parquet.block.size", 4096).parquet(
        str(tmp_path / "f")
    )
    spark.range(0, 10, 1, 1).selectExpr(f"{numbers} as x", "id as n").write.parquet(str(tmp_path / "d"))
    spark.read.parquet(str(tmp_path / "f")).createOrReplaceTempView("f")
    spark.read.parquet(str(tmp_path / "d")).createOrReplaceTempView("d")
    sql = "select d.x, count(*), sum(v) from f join d on f.x = d.x where n < 4 group by d.x"
    off, _, _ = jobs_of(spark, sql, on=False)
    on, _, frame = jobs_of(spark, sql, on=True)
    assert repr(on) == repr(off)
    assert sum(row[1] for row in on) == 800 * 1 + 1600 * 2 + 800
    assert rows_dropped(frame) > 0


def test_null_safe_equality_keeps_nulls(views: SparkSession) -> None:
    sql = "select count(*), sum(v), sum(n) from fact_plain f join dim_types d on f.int <=> d.int where n between 3 and 40"
    rows, frame = on_and_off(views, sql)
    assert rows[0][0] > ROWS // 97 // 2
    assert rows_dropped(frame) > 0
