"""What a query's failure in the JVM is in Python: the one that `rtfilter.verify` asks for has a class of its own."""

from __future__ import annotations

import functools
from typing import Any

from py4j.protocol import Py4JError

from rtfilter.errors import ResultMismatchError

MISMATCH = "org.apache.spark.sql.execution.rtfilter.ResultMismatch"
_MOST_CAUSES = 20


def translate_failures() -> None:
    """Has pyspark raise ResultMismatchError where a query fails for `rtfilter.verify`. May be called again.

    pyspark looks up `convert_exception` for each Java exception, and raises what it gives unless that is an UnknownException
    (checked on 4.3.0). Where it has no such function it raises a Py4JJavaError with the same text, as before.
    """
    from pyspark.errors.exceptions import captured

    plain = getattr(captured, "convert_exception", None)
    if plain is None or hasattr(plain, "knows_rtfilter"):
        return

    @functools.wraps(plain)
    def convert(error: Any) -> Any:
        return mismatch_of(error) or plain(error)

    convert.knows_rtfilter = True  # type: ignore[attr-defined]
    captured.convert_exception = convert  # type: ignore[assignment]


def mismatch_of(error: Any) -> ResultMismatchError | None:
    """The error that a Java exception, or one of its causes, stands for; None for all but one class."""
    try:
        for _ in range(_MOST_CAUSES):
            if error is None:
                return None
            if error.getClass().getName() == MISMATCH:
                return ResultMismatchError(str(error.getMessage()))
            error = error.getCause()
    except (Py4JError, ConnectionError):
        # The JVM is gone: what there is to say of that is pyspark's.
        return None
    return None
