"""An application of its own: many small plans, each run once."""

from __future__ import annotations

from pyspark.sql import SparkSession

import rtfilter

# Each plan runs once: the better compiler takes long to get its time back. The code
# cache of 48 MB is full after a hundred queries.
JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"


def begin(name: str) -> SparkSession:
    builder = (
        SparkSession.builder.master("local[2]")
        .appName(name)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.extraJavaOptions", JVM)
        # A tenth of a small query's time is Hadoop's configuration on its way to tasks, another part the text of its plan.
        .config("spark.broadcast.compress", "false")
        .config("spark.sql.ui.explainMode", "simple")
        # Nobody looks at what ended; the lists of it are kept up to date at each job.
        .config("spark.ui.retainedJobs", "20")
        .config("spark.ui.retainedStages", "20")
        .config("spark.ui.retainedTasks", "100")
        .config("spark.sql.ui.retainedExecutions", "20")
    )
    spark = rtfilter.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
