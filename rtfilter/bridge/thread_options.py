"""Options for what one thread runs, in whichever session: a local property of the SparkContext, which the bridge reads."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark import SparkContext

# Name of LayerOptions.scala.
PROPERTY = "rtfilter.scope"


class _Thread(threading.local):
    """The options of the innermost call, as JSON."""

    options: str | None = None


_thread = _Thread()


@contextmanager
def of_thread(options: Mapping[str, str]) -> Iterator[None]:
    """While the block runs, `options` count for all queries of this thread, and what was there before afterwards."""
    outer = _thread.options
    _thread.options = json.dumps(dict(options))
    _tell()
    try:
        yield
    finally:
        _thread.options = outer
        _tell()


def enter(context: SparkContext) -> None:
    """Takes the thread's options into an application that was started within the block."""
    if _thread.options is not None:
        context.setLocalProperty(PROPERTY, _thread.options)


def _tell() -> None:
    context = SparkContext._active_spark_context
    if context is not None and context._jsc is not None:
        context.setLocalProperty(PROPERTY, _thread.options)  # type: ignore[arg-type]  # None removes it
