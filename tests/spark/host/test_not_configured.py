"""A session without the jar or without the extension gets a sentence that says which, and how to get it in."""

from __future__ import annotations

import subprocess
import sys

DRIVER = """
from pyspark.sql import SparkSession
import rtfilter
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
{more}
spark = builder.getOrCreate()
for refused in ({calls},):
    try:
        refused()
        print("went through")
    except rtfilter.NotConfiguredError as e:
        print("refused:", e)
"""
CALLS = "lambda: rtfilter.attach(spark), lambda: rtfilter.why_not(spark.range(1)), lambda: rtfilter.last_report(spark)"


def said_by_driver(more: str, calls: str = CALLS) -> list[str]:
    driver = DRIVER.format(more=more, calls=calls)
    done = subprocess.run([sys.executable, "-c", driver], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.splitlines()


def test_without_the_jar() -> None:
    said = said_by_driver("")
    assert len(said) == 3
    for line in said:
        assert "refused: the rtfilter jar is not on the driver's class path" in line
        assert "rtfilter.configure(builder)" in line


def test_configure_after_a_plain_session_advises_what_helps_then() -> None:
    more = "builder.getOrCreate(); builder = SparkSession.builder.master('local[1]')"
    (said,) = said_by_driver(more, "lambda: rtfilter.configure(builder).getOrCreate()")
    assert "this process's JVM was started without it" in said
    assert "Restart the Python process (in a notebook: its kernel)" in said


def test_without_the_extension() -> None:
    said = said_by_driver("builder.config('spark.jars', rtfilter.spark_conf()['spark.jars'])")
    assert "refused: spark.sql.extensions of this session lacks" in said[0]
    assert said[1] == said[0]
    assert said[2] == "went through"  # nothing was recorded, and None says so
