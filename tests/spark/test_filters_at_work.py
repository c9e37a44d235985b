"""A plan that is made while stages run says which filters are at work in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

import rtfilter


def nodes_of(frame: Any) -> list[dict[str, Any]]:
    """The nodes of a query that has run, as a plan at its last stage showed them."""
    bridge = frame.sparkSession._jvm.org.apache.spark.sql.execution.rtfilter
    nodes = bridge.Snapshot.nodes(bridge.Snapshot.number(frame._jdf.queryExecution().executedPlan().executedPlan()))
    return [json.loads(nodes.apply(number).toString()) for number in range(nodes.length())]


@pytest.mark.parametrize(("condition", "where"), [("id < 40", "scan"), ("id % 7 = 1", "other")])
def test_by_the_ids_of_the_report(spark: SparkSession, condition: str, where: str) -> None:
    spark.conf.set("rtfilter.enabled", True)
    spark.conf.set("rtfilter.cost", "always")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    frame = spark.sql(f"select count(*), sum(v) from fact join dim on k = id where {condition}")
    assert frame.collect()[0][0] > 0
    report = rtfilter.last_report(spark)
    assert report is not None
    applied = {each.placeholder for each in report.filters if each.decision == "applied"}
    found = {id_ for node in nodes_of(frame) if node["kind"] == where for id_ in node.get("runs", [])}
    assert applied and found == applied
