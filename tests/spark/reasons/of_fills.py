"""Reasons that a filter's cost gives before the build side is there, and what a query that ran says of its filters."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from tests.spark.cases import fact_table
from tests.spark.reasons.of_indexes import indexed
from tests.spark.reasons.of_joins import JOIN
from tests.spark.reasons.row import ALWAYS, SHUFFLED, Row, Scene

MANY_ROWS = 200_000


def many(scene: Scene) -> None:
    """More rows than a filter of fact is worth: by the files' size, and as they turn out to be."""
    numbers = np.random.default_rng(1).permutation(MANY_ROWS)
    scene.table(
        "many", pa.table({"id": pa.array(numbers, pa.int32()), "w": pa.array(numbers * 1_000_003, pa.int64())}), 1, MANY_ROWS
    )


def replaced(scene: Scene) -> None:
    """The table's files after Spark has listed them: the same bytes with another time."""
    for file in scene.table("touched", fact_table().slice(0, 1000)).glob("*.parquet"):
        os.utime(file, (1, 1))


def texts(scene: Scene) -> None:
    """150,000 texts, more than a task's share of the little memory that there is."""
    numbers = np.arange(400_000) * 3
    for name, rows in (("build", 150_000), ("probe", 400_000)):
        column = pa.array([f"a text that is rather long {x}" for x in numbers[:rows]])
        scene.table(name, pa.table({"s": column, "flag": numbers[:rows] % 2}), 1, 20_000)


def over_v2(scene: Scene) -> None:
    for name in ("fact", "dim"):
        (file,) = scene.spark.table(name).limit(1).inputFiles()[:1]
        scene.spark.read.parquet(file.rpartition("/")[0]).createOrReplaceTempView(f"{name}2")


def held(scene: Scene) -> None:
    scene.spark.sql("cache table held as select k from fact where k < 9")


def planned_before(scene: Scene) -> DataFrame:
    """A frame keeps the plan that was made when it was first looked at."""
    scene.spark.conf.set("rtfilter.enabled", False)
    frame = scene.spark.sql(JOIN)
    frame.explain()
    scene.spark.conf.set("rtfilter.enabled", True)
    return frame


def lost_twice(scene: Scene) -> None:
    scene.spark.table("fact").write.parquet(str(scene.folder / "odd"))
    scene.spark.read.parquet(str(scene.folder / "odd")).createOrReplaceTempView("odd")
    scene.spark.conf.set("rtfilter.feedback.enabled", True)
    for _ in range(2):
        scene.spark.sql(LOST).collect()
        scene.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()


V2 = {"spark.sql.sources.useV1SourceList": ""}
ASKED_NOT_RUN = (
    "select t.v from (select k, v from t where s = 'text 3') t right join (select id from dim where name = 'nobody') on k = id"
)
LOST = "select v from odd join dim on r = id where grp = 3 and v < 100000"
WIDE = " and id % 2 >= 0 and id % 3 >= 0 and id % 5 >= 0"
AHEAD = "select count(*) from fact join dim d on r = d.id join (select id i from dim where {}) e on k = i"

TWO_KEYS = (
    "select count(*) from fact join dim d on r = d.id join (select id i, day a from dim where grp = 3) e on k = i and fact.d = a"
)
RANGE_JOIN = "select count(*) from fact join dim on k < id where grp = 3 and v < 100"
OF_V2 = "select count(*) from fact2 join dim2 on k = id"

OF_FILLS = (
    Row("LOST_TWICE", LOST, prepare=lost_twice, conf={"rtfilter.feedback.enabled": "true"}),
    Row("BUILD_NOT_SMALLER", "select v from fact join range(1000) r on k = r.id", "of unknown size", SHUFFLED),
    Row("BUILD_NOT_SMALLER", "select v, many.id from fact right join many on k = many.id", "larger", SHUFFLED, prepare=many),
    Row("WAIT_DOES_NOT_PAY", JOIN, conf=SHUFFLED),
    Row("FILL_DOES_NOT_PAY", "select /*+ broadcast(many) */ v from fact join many on k = many.id", prepare=many),
    Row("APPLIED", "select v from fact join dim on k = id where name = 'n7'", runs=True),
    Row("NOTHING_AHEAD", "select v from fact join dim on k = id where name = 'n7'", runs=True),
    Row("REJECTS_NO_PACK", "select v from fact join dim on r = id where grp = 3", conf={"rtfilter.keyFirst": "never"}, runs=True),
    Row("KEY_FIRST", "select v from fact join dim on r = id where grp = 3", runs=True),
    Row("ROWS_ONLY", "select v from fact join dim on r = id where grp = 3", conf=ALWAYS, runs=True),
    Row("ROWS_TESTED", "select v from fact join dim on r = id where grp = 3", conf=ALWAYS, runs=True),
    Row("ROWS_TESTED", AHEAD.format("grp = 3"), "cost auto", runs=True),
    Row("PASSES_MOST_ROWS", AHEAD.format("id > 5"), "most of all rows", runs=True),
    Row("PASSES_MOST_ROWS", AHEAD.format("id < 2000"), "all rows of kept packs", conf={"rtfilter.kinds": "range"}, runs=True),
    Row("PASSES_MOST_ROWS", TWO_KEYS, "with another key", runs=True),
    Row("GAIN_TOO_SMALL", "select v from fact join dim on kl = idl where id > 60", runs=True),
    Row(
        "FOOTERS_NOT_KNOWN",
        "select /*+ broadcast(dim) */ v from touched join dim on k = id where grp = 3",
        runs=True,
        prepare=replaced,
    ),
    Row(
        "BUILD_TOO_LARGE",
        f"select /*+ broadcast(many) */ v from fact join many on k = many.id{WIDE.replace('id', 'many.id')}",
        runs=True,
        prepare=many,
    ),
    Row("NOT_FILLED", JOIN.replace("grp = 3", "name = 'nobody'"), conf={**SHUFFLED, **ALWAYS}, runs=True),
    Row(
        "NO_MEMORY",
        "select count(*) from probe join build on probe.s = build.s where build.flag >= 0",
        conf={**SHUFFLED, **ALWAYS},
        runs=True,
        prepare=texts,
    ),
    Row("LAYER_OFF", JOIN, conf={"rtfilter.enabled": "false"}, runs=True),
    Row("ADAPTIVE_OFF", JOIN, "the query", conf={"spark.sql.adaptive.enabled": "false"}, runs=True),
    Row("NO_EQUALITY", RANGE_JOIN, "before it runs"),
    Row("NO_EQUALITY", RANGE_JOIN, "after it ran", runs=True),
    Row("NO_FILE_SCAN", OF_V2, "before it runs", V2, prepare=over_v2),
    Row("NO_FILE_SCAN", OF_V2, "after it ran", V2, runs=True, prepare=over_v2),
    Row("NO_FILE_SCAN", "select count(*) from held a join held b on a.k = b.k", "of cached tables", runs=True, prepare=held),
    Row("NO_JOIN", "select grp, count(*) from dim group by grp", "before it runs"),
    Row("NOTHING_DUE", JOIN, conf={**SHUFFLED, **ALWAYS}, runs=True, prepare=planned_before),
    Row("NOT_FILLED", ASKED_NOT_RUN, "a condition", conf={**SHUFFLED, **ALWAYS}, runs=True, prepare=indexed),
    Row("NO_JOIN", "select grp, count(*) from dim group by grp", runs=True),
)
