"""What tells two filters of one shape apart: what is asked of the build side's rows and of the probe's scan, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rtfilter.bridge import jvm

JOIN = "select v from fact join dim on k = id where "
PARTS = "select v from parts join fact on id = k where "
MANY = ", ".join(str(number) for number in range(60))
NAMES = ", ".join(f"'n{number}'" for number in range(60))


@pytest.fixture
def parts(spark: SparkSession, data: Path, tmp_path: Path) -> None:
    for part in range(2):
        folder = tmp_path / "parts" / f"p={part}"
        folder.mkdir(parents=True)
        shutil.copyfile(data / "dim" / "part-000.parquet", folder / "part-0.parquet")
    spark.read.parquet(str(tmp_path / "parts")).createOrReplaceTempView("parts")


def literals(spark: SparkSession, sql: str) -> str | None:
    """What the one placeholder of a query is remembered under, None where it is not remembered at all."""
    spark.conf.set("rtfilter.feedback.enabled", True)
    (answer,), _ = jvm.planned_decisions(spark.sql(sql))
    (placeholder,) = answer["placeholders"]
    found = placeholder.get("feedback")
    return None if found is None else str(found["literals"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{JOIN} grp = 3", f"{JOIN} grp = 7"),
        (f"{JOIN} grp < 3", f"{JOIN} grp <= 3"),
        (f"{JOIN} name like '%1'", f"{JOIN} name like '%2'"),
        (f"{JOIN} name in ({NAMES}, 'n98')", f"{JOIN} name in ({NAMES}, 'n99')"),
        (f"{JOIN} greatest(grp, {MANY}, 70) < 80", f"{JOIN} greatest(grp, {MANY}, 71) < 80"),
        (f"{JOIN} grp = 3 and v < 5", f"{JOIN} grp = 3 and v < 6"),
        (f"{PARTS} p = 0", f"{PARTS} p = 1"),
        *(
            (f"select v from fact join ({build.format(5)}) on k = i", f"select v from fact join ({build.format(6)}) on k = i")
            for build in (
                "select id i from dim group by id having count(1) < {}",
                "select id i from dim order by name limit {}",
                "select id i from (select id, grp * {} as many from dim) where many < 100",
            )
        ),
    ],
)
def test_another_literal_or_condition_is_another_filter(spark: SparkSession, parts: None, one: str, other: str) -> None:
    first, second = literals(spark, one), literals(spark, other)
    assert first and second and first != second
    assert literals(spark, one) == first


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{JOIN} grp = 3", "select f.v, f.s from fact f join dim d on f.k = d.id where d.grp = 3"),
        (f"{JOIN} grp = 3 and name > 'n5'", f"{JOIN} name > 'n5' and grp = 3"),
        (f"{JOIN} grp = 3", "select v + 5 from fact join dim on k = id where grp = 3 order by v limit 7"),
    ],
)
def test_what_changes_no_row_of_either_side_changes_nothing(spark: SparkSession, one: str, other: str) -> None:
    first = literals(spark, one)
    assert first and literals(spark, other) == first


@pytest.mark.parametrize(
    "sql",
    [
        f"{JOIN} grp = (select max(grp) from dim)",
        "select v from fact join (select explode(array(5, 6, 7)) as id from values (1), (2)) on k = id",
        "select v from fact join (select id from range(10)) on k = id",
    ],
)
def test_what_cannot_be_told_is_not_remembered(spark: SparkSession, sql: str) -> None:
    assert literals(spark, sql) is None


def test_a_re_plan_finds_what_the_first_plan_was_remembered_under(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)
    for name, value in (("cost", "auto"), ("feedback.enabled", True), ("enabled", True)):
        spark.conf.set(f"rtfilter.{name}", value)
    inner = "select k as key, max(v) as v from fact join dim on k = id where grp < 9 group by k having count(1) > 2"
    # With the two halves of dim there is a second question; without them the first answer would hold to the end.
    halves = "select d.id from dim d join dim e on d.id = e.id"
    tables = f"fact join ({inner}) a on fact.r = a.key join dim on a.key = dim.id join ({halves}) h on a.key = h.id"
    spark.sql(f"select /*+ RTFILTER(always, fact) */ count(*) from {tables} where dim.name < 'n3'").collect()
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(jvm.LISTENER_WAIT_MS)
    record = jvm.last_record(spark)
    assert record is not None
    named = [[each["feedback"] for each in decision["placeholders"]] for decision in record["decisions"]]
    assert len([answer for answer in named if answer]) > 1
    first = {each["key"]: each["literals"] for each in named[0]}
    later = {(each["key"], each["literals"]) for answer in named[1:] for each in answer if each["key"] in first}
    assert later and later <= set(first.items())
