"""Python functions between scan and join, above it, in conditions and in keys."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BooleanType, IntegerType, LongType, StringType

from tests.spark.kinds.clauses import columns, joined, named
from tests.spark.kinds.query import Query
from tests.spark.kinds.world import World


def _next(value: int | None) -> int | None:
    return None if value is None else value + 1


def _even(value: int | None) -> bool | None:
    return None if value is None else value % 2 == 0


def _text(value: object) -> str | None:
    return None if value is None else f"<{value}>"


def _tens(value: int | None) -> int | None:
    return None if value is None else value % 10


def _arrow_next(values: pa.Array) -> pa.Array:
    return pc.add(pc.cast(values, pa.int64()), 1)


def register(spark: SparkSession) -> None:
    """Makes the functions known to a session by name."""
    spark.udf.register("py_next", F.udf(_next, LongType(), useArrow=False))
    spark.udf.register("py_even", F.udf(_even, BooleanType(), useArrow=False))
    spark.udf.register("py_text", F.udf(_text, StringType(), useArrow=False))
    spark.udf.register("py_tens", F.udf(_tens, IntegerType(), useArrow=False))
    # Says of itself that it may do otherwise each time, and does not.
    spark.udf.register("py_chance", F.udf(_even, BooleanType(), useArrow=False).asNondeterministic())
    spark.udf.register("arrow_next", arrow_udf(_arrow_next, LongType()))  # type: ignore[call-overload]


def through_python(rng: Random, world: World) -> Query:
    v, k, s, g = (world.naming.sql(letter) for letter in ("v", "k", "s", "g"))
    made = rng.choice([f"py_next({k})", f"py_text({s})", f"py_tens({v})", f"arrow_next({v})", f"py_next({v})"])
    where = rng.choice(["below", "below", "below filtered", "key", "above", "above filtered", "chance"])
    if where == "above":
        rows = joined(rng, world)
        return Query(rows.select(named([*columns(rng, world, rows.aliases), f"py_text({world.column('f', 's')})"])))
    if where == "above filtered":
        rows = joined(rng, world).asking(f"py_even({world.column('f', 'v')})")
        return Query(rows.select(named(columns(rng, world, rows.aliases))))
    if where == "key":
        first = f"(select *, py_tens({v}) as n from f)"
        rows = joined(rng, world, first, on=f"f.n = {{d}}.{g}", more=rng.randrange(2))
        return Query(rows.select(named([*columns(rng, world, rows.aliases), "f.n"])))
    conditions = {"below filtered": f" where py_even({v})", "chance": f" where py_chance({v})"}
    rows = joined(rng, world, f"(select *, {made} as n from f{conditions.get(where, '')})")
    return Query(rows.select(named([*columns(rng, world, rows.aliases), "f.n"])))
