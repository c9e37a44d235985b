"""Values by place and rows by order are the same with the layer on, and packs are rejected where they may be."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import rtfilter
from rtfilter import Index, ValueSet
from rtfilter.bridge import jvm
from tests.spark.cases import fact_table, write_files

# Of each file some packs are left, and of some files none: Spark would cut what is left into other tasks.
SOME = "name in ('n5', 'n7', 'n1203', 'n2205', 'n2990', 'n3977')"
IN_INDEX = "r in (17, 1203, 2990)"
SOURCES = {
    "broadcast": f"(select fact.* from fact join dim on k = id where {SOME})",
    "shuffled": f"(select /*+ merge(dim) */ fact.* from fact join dim on k = id where {SOME})",
    "static": f"(select * from spread where {IN_INDEX})",
}
VALUES = {
    "rand": "rand(7)",
    "randn": "randn(7)",
    "uuid": "uuid(7)",
    "shuffle": "shuffle(sequence(1, 20), 7)",
    "id": "monotonically_increasing_id()",
    "partition": "spark_partition_id()",
}
# {rows}: the source; {value}: a value by place; {number}: a whole number from 0 to 4 that is made of it.
USES = {
    "selected": "select v, {value} as r0 from {rows}",
    "asked": "select v, x from (select v, {number} as x from {rows}) where x < 2",
    "grouped": "select x, count(*), sum(v) from (select v, {number} as x from {rows}) group by x",
    "sorted": "select v from (select v, {number} as x from {rows}) order by x, v limit 9",
    "windowed": "select v, row_number() over (partition by x order by v) from (select v, {number} as x from {rows})",
    "joined": "select v, y from (select v, {number} as x from {rows}) join (values (0, 'a'), (3, 'b')) t(z, y) on x = z",
    "exploded": "select v, e from (select v, k from {rows}) lateral view explode(shuffle(array(k, v, 1, 2, 3), 7)) as e",
    "again shuffled": "select v, {value} as r0 from (select /*+ repartition(3) */ v from {rows})",
    "sampled": "select v from (select v, {number} as x from {rows}) tablesample (40 percent) repeatable (3)",
}
ORDERS = {
    "limit": "select v, k from {rows} limit 7",
    "offset": "select v, k from {rows} limit 5 offset 3",
    "inner limit": "select k, count(*) from (select * from {rows} limit 13) group by k",
    "first": "select first(v), last(v), any_value(k) from {rows}",
    "first of group": "select s, first(v), last(k) from {rows} group by s",
    "list": "select collect_list(v) from {rows}",
    "list of group": "select s, array_agg(v), collect_set(k) from {rows} group by s",
    "text": "select listagg(v, ',') from {rows}",
    "mode": "select mode(v), max_by(v, s), min_by(v, s) from {rows}",
    "distinct": "select v from (select v, s, row_number() over (partition by s order by 1) as n from {rows}) where n = 2",
    "row number": "select v, row_number() over (partition by s order by k div 1000) as n from {rows}",
    "running": "select v, sum(v) over (partition by s order by k div 1000 rows unbounded preceding) as n from {rows}",
    "neighbour": "select v, lag(v) over (partition by s order by k div 1000) as n from {rows}",
}


def number(value: str) -> str:
    whole = {"uuid": "ascii({})", "shuffle": "{}[0]"}.get(value, "cast(abs({}) * 100 as bigint)")
    return f"pmod({whole.format(VALUES[value])}, 5)"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A table whose r is spread over all packs, and an index of it."""
    folder = tmp_path_factory.mktemp("spread")
    write_files(fact_table(), folder / "spread", 8)
    Index.create(None, str(folder / "spread"), [ValueSet("r", 1000)], name="i", location=str(folder / "store"))
    return folder / "spread", folder / "store"


@pytest.fixture
def on_and_off(spark: SparkSession, store: tuple[Path, Path]) -> Iterator[Callable[[str], tuple[list[Any], int]]]:
    """The rows of a query, equal with the layer and without, and how many packs were rejected."""
    spark.read.parquet(str(store[0])).createOrReplaceTempView("spread")
    spark.conf.set("rtfilter.store.location", str(store[1]))
    spark.conf.set("rtfilter.cost", "always")
    # What is shuffled is cut alike with fewer rows.
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    spark.conf.set("spark.sql.adaptive.localShuffleReader.enabled", "false")

    def run(sql: str) -> tuple[list[Any], int]:
        spark.conf.set("rtfilter.enabled", False)
        off = [tuple(row) for row in spark.sql(sql).collect()]
        spark.conf.set("rtfilter.enabled", True)
        frame = spark.sql(sql)
        on = [tuple(row) for row in frame.collect()]
        assert sorted(map(repr, on)) == sorted(map(repr, off)), sql
        assert on, sql
        return on, rejected(frame)

    yield run


