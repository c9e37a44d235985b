"""Switching the layer on: a builder, a session made elsewhere, a single DataFrame."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar, cast, overload

from pyspark.sql import DataFrame, SparkSession

from rtfilter.bridge import jvm, thread_options
from rtfilter.bridge.failures import translate_failures
from rtfilter.bridge.jar import ensure_jar
from rtfilter.bridge.submitted_conf import submitted_conf
from rtfilter.errors import NotConfiguredError
from rtfilter.options import keyword_entries, own_interpreter

P = ParamSpec("P")
R = TypeVar("R")


def spark_conf() -> dict[str, str]:
    """The entries for `spark-submit --conf` or spark-defaults.conf; compiles the bridge when it is not in the cache.

    Raises:
        JavaNotFoundError, UnsupportedSparkError, JarBuildError: the bridge can't be compiled.
    """
    return {
        "spark.jars": str(ensure_jar()),
        "spark.sql.extensions": jvm.EXTENSION,
        # spark-submit passes on only what begins with "spark.".
        "spark.rtfilter.python": own_interpreter(),
    }


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Adds the jar and the extension to a session builder; what `spark.jars` and `spark.sql.extensions` hold already stays.

    That is what the builder has, or else spark-defaults.conf and the arguments of spark-submit.
    The session that the builder then yields is attached. The layer itself is off until `rtfilter.enabled` is set.

    Raises:
        JavaNotFoundError, UnsupportedSparkError, JarBuildError: the bridge can't be compiled.
    """
    given = {**submitted_conf(), **builder._options}
    ours = spark_conf()
    for key in ("spark.jars", "spark.sql.extensions"):
        entries = [entry.strip() for entry in str(given.get(key, "")).split(",") if entry.strip()]
        if ours[key] not in entries:
            builder.config(key, ",".join([*entries, ours[key]]))
    # An earlier session of this process may have left its own in the JVM.
    if "spark.rtfilter.python" not in builder._options:
        builder.config("spark.rtfilter.python", str(builder._options.get("rtfilter.python", ours["spark.rtfilter.python"])))
    plain = builder.getOrCreate

    def get_or_create() -> SparkSession:
        return attach(plain())

    builder.getOrCreate = get_or_create  # type: ignore[method-assign]
    return builder


def attach(spark: SparkSession) -> SparkSession:
    """Checks that a session has the jar and the extension. The planner host starts with the first query that has something for it.

    Raises:
        NotConfiguredError: the jar or the extension is missing; the text says which, and how to get it in.
    """
    if not jvm.has_extension(spark):
        raise NotConfiguredError(
            f"spark.sql.extensions of this session lacks {jvm.EXTENSION}; it is read when the session is made: use "
            "rtfilter.configure(builder) before getOrCreate(), or the entries of rtfilter.spark_conf(). If an earlier session of "
            "this process is still running, stop it first: getOrCreate() returns that one."
        )
    jvm.offer_interpreter(spark, own_interpreter())
    translate_failures()
    thread_options.enter(spark.sparkContext)
    return spark


def prune(df: DataFrame, **options: object) -> DataFrame:
    """The same frame with the layer on, whatever its session says: for it and for what is derived from it.

    Options are those of docs/options.md without the prefix, `_` for `.`: `prune(df, kinds="set", cost="always")`.

    Raises:
        OptionError: an unknown option or a value of the wrong type.
        NotConfiguredError: the session lacks the jar or the extension.
    """
    entries = {"rtfilter.enabled": "true", **keyword_entries(options)}
    attach(df.sparkSession)
    return jvm.in_own_session(df, entries)


@overload
def pruned(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def pruned(**options: object) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def pruned(
    function: Callable[P, R] | None = None, /, **options: object
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates a function: what it runs has the layer on, whatever the sessions say, and so has a DataFrame that it returns.

    That is for its own thread, and for threads started in it that are a `pyspark.InheritableThread`. Other threads of the same
    session are left alone.
    Any other return value is given back as it is.

    Raises:
        OptionError: at decoration, for an unknown option or a value of the wrong type.
        NotConfiguredError: at the call, where the session lacks the jar or the extension.
    """
    entries = {"rtfilter.enabled": "true", **keyword_entries(options)}

    def decorate(wrapped: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(wrapped)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for session in _sessions_of([*args, *kwargs.values()]):
                attach(session)
            with thread_options.of_thread(entries):
                result = wrapped(*args, **kwargs)
            return cast(R, prune(result, **options)) if isinstance(result, DataFrame) else result

        return call

    return decorate if function is None else decorate(function)


def _sessions_of(arguments: Iterable[object]) -> list[SparkSession]:
    """The sessions that a function is called with, itself or with their frames; else the active one, if any."""
    # A Connect client's session is of a class of its own.
    given = [
        one.sparkSession if isinstance(one, DataFrame) else cast(SparkSession, one)
        for one in arguments
        if isinstance(one, SparkSession | DataFrame) or type(one).__module__ == "pyspark.sql.connect.session"
    ]
    active = None if given else SparkSession.getActiveSession()
    return given if active is None else [active]
