"""The trials of `rtfilter calibrate`, on few rows: each runs, and those of the layer itself find what they measure."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from rtfilter.bridge import jvm
from rtfilter.calibrate.trials import make_tables, trials_on


def test_every_trial_runs_and_the_tables_are_as_they_should_be(spark: SparkSession, tmp_path: Path) -> None:
    tables, sizes = make_tables(spark, tmp_path.as_uri(), 20_000)
    assert jvm.cores(spark) == 2
    assert (sizes.rows, sizes.cores, sizes.build_keys) == (20_000, 2, 20_000)
    # A file for each core, of 10,000 rows in packs of an eighth of that, and of 100 in the other table.
    assert (sizes.packs, sizes.split_packs) == (16, 200)
    assert {name: ms for name, trial in trials_on(tables).items() if (ms := trial()) <= 0.0} == {}
    # The row tests drop a tenth: fewer, and tasks would stop testing.
    passed = spark.sql("select count(*) from fact join most on b = most.id").collect()[0][0]
    assert 0.88 < passed / sizes.rows < 0.92