def rejected(frame: DataFrame) -> int:
    scans = jvm.scan_metrics(frame)
    return sum(scan["packs_total"] - scan["packs_read"] for scan in scans if scan["narrowed"])


def by_place() -> list[tuple[str, str, str]]:
    cases = [(use, value, source) for use in USES for value in VALUES for source in SOURCES]
    chosen = random.Random(5301).sample(cases, 40)
    # Each use and each value at least once.
    missing = [(use, "rand", "broadcast") for use in USES if use not in {each[0] for each in chosen}]
    return chosen + missing


@pytest.mark.parametrize(("use", "value", "source"), by_place())
def test_values_by_place_are_those_of_whole_scans(on_and_off: Any, spark: SparkSession, use: str, value: str, source: str) -> None:
    sql = USES[use].format(rows=SOURCES[source], value=VALUES[value], number=number(value))
    assert on_and_off(sql)[1] == 0
    probe = "spread.r" if source == "static" else "fact.k"
    found = [entry for entry in rtfilter.why_not(spark.sql(sql)).to_dict()["keys"] if entry["probe"] == probe]
    assert {entry["reason"] for entry in found} == {"NOT_DETERMINISTIC"}


@pytest.mark.parametrize(("steady", "expected"), [(True, "PLANNED"), (False, "NOT_DETERMINISTIC")])
def test_users_functions_go_by_place_unless_they_are_deterministic(
    on_and_off: Any, spark: SparkSession, steady: bool, expected: str
) -> None:
    named = F.udf(lambda k: f"k{k}")
    named = named if steady else named.asNondeterministic()
    frame = spark.sql(f"select * from {SOURCES['broadcast']}").select("v", named("k"))
    spark.conf.set("rtfilter.enabled", True)
    assert {entry["reason"] for entry in rtfilter.why_not(frame).to_dict()["keys"]} == {expected}
    assert len(frame.collect()) == 60 and (rejected(frame) > 10) == steady


@pytest.mark.parametrize("source", SOURCES)
def test_the_rows_themselves_come_with_packs_rejected(on_and_off: Any, source: str) -> None:
    rows, packs = on_and_off(f"select v, k from {SOURCES[source]}")
    assert packs > 10 and len(rows) > 8


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("order", ORDERS)
def test_rows_are_taken_in_the_order_that_they_have_without_filters(on_and_off: Any, order: str, source: str) -> None:
    assert on_and_off(ORDERS[order].format(rows=SOURCES[source]))[1] > 10


@pytest.mark.parametrize("splits", ["as they are", "within packs", "row by row", "with gaps"])
def test_splits_of_a_file_keep_their_rows(on_and_off: Any, spark: SparkSession, data: Path, tmp_path: Path, splits: str) -> None:
    """A pack belongs to the split that its middle is in; what is left of a split is read in it, wherever its ends are."""
    if splits != "as they are":
        spark.conf.set("spark.sql.files.maxPartitionBytes", "9001")
        spark.conf.set("spark.sql.files.openCostInBytes", "100")
    if splits == "row by row":
        spark.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    if splits == "with gaps":
        write_files(fact_table(), tmp_path / "one", 1, pack_rows=1300)
        spark.read.parquet(str(tmp_path / "one")).createOrReplaceTempView("fact")
    for order in ("limit", "list", "first"):
        assert on_and_off(ORDERS[order].format(rows=SOURCES["broadcast"]))[1] > 10
    # Where a row's block begins and how many it has are Spark's own, too.
    fact = spark.read.parquet(str(tmp_path / "one" if splits == "with gaps" else data / "fact"))
    fact.selectExpr("k", "v", "_metadata.file_block_start b", "_metadata.row_index i").createOrReplaceTempView("blocks")
    assert on_and_off(f"select v, b, i from blocks join dim on k = id where {SOME}")[1] > 10


@pytest.mark.parametrize("where", ["below", "above a filter", "grouped"])
def test_the_name_of_a_rows_file_stops_no_filter(on_and_off: Any, where: str) -> None:
    named = "(select v, k, input_file_name() as f from fact)"
    joined = f"select * from {named} join dim on k = id where {SOME}"
    sql = {
        "below": joined,
        "above a filter": joined.replace("from fact)", "from fact where v % 3 <> 1)"),
        "grouped": f"select f, count(*), sum(v) from ({joined}) group by f",
    }[where]
    rows, packs = on_and_off(sql)
    assert packs > 10 and "part-00" in repr(rows)


