"""The trials: small queries that differ from one another in one thing each, run by Spark on this master."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rtfilter.bridge import jvm
from rtfilter.calibrate.arithmetic import DROPPED_SHARE, WIDE_COLUMNS, Sizes
from rtfilter.calibrate.measure import Trial
from rtfilter.errors import CalibrationError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Values of the columns that are joined and grouped by, and what lies between two of them: so much that Spark's hash joins make no
# array of them, though the bridge a bitmap; and so much that it makes none either.
VALUES = 1_000
APART, FAR_APART = 509, 1_000_000_007
MOST_BUILD_KEYS = 200_000
# Rows of a pack as a share of a file's.
PACK_SHARE, SPLIT_SHARE = 1 / 8, 1 / 400
# Files are opened one by one in the trials of footers; this share of the rows is enough for that.
FILES, FILES_ROW_SHARE = 64, 1 / 8
# What is seen of the layer itself shows only if it does not think about what pays. Of tables that go again nothing is learned.
LAYER_ON = {
    "rtfilter.enabled": "true",
    "rtfilter.feedback.enabled": "false",
    "rtfilter.cost": "always",
    "rtfilter.planner.timeoutMs": "30000",
    "rtfilter.footers.waitMs": "20000",
}
# Has a job read keys that the driver would read itself.
IN_A_JOB = {"keys.jobFromRows": "1"}

TWO_JOINS = "select sum(k) from fact join every on a = every.id join most on b = most.id"
FAR_JOIN = "select sum(k) from fact join every on a = every.id join far on c = far.id"
ROWS_JOIN = "select sum(k) from fact join every on a = id and a = again"
ASKED = "select sum(k) from {} t join most on b = most.id"
MANY_KEYS = "select sum(k) from fact join keys on a = keys.id"
BROADCAST = "select /*+ broadcast(b) */ {} from one join {} b on k = b.id"
FEW_KEYS = "select /*+ merge(most) */ sum(k) from fact join most on b = most.id"


@dataclass(frozen=True)
class Tables:
    """A session with the trials' tables as views."""

    spark: SparkSession

    def seconds_of(self, act: Callable[[], object]) -> float:
        began_s = time.perf_counter()
        act()
        return time.perf_counter() - began_s

    def query_ms(self, sql: str) -> float:
        """Wall time of a query with the layer off."""
        return 1e3 * self.seconds_of(lambda: self.spark.sql(sql).collect())

    def write_ms(self, made: Callable[[DataFrame], DataFrame]) -> float:
        """Wall time of making all rows of what `made` does with the fact, and of writing them nowhere."""
        frame = made(self.spark.table("fact"))
        return 1e3 * self.seconds_of(lambda: frame.write.format("noop").mode("overwrite").save())

    def record(self, sql: str, **options: str) -> tuple[float, Mapping[str, Any]]:
        """Wall time in ms of a query with the layer on, and what the bridge kept of it.

        Raises:
            CalibrationError: no filter was filled, so that there is nothing to measure.
        """
        conf = {**LAYER_ON, **{f"rtfilter.{name}": value for name, value in options.items()}}
        frame = jvm.in_own_session(self.spark.sql(sql), conf)
        ms = 1e3 * self.seconds_of(frame.collect)
        record = jvm.last_record(self.spark)
        if record is None or not any("collect_ms" in fill for fill in record.get("fills") or ()):
            raise CalibrationError(f"no filter was filled in {sql!r}: {(record or {}).get('warnings') or 'nobody says why'}.")
        return ms, record

    def filled(self, sql: str, what: str, **options: str) -> float:
        """A figure of the only fill of a query: `collect_ms`, `round_trip_ms`."""
        return float(self.record(sql, **options)[1]["fills"][-1][what])

    def tested_ms(self, sql: str, kind: str) -> float:
        """Wall time of two joins whose rows are tested with filters of a kind, without what planning and filling take."""
        ms, record = self.record(sql, kinds=kind)
        own_ms = sum(float(part.get("ms") or 0.0) for part in (*record.get("decisions", ()), *record["fills"]))
        return ms - own_ms

    def packs_of(self, table: str) -> int:
        fill = self.record(ASKED.format(table))[1]["fills"][-1]
        return int(fill["filters"][0]["packs_total"])


