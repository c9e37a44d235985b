"""Literals as keys of a column's domain, which is what sketches are asked for (rtfilter.store.sketches.domain)."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from rtfilter.advice.workload.literals import Literal, number
from rtfilter.store.parquet.key_values import DECIMAL_BYTES, LONG_DECIMAL_LIMIT, sortable_doubles
from rtfilter.store.sketches.domain import BYTES, decimal_of, domain_of

_EPOCH = date(1970, 1, 1)
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_TRUTHS = {"true": 1, "false": 0}
# A column's key as predicates have it: a whole number, or hexadecimal text.
Key = int | str


class NoKeyError(ValueError):
    """A literal of which it is not plain what it is to the column."""


def key_of(literal: Literal, spark_type: str) -> tuple[Key | None, bool]:
    """The key of a literal, None for NULL; and whether it is the literal itself, not the next one below it.

    Raises:
        NoKeyError: nobody knows.
    """
    if literal is None:
        return None, True
    if spark_type == "string":
        if not isinstance(literal, str):
            raise NoKeyError(f"a number for a {spark_type}")
        return literal.encode("utf-8", "surrogatepass").hex(), True
    if spark_type == "boolean":
        found = _TRUTHS.get(str(literal).lower())
        if found is None:
            raise NoKeyError("neither true nor false")
        return found, True
    if spark_type in ("date", "timestamp", "timestamp_ntz"):
        return _time(literal, spark_type), True
    value = number(literal) if isinstance(literal, str) else literal
    if value is None:
        raise NoKeyError(f"no {spark_type}")
    if spark_type in ("float", "double"):
        return int(sortable_doubles(np.array([float(value)]))[0]), True
    return _scaled(value, spark_type)


def _time(literal: Literal, spark_type: str) -> int:
    """Days or microseconds; a time without a zone is taken as UTC, which moves a range by some hours at most."""
    if not isinstance(literal, str):
        raise NoKeyError("a number for a time")
    try:
        moment = datetime.fromisoformat(literal.strip())
    except ValueError as error:
        raise NoKeyError("no time") from error
    if spark_type == "date":
        return (moment.date() - _EPOCH).days
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    whole = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return (whole.days * 86_400 + whole.seconds) * 1_000_000 + whole.microseconds


def _scaled(value: int | Decimal, spark_type: str) -> tuple[Key, bool]:
    decimal = decimal_of(spark_type)
    if spark_type not in _WHOLE and decimal is None:
        raise NoKeyError(f"{spark_type} has no keys of numbers")
    exact = Decimal(value).scaleb(decimal[1] if decimal else 0)
    below = math.floor(exact)
    if domain_of(spark_type) != BYTES:
        return below, below == exact
    if not -LONG_DECIMAL_LIMIT <= below < LONG_DECIMAL_LIMIT:
        raise NoKeyError("a number of more than 38 digits")
    return (below + LONG_DECIMAL_LIMIT).to_bytes(DECIMAL_BYTES, "big").hex(), below == exact


def literal_of(value: Any) -> Literal:
    """A value as pyarrow gives it, as a literal of SQL.

    Raises:
        NoKeyError: it is of a type that no literal stands for.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, int | float | Decimal):
        found = number(repr(value) if isinstance(value, float) else str(value))
        if found is not None:
            return found
    raise NoKeyError(f"no literal for a {type(value).__name__}")