def test_the_file_of_a_sorted_row_is_the_one_that_was_read_last(on_and_off: Any) -> None:
    sorted_rows = "(select * from fact join (values (5), (1203), (3977)) d(id) on k = id sort by v desc)"
    assert on_and_off(f"select v, input_file_name() as f from {sorted_rows}")[1] == 0


def write_overlapping(folder: Path) -> None:
    """Eight files with all 4,000 keys in order. What is left of them for the first keys is long in another order than they are."""
    folder.mkdir()
    for file in range(8):
        texts = np.random.default_rng(file).integers(0, 256, (4000, 400), dtype=np.uint8)
        long = [bytes(row[: 400 - 40 * file if g < 500 else 40 * file]) for g, row in enumerate(texts)]
        table = pa.table({"g": np.arange(4000, dtype=np.int32), "w": np.arange(4000) * 8 + file, "long": long})
        pq.write_table(table, folder / f"part-{file}.parquet", row_group_size=500)


def test_a_correlated_limit_with_an_offset_inside_in(on_and_off: Any, spark: SparkSession, tmp_path: Path) -> None:
    write_overlapping(tmp_path / "over")
    spark.read.parquet(str(tmp_path / "over")).createOrReplaceTempView("over")
    pairs = ", ".join(f"({g}, {g * 8 + file}L)" for g in (5, 7, 77) for file in range(8))
    third = "select w from over where g = x.id limit 1 offset 2"
    # Of a broadcast only the outer query's side would be filtered.
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    rows, packs = on_and_off(f"select id, want from values {pairs} as x(id, want) where want in ({third})")
    assert len(rows) == 3 and packs > 40
    firsts = "select first(struct(w, long)) f, collect_list(w) from over join (values (5), (7), (77)) x(id) on g = id group by g"
    assert on_and_off(firsts)[1] > 40


@pytest.mark.parametrize("source", ["broadcast", "static"])
def test_a_cached_frame_has_its_rows_where_spark_would_have_them(spark: SparkSession, on_and_off: Any, source: str) -> None:
    def made_of_cached(enabled: bool) -> list[Any]:
        spark.conf.set("rtfilter.enabled", enabled)
        cached = spark.sql(f"select * from {SOURCES[source]}").cache()
        try:
            cached.createOrReplaceTempView("cached")
            place = spark.sql("select v, rand(7), monotonically_increasing_id() from cached").collect()
            return [sorted(place), spark.sql("select v from cached limit 5").collect(), cached.rdd.glom().map(len).collect()]
        finally:
            cached.unpersist()

    assert made_of_cached(True) == made_of_cached(False)


@pytest.mark.parametrize("source", ["broadcast", "static"])
def test_an_rdd_has_its_rows_where_spark_would_have_them(spark: SparkSession, on_and_off: Any, source: str) -> None:
    def parts(enabled: bool) -> list[list[int]]:
        spark.conf.set("rtfilter.enabled", enabled)
        found: list[list[int]] = spark.sql(f"select v from {SOURCES[source]}").rdd.map(lambda row: row.v).glom().collect()
        return found

    assert parts(True) == parts(False) and sum(map(len, parts(True))) > 8


def test_a_random_split_with_an_index_made_in_between(spark: SparkSession, tmp_path: Path) -> None:
    write_files(fact_table(), tmp_path / "t", 4)
    spark.conf.set("rtfilter.enabled", True)
    spark.conf.set("rtfilter.cost", "always")
    frame = spark.read.parquet(str(tmp_path / "t")).where(IN_INDEX)
    train, test = frame.randomSplit([0.5, 0.5], seed=11)
    first = [row.v for row in train.collect()]
    Index.create(None, str(tmp_path / "t"), [ValueSet("r", 1000)], name="i")
    second = [row.v for row in test.collect()]
    assert first and second and sorted(first + second) == sorted(row.v for row in frame.collect())


@pytest.mark.parametrize("order", ["limit", "row number", "list", "ties"])
def test_verify_lets_pass_what_spark_itself_may_answer_otherwise(spark: SparkSession, on_and_off: Any, order: str) -> None:
    """Shuffles with fewer rows are cut into fewer tasks: rows come out of them in another order."""
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "true")
    spark.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", "2000")
    spark.conf.set("spark.sql.adaptive.coalescePartitions.parallelismFirst", "false")
    spark.conf.set("rtfilter.enabled", True)
    spark.conf.set("rtfilter.verify", True)
    ties = "select v, s from {rows} order by s limit 5"
    assert spark.sql({**ORDERS, "ties": ties}[order].format(rows=SOURCES["shuffled"])).collect()
