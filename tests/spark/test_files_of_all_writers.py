"""Joins over files of every installed writer: rows as without the layer, and packs rejected where bounds can be believed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rtfilter.bridge import jvm
from tests.spark.cases import Checked, collected
from tests.writers.hand_over import write
from tests.writers.make_environment import installed, missing
from tests.writers.many_types import NOT_BELIEVED, ROWS, handed

COLUMNS = ("int", "double", "text", "long", "time", "decimal38")
# Keys of the fifth pack without its last rows, and of the first one.
OF_TWO_PACKS = "int between 800 and 1200 or int < -3000"


def joined(spark: SparkSession, files: Path, column: str) -> Checked:
    """A join of the files with some of their own keys, with the layer on; its rows are those without it."""
    spark.read.parquet(str(files)).createOrReplaceTempView("f")
    keys = f"select distinct {column} as key from f where ({OF_TWO_PACKS}) and {column} is not null"
    sql = f"select /*+ broadcast(d) */ f.int, f.{column} from f join ({keys}) d on f.{column} = d.key"
    spark.conf.set("rtfilter.enabled", False)
    off = collected(spark.sql(sql))
    spark.conf.set("rtfilter.enabled", True)
    spark.conf.set("rtfilter.cost", "always")
    frame = spark.sql(sql)
    on = collected(frame)
    assert on == off and len(on) >= ROWS
    return Checked(on, jvm.scan_metrics(frame))


@pytest.mark.parametrize("name", [writer.name for writer in installed()])
def test_joins_give_the_same_rows_and_skip_packs(spark: SparkSession, tmp_path: Path, name: str) -> None:
    written = write(name, handed(), tmp_path / "t", ROWS)
    here = [column for column in COLUMNS if column not in written.without]
    assert len(here) >= 3
    rejecting = {column for column in here if joined(spark, tmp_path / "t", column).packs_rejected}
    assert rejecting == set(here) - NOT_BELIEVED.get(name, set())


def test_writers_that_are_missing_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    names = ", ".join(writer.name for writer in missing())
    with capsys.disabled():
        if names:
            print(f"\nnot installed, so not joined: {names} (python tests/writers/make_environment.py)")
    assert {"pyarrow", "duckdb"} <= {writer.name for writer in installed()}
