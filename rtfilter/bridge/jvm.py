"""Calls from Python into the bridge: everything that names an object of its JVM classes is in this file."""

from __future__ import annotations

import json
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from rtfilter.bridge.session_clones import clone_of
from rtfilter.errors import NotConfiguredError
from rtfilter.masking import without_secrets

EXTENSION = "org.apache.spark.sql.execution.rtfilter.RtFilterExtension"
LISTENER_WAIT_MS = 10_000
# Name of LayerOptions.scala.
OF_FRAME = "spark.rtfilter.internal.frame"
NOT_CLASSIC = (
    "rtfilter needs a classic SparkSession: this one is a Spark Connect client. Configure the server with "
    "rtfilter.spark_conf() and set rtfilter.enabled in the client's session."
)


def _parsed(text: str) -> Any:
    """What the bridge tells, as it may be shown."""
    return json.loads(without_secrets(text))


def is_gone(spark: SparkSession) -> bool:
    """Whether the session's JVM has died."""
    try:
        spark._jvm.System.nanoTime()  # type: ignore[union-attr]
    except (Py4JError, ConnectionError):
        return True
    return False


def inspector(spark: SparkSession) -> Any:
    """The bridge's Python-facing object.

    Raises:
        NotConfiguredError: the session is a Connect client, is stopped, or its driver lacks the jar.
    """
    if not hasattr(spark, "_jsparkSession"):
        raise NotConfiguredError(NOT_CLASSIC)
    if spark.sparkContext._jsc is None:
        raise NotConfiguredError("this SparkSession is stopped; make a new one.")
    found = spark._jvm.org.apache.spark.sql.execution.rtfilter.Inspect  # type: ignore[union-attr]
    # py4j gives a package object for a class that is not there.
    if type(found).__name__ == "JavaPackage":
        raise NotConfiguredError(
            "the rtfilter jar is not on the driver's class path: this process's JVM was started without it, and can't "
            "get it any more. Restart the Python process (in a notebook: its kernel) and make its first session with "
            "rtfilter.configure(builder), or pass the entries of rtfilter.spark_conf() to spark-submit --conf."
        )
    return found


def has_extension(spark: SparkSession) -> bool:
    return bool(inspector(spark).hasExtension(spark._jsparkSession))


def offer_interpreter(spark: SparkSession, python: str) -> None:
    """Names the planner host's interpreter for an application whose SparkConf names none."""
    inspector(spark).offerPython(spark._jsparkSession, python)


def host_pid(spark: SparkSession) -> int:
    """Process id of the running planner host, −1 when none runs."""
    return int(inspector(spark).hostPid(spark._jsparkSession))


def cores(spark: SparkSession) -> int:
    """How many tasks of the application run side by side."""
    return int(inspector(spark).cores(spark._jsparkSession))


def session_id(spark: SparkSession) -> str:
    return str(inspector(spark).sessionId(spark._jsparkSession))


def last_record(spark: SparkSession) -> dict[str, Any] | None:
    """What the bridge kept of the latest execution in the session or in one that was cloned from it."""
    text = inspector(spark).lastRecord(spark._jsparkSession)
    return None if text is None else dict(_parsed(text))


def scan_metrics(df: DataFrame) -> list[dict[str, Any]]:
    """Spark's own metrics of every file scan of a frame that has run: table, numOutputRows, packs_read and others."""
    plan = df._jdf.queryExecution().executedPlan()
    return list(_parsed(inspector(df.sparkSession).scanMetrics(plan)))


def row_metrics(df: DataFrame) -> list[dict[str, Any]]:
    """The counts of every row filter of a frame that has run: filter, rows_tested, rows_dropped, rows_passed."""
    plan = df._jdf.queryExecution().executedPlan()
    return list(_parsed(inspector(df.sparkSession).rowMetrics(plan)))


def planned_decisions(df: DataFrame) -> tuple[list[dict[str, Any]], str]:
    """The planner's answers for a frame: prepared with the layer on in a session of its own, not run. And where it was not asked,
    the code of the reason.

    Static filters are placed without adaptive execution too; join keys are judged then all the same.
    """
    own = in_own_session(df, {"rtfilter.enabled": "true"})
    spark = own.sparkSession
    plan = own._jdf.queryExecution().executedPlan()
    inspect = inspector(spark)
    placed = list(_parsed(inspect.decisions(plan)))
    idle = str(inspect.idle(spark._jsparkSession, plan))
    of_scans = [answer for answer in placed if "star_trees" not in answer]
    if of_scans or spark.conf.get("spark.sql.adaptive.enabled") == "true":
        return placed, idle
    return [*placed, *_parsed(inspect.judge(spark._jsparkSession, plan))], idle


def in_own_session(df: DataFrame, conf: dict[str, str]) -> DataFrame:
    """The same query bound to a clone of its session, with `conf` set there and nowhere else."""
    spark = df.sparkSession
    inspect = inspector(spark)
    clone = clone_of(spark, {**conf, OF_FRAME: "true"}, lambda session: inspect.stateOf(session._jsparkSession))
    dataset = spark._jvm.org.apache.spark.sql.classic.Dataset  # type: ignore[union-attr]
    return DataFrame(dataset.ofRows(clone._jsparkSession, df._jdf.logicalPlan()), clone)


def bytes_read(spark: SparkSession, job_group: str) -> int:
    """The input bytes of all stages of a job group, from Spark's status store once its listeners have caught up.

    A stage that was skipped has no end time, and of more stages than `spark.ui.retainedStages` Spark forgets those first.
    """
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty(LISTENER_WAIT_MS)
    tracker, store = spark.sparkContext.statusTracker(), context.statusStore()
    jobs = [job for number in tracker.getJobIdsForGroup(job_group) if (job := tracker.getJobInfo(number)) is not None]
    stages = {int(stage) for job in jobs for stage in job.stageIds}
    kept = [stage for stage in stages if tracker.getStageInfo(stage) is not None]
    return sum(int(store.lastStageAttempt(stage).inputBytes()) for stage in kept)
