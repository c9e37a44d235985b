"""Clones of a session for frames with options of their own: one for each set of options, as long as nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark import RDD
from pyspark.sql import SparkSession

MOST_CLONES = 16
# An attribute of a session: its clones live as long as it does.
_CLONES = "_rtfilter_clones"


@dataclass(frozen=True)
class _Clone:
    """A clone, with the state of its session and its own state when it was made."""

    session: SparkSession
    of: Any
    own: Any


def clone_of(spark: SparkSession, conf: dict[str, str], state_of: Callable[[SparkSession], Any]) -> SparkSession:
    """A clone of a session with `conf` in it: the one of an earlier call with equal `conf`.

    If the session or that clone has changed since, it is a new one, and the frames of the earlier clone keep theirs. When there
    are more than MOST_CLONES, the one that nobody has asked for the longest is forgotten.

    Args:
        state_of: Conf, temporary views and functions of a session, to be compared.
    """
    clones: dict[frozenset[tuple[str, str]], _Clone] = spark.__dict__.setdefault(_CLONES, {})
    key, state = frozenset(conf.items()), state_of(spark)
    found = clones.pop(key, None)
    if found is None or found.of != state or found.own != state_of(found.session):
        clone = cloned(spark, conf)
        found = _Clone(clone, state, state_of(clone))
    clones[key] = found
    for unused in list(clones)[:-MOST_CLONES]:
        del clones[unused]
    return found.session


def cloned(spark: SparkSession, conf: dict[str, str]) -> SparkSession:
    """A new clone of a session, with `conf` in it."""
    # A new session takes RDD.toDF over for the whole process (checked on 4.3); that stays the user's.
    to_frame = RDD.__dict__.get("toDF")
    clone = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    if to_frame is not None:
        RDD.toDF = to_frame  # type: ignore[method-assign]
    for key, value in conf.items():
        clone.conf.set(key, value)
    return clone
