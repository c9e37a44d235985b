"""Stages that run again under filters.

Spark itself, with the layer off too, frees nothing any more in an application in which shuffle files were lost in this way: what
is about memory must come before this file.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.spark.cases import collected
from tests.spark.shuffled.jobs import SQL_OF_PACKS_AND_ROWS, jobs_of, packs_rejected, rows_dropped, shuffle_files


def test_a_stage_whose_output_is_lost_runs_again_with_its_filters(spark: SparkSession) -> None:
    off, _, _ = jobs_of(spark, SQL_OF_PACKS_AND_ROWS, on=False)
    before = shuffle_files(spark)
    on, _, frame = jobs_of(spark, SQL_OF_PACKS_AND_ROWS, on=True)
    assert on == off
    read, dropped = packs_rejected(frame), rows_dropped(frame)
    assert read > 0 and dropped > 0
    lost = shuffle_files(spark) - before
    for path in lost:
        path.unlink()
    # The plan has run: its last stage runs again, finds nothing to read, and the stages before it have to run again too.
    assert collected(frame) == off
    assert lost and shuffle_files(spark) - before
    assert rows_dropped(frame) >= 2 * dropped