def make_tables(spark: SparkSession, location: str, rows: int) -> tuple[Tables, Sizes]:
    """Writes the trials' tables below `location`: `fact`, a running number and three columns of random values, the same in more
    packs and in more files, and what it is joined with."""
    cores = max(jvm.cores(spark), 1)
    apart = {"a": APART, "b": APART, "c": FAR_APART}
    values = [f"pmod(xxhash64(id, {seed}), {VALUES}) * {apart[name]} as {name}" for seed, name in enumerate(apart)]
    most = round(VALUES * (1 - DROPPED_SHARE))
    fact = spark.range(0, rows, 1, cores).selectExpr("id as k", *values)
    part = fact.limit(round(rows * FILES_ROW_SHARE))
    frames = {
        "fact": fact,
        "split": fact,
        "few": part.repartition(cores),
        "many": part.repartition(FILES),
        "one": spark.range(1).selectExpr("id as k"),
        "one_key": spark.range(1),
        "every": spark.range(0, VALUES * APART, APART, 1).selectExpr("id", "id as again"),
        "most": spark.range(0, most * APART, APART, 1),
        "far": spark.range(0, most * FAR_APART, FAR_APART, 1),
        "keys": spark.range(0, min(MOST_BUILD_KEYS, rows), 1, 1),
        "wide_keys": spark.range(0, min(MOST_BUILD_KEYS, rows), 1, 1).selectExpr(
            "id", *(f"xxhash64(id, {number}) as c{number}" for number in range(WIDE_COLUMNS))
        ),
    }
    for name, frame in frames.items():
        share = SPLIT_SHARE if name == "split" else PACK_SHARE
        pack_rows = max(round(rows / cores * share), 100)
        path = f"{location}/{name}"
        frame.write.option("parquet.block.row.count.limit", str(pack_rows)).parquet(path)
        spark.read.parquet(path).createOrReplaceTempView(name)
    tables = Tables(spark)
    sizes = Sizes(rows, cores, tables.packs_of("fact"), tables.packs_of("split"), FILES, min(MOST_BUILD_KEYS, rows))
    return tables, sizes


def trials_on(tables: Tables) -> dict[str, Trial]:
    """All trials, under the names that arithmetic.py knows."""

    def query(sql: str) -> Trial:
        return lambda: tables.query_ms(sql)

    def write(made: Callable[[DataFrame], DataFrame]) -> Trial:
        return lambda: tables.write_ms(made)

    def tested(kind: str, sql: str = TWO_JOINS) -> Trial:
        return lambda: tables.tested_ms(sql, kind)

    def filled(sql: str, what: str, **options: str) -> Trial:
        return lambda: tables.filled(sql, what, **options)

    wide = " ^ ".join(f"c{number}" for number in range(WIDE_COLUMNS))
    return {
        "scan nothing": query("select sum(k) from one"),
        "scan one column": query("select sum(k) from fact"),
        "scan two columns": query("select sum(k + a) from fact"),
        "scan four columns": query("select sum(k + a + b + c) from fact"),
        "scan many packs": query("select sum(k) from split"),
        "scan few files": query("select sum(k) from few"),
        "scan many files": query("select sum(k) from many"),
        "join one table": query("select sum(k) from fact join every on a = id"),
        "join one table by rows": query(ROWS_JOIN),
        "join two tables": query(TWO_JOINS),
        "join two tables, one far apart": query(FAR_JOIN),
        "broadcast one row": query(BROADCAST.format("sum(b.id)", "one_key")),
        "broadcast many rows": query(BROADCAST.format("sum(b.id)", "keys")),
        "broadcast wide rows": query(BROADCAST.format(f"bit_xor(b.id ^ {wide})", "wide_keys")),
        "group": query("select max(s) from (select a, sum(k) s from fact group by a)"),
        "write nowhere": write(lambda fact: fact),
        "shuffle": write(lambda fact: fact.repartition("k")),
        "shuffle and sort": write(lambda fact: fact.repartition("k").sortWithinPartitions("k")),
        "test against a range": tested("range"),
        "test against a bitmap": tested("set"),
        "test against a set": tested("set", FAR_JOIN),
        "test against a bloom filter": tested("bloom"),
        "collect many keys": filled(MANY_KEYS, "collect_ms"),
        "collect few keys in a job": filled(FEW_KEYS, "collect_ms", **IN_A_JOB),
        "collect few keys on the driver": filled(FEW_KEYS, "collect_ms"),
        "ask about few packs": filled(ASKED.format("fact"), "round_trip_ms"),
        "ask about many packs": filled(ASKED.format("split"), "round_trip_ms"),
    }
