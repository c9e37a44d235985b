"""Every error that rtfilter raises, under one root."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from rtfilter.masking import without_secrets


class RtFilterError(Exception):
    """The root of all errors of this package. The text says what was wrong, with which value, and what to do; secrets in URIs are
    masked."""

    def __str__(self) -> str:
        return without_secrets(super().__str__())


class OptionError(RtFilterError):
    """An `rtfilter.` option that does not exist, or a value that does not fit it."""


class NotConfiguredError(RtFilterError):
    """The Spark session lacks the jar or the extension of rtfilter."""


class JarBuildError(RtFilterError):
    """The Scala bridge could not be compiled or put into its place."""


class JavaNotFoundError(RtFilterError):
    """There is no Java of a version that Spark runs on."""


class UnsupportedSparkError(RtFilterError):
    """This Spark version has no bridge sources."""


class ProtocolError(RtFilterError):
    """A frame between Spark and the planner host that does not follow docs/protocol.md."""


class BenchError(RtFilterError):
    """Arguments or data of a benchmark that cannot be used."""


class CalibrationError(RtFilterError):
    """Constants of the cost model that can't be measured, kept, or used on this machine."""


class QueryLogError(RtFilterError):
    """The file of `rtfilter.log.path` can't be written."""


class AdviceError(RtFilterError):
    """A log, statistics file or argument of `rtfilter advise`, `stats` or `quantiles` that can't be used."""


class ResultMismatchError(RtFilterError):
    """`rtfilter.verify` found that a query gives another result with the layer on."""


class IndexDefinitionError(RtFilterError):
    """A sketch, column, table or name of which no index can be made."""


class IndexStateError(RtFilterError):
    """An action that the state of an index does not allow, or one that another writer has overtaken."""


class IndexStorageError(RtFilterError):
    """A place where an index cannot be kept, or a file of an index or its table that cannot be read there."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that names the closest of `known` to `name`; all of them when nothing is close."""
    choices = sorted(known)
    close = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    if close:
        return f"Did you mean {close[0]!r}?"
    return f"Known are: {', '.join(choices)}."


def first_line(error: Exception) -> str:
    """What an error says, without the stack that Py4J adds; its class when it says nothing.

    Of an error that pyspark has no class for, Py4J's own first line only names the call: Java's message says more.
    """
    java = getattr(error, "java_exception", None)
    try:
        said = str(error) if java is None else str(java.getMessage() or error)
    except Exception:  # the JVM is gone
        said = str(error)
    return (said.strip().splitlines() or [type(error).__name__])[0]
