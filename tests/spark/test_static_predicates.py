"""What a query itself asks of an indexed column rejects packs, with and without joins; results stay what they are."""

from __future__ import annotations

import os
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import rtfilter
from rtfilter import Bloom, CMap, Histogram, Index, ValueSet
from rtfilter.bridge import jvm
from tests.spark.cases import OnOffDuckDB, dim_table, write_files

PACKS, PACK_ROWS, FILES = 40, 50, 4
LAST = 1_000_000


def number_of(row: int) -> int:
    """0 and a million in every pack, so that no bound tells packs apart; in between each pack has numbers of its own."""
    place = row % PACK_ROWS
    return 0 if place == 0 else LAST if place == 1 else row // PACK_ROWS * 1000 + place


def spread_table(first: int = 0, rows: int = PACKS * PACK_ROWS) -> pa.Table:
    numbers = [number_of(row) for row in range(first, first + rows)]
    packs = [row // PACK_ROWS for row in range(first, first + rows)]
    start = datetime(2000, 1, 1)
    return pa.table(
        {
            "n": pa.array(numbers, pa.int32()),
            "s": [f"key-{number:07d}" for number in numbers],
            "d": pa.array([date(1990, 1, 1) + timedelta(days=number // 60) for number in numbers]),
            "t": pa.array([start + timedelta(minutes=number) for number in numbers], pa.timestamp("us")),
            "e": pa.array([Decimal(number) / 100 for number in numbers], pa.decimal128(9, 2)),
            "w": pa.array([Decimal(number) * 10**12 for number in numbers], pa.decimal128(25, 3)),
            "f": pa.array([float("nan") if number == LAST else number / 8 for number in numbers]),
            "b": pa.array([pack % 2 == 0 for pack in packs]),
            "m": pa.array(numbers, pa.int64(), mask=[pack < 10 for pack in packs]),
            "v": pa.array(range(first, first + rows), pa.int64()),
        }
    )


SKETCHES: tuple[Bloom | CMap | Histogram | ValueSet, ...] = (
    *(ValueSet(column, 100) for column in ("d", "t", "e", "f", "b", "m")),
    *(Bloom(column) for column in ("n", "s", "w")),
    Histogram("m"),
    CMap("s"),
)


def show_to_duckdb(check: OnOffDuckDB, name: str, files: str) -> None:
    """Without the index inside the table, which DuckDB would take for a part of it."""
    check.duck.execute(f"create or replace view {name} as select * from read_parquet('{files}', hive_partitioning=true)")


@pytest.fixture
def spread(spark: SparkSession, check: OnOffDuckDB, tmp_path: Path) -> Path:
    write_files(spread_table(), tmp_path / "spread", FILES, PACK_ROWS)
    spark.read.parquet(str(tmp_path / "spread")).createOrReplaceTempView("spread")
    show_to_duckdb(check, "spread", f"{tmp_path}/spread/*.parquet")
    return tmp_path / "spread"


@pytest.fixture
def indexed(spread: Path) -> Path:
    Index.create(None, str(spread), SKETCHES, name="i")
    return spread


def report_of(spark: SparkSession) -> rtfilter.Report:
    report = rtfilter.last_report(spark)
    assert report is not None
    return report


def packs_read(df: DataFrame) -> list[int]:
    df.collect()
    return [scan["packs_read"] for scan in jvm.scan_metrics(df) if scan["narrowed"]]


REJECTING = [
    "n = 7003",
    "7003 = n",
    "n is not distinct from 7003",
    "n in (7003, 8004, 5)",
    "n in (7003, 8004, null)",
    "n = 7003 or n = 9003",
    "n = 7003 and v % 2 = 1",
    "m > 38000 and m < 39000 and b",
    "m between 1500 and 11005 and v > 0",
    "m is null",
    "m is not null or n = 7003",
    "m is not distinct from null",
    "not (m < 39000) and m <> 1000000",
    "n > 7000 and n < 7010",
    "b",
    "not b",
    "b = false",
    "d = date'1990-04-27'",
    "d in (date'1990-04-27', date'1990-04-28')",
    "e = 70.03",
    "w = 7003000000000000",
    "f = 875.375",
    "f >= 4875 and f < 5000",
    "s = 'key-0007003'",
    "s like 'key-0007%'",
    "s like 'key-0007_03'",
    "s like '%7003'",
    "s like '%-00070%'",
    "s > 'key-0007002' and s = 'key-0007003'",
    "n in (7000, 7001, 7002, 7003, 7004, 7005, 7006, 7007, 7008, 7009, 7010, 7011, 7012, 7013)",
]
KEEPING = [
    "v = 5",
    "n = 0",
    "n <> 7003",
    "n % 100000 = 7003",
    "n = 7003 or v = 5",
    "not (n = 7003 and v = 353)",
    "s like '%'",
    "upper(s) = 'KEY-0007003'",
]


def all_of(conditions: list[str], aggregated: bool) -> str:
    """One query with a scan for each condition; with an aggregate there is an exchange, and adaptive execution has a part in it."""
    what = "count(*), sum(v)" if aggregated else "1, v"
    return " union all ".join(f"select {number} i, {what} from spread where {where}" for number, where in enumerate(conditions))


@pytest.mark.parametrize("aggregated", [True, False])
def test_conditions_on_indexed_columns_reject_packs(check: OnOffDuckDB, indexed: Path, aggregated: bool) -> None:
    # A scan with an aggregate above it takes many times as long.
    conditions = [*(REJECTING[::6] if aggregated else REJECTING), "t = timestamp_ntz'2000-01-05 20:43:00'"]
    sql = all_of(conditions, aggregated)
    checked = check(sql, rejects=True, duck_sql=sql.replace("timestamp_ntz", "timestamp"))
    assert len(checked.scans) == len(conditions) == len({row[0] for row in checked.rows if row[1]})
    assert all(scan["narrowed"] and scan["packs_read"] < PACKS for scan in checked.scans), checked.scans


@pytest.mark.parametrize("aggregated", [True, False])
def test_without_adaptive_execution_the_plan_is_left_alone(
    spark: SparkSession, check: OnOffDuckDB, indexed: Path, aggregated: bool
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", False)
    checked = check(all_of(REJECTING[:3], aggregated), rejects=False)
    assert not any(scan["narrowed"] for scan in checked.scans)


def test_conditions_that_no_index_can_judge_reject_nothing(check: OnOffDuckDB, indexed: Path) -> None:
    checked = check(all_of(KEEPING, aggregated=False), rejects=False)
    assert len(checked.scans) == len(KEEPING) and not any(scan["narrowed"] for scan in checked.scans)


def test_without_an_index_nothing_is_asked_of_the_planner(spark: SparkSession, spread: Path) -> None:
    spark.conf.set("rtfilter.enabled", True)
    assert len(spark.sql("select v from spread where n = 7003").collect()) == 1
    report = rtfilter.last_report(spark)
    assert report is not None
    assert (report.filters, report.reason) == ((), "NO_JOIN")


def test_a_condition_that_no_row_meets_reads_nothing(check: OnOffDuckDB, indexed: Path) -> None:
    checked = check("select v from spread where s = 'nobody'", rejects=True, rows=False)
    assert [scan["packs_read"] for scan in checked.scans] == [0] and checked.scans[0]["files_dropped"] == FILES


def test_the_report_and_why_not_tell_of_it(spark: SparkSession, indexed: Path) -> None:
    spark.conf.set("rtfilter.enabled", True)
    df = spark.sql("select v from spread where n = 7003")
    assert packs_read(df) == [1]
    entry = report_of(spark).filters[0]
    assert (entry.strategy, entry.kind, entry.decision, entry.reason) == ("static", "static", "applied", "APPLIED")
    assert (entry.build, entry.probe, entry.packs_total, entry.packs_kept, entry.rows_kept) == (
        "(n = 7003)",
        "spread.n",
        PACKS,
        1,
        50,
    )
    assert "rtfilter((n = 7003): 1 of 40 packs)" in df._jdf.queryExecution().toString()
    assert [key.reason for key in rtfilter.why_not(df).keys] == ["PLANNED"]
    lacks = rtfilter.why_not(spark.sql("select n from spread where v = 5"))
    assert (lacks.keys, lacks.reason) == ((), "INDEX_LACKS_COLUMN") and lacks.detail in str(lacks)
    assert rtfilter.why_not(spark.sql("select n from spread")).keys == ()


def test_a_join_filter_and_a_condition_intersect(spark: SparkSession, check: OnOffDuckDB, indexed: Path, tmp_path: Path) -> None:
    pq.write_table(dim_table().filter(pc.field("id").isin([2003, 3004])), tmp_path / "few.parquet")
    spark.read.parquet(str(tmp_path / "few.parquet")).createOrReplaceTempView("few")
    show_to_duckdb(check, "few", f"{tmp_path}/few.parquet")
    join = "from spread join few on n = id where grp >= 0"
    alone = check(f"select v {join}", rejects=True)
    both = check(f"select v {join} and s like 'key-0003%'", rejects=True)
    assert both.packs_rejected == alone.packs_rejected + 1 == PACKS - 1
    spark.conf.set("rtfilter.enabled", True)
    spark.sql(f"select v {join} and s like 'key-0003%'").collect()
    assert {entry.strategy: entry.decision for entry in report_of(spark).filters} == {"broadcast": "applied", "static": "applied"}


def test_a_shuffled_join_keeps_its_filter_beside_a_condition(spark: SparkSession, check: OnOffDuckDB, indexed: Path) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)
    check("select count(*), sum(v) from spread join dim on n = id where grp = 3 and s like 'key-0003%'", rejects=True)


def test_the_preserved_side_of_an_outer_join_is_cut_by_its_own_condition(check: OnOffDuckDB, indexed: Path) -> None:
    check("select v, name from spread left join dim on n = id where n in (3003, 39004)", rejects=True)
    check(
        "select id, v from dim left join (select * from spread where n = 3003) on n = id where id between 3000 and 3010",
        rejects=True,
    )


def test_subqueries_unions_and_two_uses_of_a_table_are_right(check: OnOffDuckDB, indexed: Path) -> None:
    check("select (select sum(v) from spread where n = 7003), (select count(*) from spread where n = 8003)", rejects=True)
    check("select v from spread where n = 7003 union all select v from spread where n = 8003", rejects=True)
    check("select a.v, b.v from spread a join spread b on a.n = b.n where a.n = 7003 and b.n = 7003", rejects=True)
    twice = "with c as (select n, sum(v) x from spread where n in (7003, 7004) group by n)"
    check(f"{twice} select a.x, b.x from c a join c b on a.n = b.n", rejects=True)
    check("select v from spread where n = (select max(id) from dim where id = 2003)", rejects=False)


def test_a_partition_column_of_the_same_name_is_not_taken_for_the_indexed_one(
    spark: SparkSession, check: OnOffDuckDB, tmp_path: Path
) -> None:
    for part in (0, 1):
        write_files(spread_table(part * 1000, 1000), tmp_path / "parted" / f"p={part}", 1, PACK_ROWS)
    Index.create(None, str(tmp_path / "parted"), [Bloom("n")], name="i")
    show_to_duckdb(check, "parted", f"{tmp_path}/parted/p=*/*.parquet")
    spark.read.parquet(str(tmp_path / "parted")).createOrReplaceTempView("parted")
    check("select v, p from parted where n = 3003 and p = 0", rejects=True)
    check("select v, p from parted where n = 33003", rejects=True)
    check("select v, p from parted where p = 1 and v > 5", rejects=False)


def test_an_index_in_a_location_of_its_own_is_used(spark: SparkSession, check: OnOffDuckDB, spread: Path, tmp_path: Path) -> None:
    Index.create(None, str(spread), [Bloom("n")], name="i", location=str(tmp_path / "store"))
    check("select v from spread where n = 7003", rejects=False)
    spark.conf.set("rtfilter.store.location", str(tmp_path / "store"))
    check("select v from spread where n = 7003", rejects=True)
    check("select v from fact where k = 7", rejects=False)


@pytest.mark.parametrize(("option", "value", "reason"), [("cost", "never", "COST_NEVER"), ("index.maxStale", "0.3", "INDEX_STALE")])
def test_an_option_that_forbids_it_is_the_reason(
    spark: SparkSession, check: OnOffDuckDB, indexed: Path, option: str, value: str, reason: str
) -> None:
    write_files(spread_table(PACKS * PACK_ROWS, PACKS * PACK_ROWS), indexed.parent / "more", 1, PACK_ROWS)
    (indexed.parent / "more" / "part-000.parquet").rename(indexed / "added.parquet")
    spark.read.parquet(str(indexed)).createOrReplaceTempView("spread")
    assert check("select v from spread where n = 7003", rejects=True).packs_rejected == PACKS - 1
    spark.conf.set(f"rtfilter.{option}", value)
    check("select v from spread where n = 7003", rejects=False)
    assert [entry.reason for entry in report_of(spark).filters] == [reason]


def test_a_stale_index_says_so_and_a_refresh_mends_it(spark: SparkSession, check: OnOffDuckDB, indexed: Path) -> None:
    write_files(spread_table(PACKS * PACK_ROWS, 200), indexed.parent / "more", 1, PACK_ROWS)
    (indexed.parent / "more" / "part-000.parquet").rename(indexed / "added.parquet")
    spark.read.parquet(str(indexed)).createOrReplaceTempView("spread")
    check("select v from spread where n = 7003", rejects=True)
    assert "it covers 4 of 5 files as they are now: refresh it" in report_of(spark).filters[0].detail
    index = rtfilter.indexes(spark, str(indexed))[0]
    index.refresh("quick")
    spark.conf.set("rtfilter.enabled", True)
    planned = rtfilter.why_not(spark.sql("select v from spread where n = 7003")).keys[0]
    assert planned.reason == "PLANNED" and "lacked 1 new file when it was last looked at" in planned.detail
    index.refresh()
    assert check("select v from spread where n = 7003", rejects=True).packs_rejected == PACKS + 3
    assert report_of(spark).filters[0].detail == "It rejects 43 of 44 packs."


def test_an_index_that_can_not_be_used_is_the_reason(spark: SparkSession, check: OnOffDuckDB, indexed: Path) -> None:
    index = rtfilter.indexes(spark, str(indexed))[0]
    query = "select v from spread where n = 7003"
    index.delete()
    check(query, rejects=False)
    assert report_of(spark).filters[0].reason == "INDEX_DELETED"
    index.restore()
    check(query, rejects=True)
    for path in (Path(index.place) / "data").iterdir():
        path.write_bytes(path.read_bytes()[:-3])
    index.delete()
    index.restore()
    check(query, rejects=False)
    assert report_of(spark).filters[0].reason == "INDEX_CORRUPT"
    for path in sorted((Path(index.place) / "log").glob("*.json")):
        path.write_text(path.read_text().replace('"format": 1', '"format": 2').replace('"format":1', '"format":2'))
    (Path(index.place) / "log" / f"{99:020d}.json").write_text('{"format": 2}')
    check(query, rejects=False)
    assert report_of(spark).filters[0].reason == "INDEX_VERSION"


def test_a_file_replaced_after_planning_is_read_whole(spark: SparkSession, indexed: Path) -> None:
    spark.conf.set("rtfilter.enabled", True)
    df = spark.sql("select v from spread where n = 33003")
    df._jdf.queryExecution().executedPlan()
    target = indexed / "part-000.parquet"
    write_files(spread_table(1500, 500), indexed.parent / "other", 1, PACK_ROWS)
    before = target.stat()
    os.replace(indexed.parent / "other" / "part-000.parquet", target)
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    spark.conf.set("rtfilter.enabled", False)
    plain = spark.read.parquet(str(indexed)).where("n = 33003").select("v").count()
    assert plain == 2 and len(df.collect()) in (1, 2)


def test_strings_padded_to_a_length_are_found(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("rtfilter.enabled", False)
    spark.sql(f"create table padded (c char(6), v int) using parquet location '{tmp_path}/padded'")
    try:
        for number in range(4):
            spark.sql(f"insert into padded select /*+ repartition(1) */ concat('k', id), id from range({number}, 40, 4)")
        Index.create(None, str(tmp_path / "padded"), [ValueSet("c", 100), CMap("c")], name="i")
        tests = ("= 'k7'", "= 'k7    '", "like 'k7%'", "in ('k7', 'k9')")
        off = [spark.sql(f"select v from padded where c {test}").collect() for test in tests]
        spark.conf.set("rtfilter.enabled", True)
        on = [spark.sql(f"select v from padded where c {test}").collect() for test in tests]
        assert on == off and [len(rows) for rows in on] == [1, 1, 1, 2]
    finally:
        spark.conf.set("rtfilter.enabled", False)
        spark.sql("drop table padded")


def test_a_frame_that_writes_has_its_source_cut_too(spark: SparkSession, indexed: Path, tmp_path: Path) -> None:
    spark.conf.set("rtfilter.enabled", True)
    spark.sql("select * from spread where n = 7003").write.parquet(str(tmp_path / "out"))
    report = report_of(spark)
    assert [entry.packs_kept for entry in report.filters] == [1]
    assert [row.v for row in spark.read.parquet(str(tmp_path / "out")).collect()] == [353]


def test_verify_compares_queries_without_a_join_too(spark: SparkSession, indexed: Path) -> None:
    spark.conf.set("rtfilter.enabled", True)
    spark.conf.set("rtfilter.verify", True)
    assert [row.v for row in spark.sql("select v from spread where n = 7003").collect()] == [353]


def test_who_asks_for_a_rows_part_of_its_file_gets_that_of_the_whole_file(spark: SparkSession, indexed: Path) -> None:
    blocks = "select v, input_file_block_start() as start, input_file_block_length() as length from spread where n = 7012"
    whole = spark.sql(blocks).collect()
    spark.conf.set("rtfilter.enabled", True)
    assert spark.sql(blocks).collect() == whole and len(whole) == 1
    plain = spark.sql("select v, input_file_name() as name from spread where n = 7012")
    assert [row.v for row in plain.collect()] == [whole[0].v]
    (scan,) = jvm.scan_metrics(plain)
    assert 0 < scan["packs_read"] < scan["packs_total"]
