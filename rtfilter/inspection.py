"""What the layer did, would do, and why it would not: last_report, explain, why_not."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from rtfilter.bridge import jvm
from rtfilter.index.find import lost_indexes
from rtfilter.report import Explanation, Report, WhyNot, report_from_record
from rtfilter.session import attach
from rtfilter.store.index_files.index_problems import INDEX_GONE


def last_report(spark: SparkSession) -> Report | None:
    """The report of the latest query that ran in this session or in one cloned from it (for a pruned frame, a cache, a stream).

    A query in which the layer had no part has an empty report with a `reason`. None: no query has run. A DataFrame that is run a
    second time re-uses its finished plan, filters included, so it has the report of the first time. An RDD that `df.rdd` makes of
    a plan without an exchange runs without Spark telling of a query, so nothing is reported of it.

    Raises:
        NotConfiguredError: the session lacks the jar or the extension.
    """
    record = jvm.last_record(spark)
    return None if record is None else report_from_record(record)


def explain(df: DataFrame) -> Explanation:
    """The filters that the layer would plan for a frame: where, of which kind, estimated gain; and the star-trees that would answer
    its aggregates. Runs nothing.

    Raises:
        NotConfiguredError: the session lacks the jar or the extension.
    """
    attach(df.sparkSession)
    answers, _ = jvm.planned_decisions(df)
    return Explanation.from_answers(answers)


def why_not(df: DataFrame) -> WhyNot:
    """Every join key of a frame, and for those that get no filter the reason; for every aggregate and star-tree the first check
    that fails. Runs nothing.

    Raises:
        NotConfiguredError: the session lacks the jar or the extension.
    """
    attach(df.sparkSession)
    answers, idle = jvm.planned_decisions(df)
    found = WhyNot.from_answers(answers, idle)
    told = found.reason == INDEX_GONE or any(INDEX_GONE in key.index_reasons for key in found.keys)
    return found if told else replace(found, warnings=(*found.warnings, *lost_indexes(df)))
