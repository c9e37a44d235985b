"""Switching the layer on: a builder, a session made elsewhere, a single DataFrame."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import ParamSpec, cast, overload

from pyspark.sql import DataFrame, SparkSession

from rtfilter.bridge import jvm
from rtfilter.bridge.failures import translate_failures
from rtfilter.bridge.jar import ensure_jar
from rtfilter.bridge.submitted import submitted_conf
from rtfilter.errors import NotConfiguredError, RtFilterError
from rtfilter.options import keyword_entries, own_interpreter

P = ParamSpec("P")

# Sessions cloned for single frames report to the session that they came from: child id -> parent id, the latest ones.
_parents: OrderedDict[str, str] = OrderedDict()
_PARENTS_KEPT = 1000


def spark_conf() -> dict[str, str]:
    """The entries for `spark-submit --conf` or spark-defaults.conf; compiles the bridge when it is not in the cache.

    Raises:
        JavaNotFoundError, UnsupportedSparkError, JarBuildError: the bridge can't be compiled.
    """
    return {
        "spark.jars": str(ensure_jar()),
        "spark.sql.extensions": jvm.EXTENSION,
        # spark-submit passes on only what begins with "spark."; the bridge looks here when rtfilter.python is not set.
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
        builder.config("spark.rtfilter.python", ours["spark.rtfilter.python"])
    plain = builder.getOrCreate

    def get_or_create() -> SparkSession:
        return attach(plain())

    builder.getOrCreate = get_or_create  # type: ignore[method-assign]
    return builder


def attach(spark: SparkSession) -> SparkSession:
    """Checks that a session has the jar and the extension, and starts the planner host ahead of the first query.

    Raises:
        NotConfiguredError: the jar or the extension is missing; the text says which, and how to get it in.
    """
    if not jvm.has_extension(spark):
        raise NotConfiguredError(
            f"spark.sql.extensions of this session lacks {jvm.EXTENSION}; it is read when the session is made: use "
            "rtfilter.configure(builder) before getOrCreate(), or the entries of rtfilter.spark_conf(). If an earlier session of "
            "this process is still running, stop it first: getOrCreate() returns that one."
        )
    chosen = spark.conf.get("rtfilter.python", None) or spark.sparkContext.getConf().get("spark.rtfilter.python", None)
    if chosen is None:
        spark.conf.set("rtfilter.python", own_interpreter())
    translate_failures()
    jvm.start_host(spark)
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
    pruned_frame = jvm.in_own_session(df, entries)
    child = jvm.session_id(pruned_frame.sparkSession)
    _parents[child] = root_session_id(df.sparkSession)
    while len(_parents) > _PARENTS_KEPT:
        _parents.popitem(last=False)
    return pruned_frame


@overload
def pruned(function: Callable[P, DataFrame], /) -> Callable[P, DataFrame]: ...
@overload
def pruned(**options: object) -> Callable[[Callable[P, DataFrame]], Callable[P, DataFrame]]: ...
def pruned(
    function: Callable[P, DataFrame] | None = None, /, **options: object
) -> Callable[P, DataFrame] | Callable[[Callable[P, DataFrame]], Callable[P, DataFrame]]:
    """Decorates a function that returns a DataFrame: the returned frame, and what is derived from it, runs with the layer on.

    Raises:
        OptionError: at decoration, for an unknown option or a value of the wrong type.
        RtFilterError: at the call, when the function returns something else than a DataFrame.
    """
    keyword_entries(options)

    def decorate(wrapped: Callable[P, DataFrame]) -> Callable[P, DataFrame]:
        @functools.wraps(wrapped)
        def call(*args: P.args, **kwargs: P.kwargs) -> DataFrame:
            frame = wrapped(*args, **kwargs)
            # Whoever has no type checker returns what they like.
            if not isinstance(cast(object, frame), DataFrame):
                got = type(frame).__name__
                raise RtFilterError(f"@rtfilter.pruned: {wrapped.__qualname__} returned {got}, a DataFrame is needed.")
            return prune(frame, **options)

        return call

    return decorate if function is None else decorate(function)


def root_session_id(spark: SparkSession) -> str:
    """The id of the session itself, or of the one that it was cloned from for a frame."""
    own = jvm.session_id(spark)
    return _parents.get(own, own)


def reporting_session_ids(spark: SparkSession) -> list[str]:
    """The ids of a session and of the sessions cloned from it."""
    root = root_session_id(spark)
    return [root, *(child for child, parent in list(_parents.items()) if parent == root)]
