"""A session without the jar or without the extension gets a sentence that says which, and how to get it in."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pyspark.sql import SparkSession

import rtfilter

WITHOUT_JAR = """
from pyspark.sql import SparkSession
import rtfilter
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
try:
    rtfilter.attach(spark)
except rtfilter.NotConfiguredError as e:
    print("refused:", e)
"""


def test_without_the_jar() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_JAR], capture_output=True, text=True, timeout=120)
    assert "refused: the rtfilter jar is not on the driver's class path" in done.stdout, done.stderr
    assert "rtfilter.configure(builder)" in done.stdout


def test_without_the_extension() -> None:
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.jars", "").getOrCreate()
    try:
        with pytest.raises(rtfilter.NotConfiguredError, match=r"(?s)jar|spark\.sql\.extensions"):
            rtfilter.attach(spark)
        with pytest.raises(rtfilter.NotConfiguredError):
            rtfilter.why_not(spark.range(1))
    finally:
        spark.stop()
