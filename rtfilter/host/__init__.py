"""The planner host: the process that Spark's driver starts and asks (docs/protocol.md). Knows no pyspark."""
