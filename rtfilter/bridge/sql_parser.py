"""Asks Spark's own parser whether a text is a statement of Spark SQL. Nothing is analysed or run."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import SparkSession


def accepts_of(spark: SparkSession) -> Callable[[str], bool] | None:
    """The judgement of the session's parser, with the dialects that its extensions add. None for a session of Spark Connect.

    `SessionState.sqlParser.parsePlan`: checked on Spark 4.3.
    """
    if not hasattr(spark, "_jsparkSession"):
        return None
    parser = spark._jsparkSession.sessionState().sqlParser()

    def accepts(statement: str) -> bool:
        try:
            parser.parsePlan(statement)
        except ParseException:
            return False
        except PySparkException:
            # Anything else says nothing about the statement.
            return True
        return True

    return accepts
