"""Clones of a session for frames with options of their own: one for each set of options."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import RDD
from pyspark.sql import SparkSession

MOST_CLONES = 16
# An attribute of a session: its clones live as long as it does.
_CLONES = "_rtfilter_clones"


@dataclass(frozen=True)
class _Clone:
    session: SparkSession
    functions: int


def clone_of(spark: SparkSession, conf: dict[str, str]) -> SparkSession:
    """A clone that has the session's conf, temporary views and functions as they are now, and `conf`: each call with equal `conf`
    gives the same one, and what was changed in it is overwritten. Without calls a clone goes when MOST_CLONES others had some."""
    clones: dict[frozenset[tuple[str, str]], _Clone] = spark.__dict__.setdefault(_CLONES, {})
    key = frozenset(conf.items())
    functions = _functions(spark)
    found = clones.pop(key, None)
    if found is None or found.functions != functions:
        found = _Clone(_cloned(spark), functions)
    clones[key] = found
    for unused in list(clones)[:-MOST_CLONES]:
        del clones[unused]
    _catalog(spark).copyStateTo(_catalog(found.session))
    _set_conf(found.session, {**spark.conf.getAll, **conf})
    return found.session


def _cloned(spark: SparkSession) -> SparkSession:
    # A new session takes RDD.toDF over for the whole process (checked on 4.3); that stays the user's.
    to_frame = RDD.__dict__.get("toDF")
    clone = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    if to_frame is not None:
        RDD.toDF = to_frame  # type: ignore[method-assign]
    return clone


def _set_conf(clone: SparkSession, wanted: dict[str, str]) -> None:
    there = clone.conf.getAll
    for key in there.keys() - wanted.keys():
        clone.conf.unset(key)
    for key, value in wanted.items():
        if there.get(key) != value:
            clone.conf.set(key, value)


def _catalog(spark: SparkSession):  # type: ignore[no-untyped-def]  # an object of the JVM
    """Whose `copyStateTo` hands temporary views and the current database on. Checked on 4.3."""
    return spark._jsparkSession.sessionState().catalog()


def _functions(spark: SparkSession) -> int:
    """How many functions the session knows: a clone takes over those that there are when it is made."""
    return int(spark._jsparkSession.sessionState().functionRegistry().listFunction().size())
