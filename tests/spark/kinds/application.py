"""An application in which queries may fail and workers run what is sent to them."""

from __future__ import annotations

import logging

from pyspark.sql import SparkSession

from tests.spark.differential.application import begin
from tests.spark.kinds.actions import send_by_value


def start() -> SparkSession:
    spark = begin("rtfilter kinds")
    # Failing queries are part of it.
    spark.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    send_by_value()
    return spark
