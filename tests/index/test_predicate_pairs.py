"""Generated pairs of predicate and pack for every type: no pack with a passing row is rejected, none with a failing one accepted.

50,000 for every type; `RTFILTER_PAIRS=1000000 pytest tests/index/test_predicate_pairs.py` tries more.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pytest

from rtfilter.store.sketches.domain import BYTES, domain_of
from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, MinMax, Sketch, ValueSet
from rtfilter.store.sketches.outcomes import Outcome, agreed
from rtfilter.store.sketches.predicates import Leaf, judge_predicate, parse_predicate
from rtfilter.store.sketches.rows import SketchRows
from tests.cases_share import cases
from tests.index.sketching import judged, sketched, values_of

PAIRS = int(os.environ.get("RTFILTER_PAIRS", cases(50_000)))
PACKS, PACK_ROWS = 50, 8
Value = Any
Make = Callable[[random.Random], Value]


def text(rng: random.Random, alphabet: str = "ab\u00e9", longest: int = 4) -> str:
    """Shares beginnings; some are longer than a bound, and than a character map."""
    return rng.choice(["", "", "key-", "x" * 40, "y" * 70]) + "".join(rng.choice(alphabet) for _ in range(rng.randint(0, longest)))


def number(rng: random.Random, low: int, high: int) -> int:
    return rng.choice([low, high, 0, rng.randint(low, high), *[rng.randint(max(low, -9), min(high, 9)) for _ in range(6)]])


MAKERS: dict[str, Make] = {
    "tinyint": partial(number, low=-128, high=127),
    "int": partial(number, low=-(2**31), high=2**31 - 1),
    "bigint": partial(number, low=-(2**63), high=2**63 - 1),
    "boolean": lambda rng: rng.random() < 0.5,
    "date": lambda rng: date(2000, 1, 1) + timedelta(days=rng.choice([0, 40_000, rng.randint(0, 50)])),
    "timestamp": lambda rng: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=rng.choice([0, 10**15, rng.randint(0, 50)])),
    "timestamp_ntz": lambda rng: datetime(2000, 1, 1) + timedelta(microseconds=rng.choice([0, 10**15, rng.randint(0, 50)])),
    "float": lambda rng: rng.choice([float("nan"), 0.0, -0.0, float("inf"), -float("inf"), rng.randint(-9, 9) / 4]),
    "double": lambda rng: rng.choice([float("nan"), 0.0, -0.0, float("inf"), -1e300, rng.randint(-9, 9) / 4]),
    "decimal(9,2)": lambda rng: Decimal(number(rng, -999_999_999, 999_999_999)) / 100,
    "decimal(30,4)": lambda rng: Decimal(number(rng, -(10**24), 10**24)),
    "string": text,
    "binary": lambda rng: text(rng).encode("latin-1"),
}


def order(value: Value) -> Value:
    """Spark's order: strings by their bytes, NaN above everything and equal to itself, one zero."""
    if isinstance(value, str):
        return value.encode()
    return (value != value, 0.0 if value != value else value + 0.0) if isinstance(value, float) else value


def key(value: Value, spark_type: str) -> int | str | None:
    if value is None:
        return None
    found = values_of([value], spark_type)
    assert found is not None
    if found.longs is not None:
        return int(found.longs[0])
    assert found.strings is not None
    return found.strings[0].hex()


def some_tree(
    rng: random.Random, spark_type: str, pool: Sequence[Value], depth: int = 2
) -> tuple[dict[str, Any], Callable[[Value], bool | None]]:
    """A predicate and its truth for a value, in SQL's three values."""
    if depth and rng.random() < 0.5:
        op = rng.choice(["and", "or", "not"])
        parts = [some_tree(rng, spark_type, pool, depth - 1) for _ in range(1 if op == "not" else 2)]
        return {"op": op, "args": [tree for tree, _ in parts]}, partial(joined, op, [truth for _, truth in parts])
    base = {"column": "c", "type": spark_type}
    op = rng.choice(
        ["eq", "lt", "le", "gt", "ge", "same", "in", "is_null", "is_not_null", *PARTS]
        if domain_of(spark_type) == BYTES
        else COMPARED
    )
    wanted = None if rng.random() < 0.05 else rng.choice(pool)
    if op == "in":
        values = [wanted, *rng.choices(pool, k=2)]
        return {**base, "op": op, "values": [key(each, spark_type) for each in values]}, partial(is_in, values)
    if op in ("is_null", "is_not_null"):
        return {**base, "op": op}, lambda value: (value is None) == (op == "is_null")
    if op in PARTS:
        if not isinstance(wanted, str | bytes):
            return {"op": "other"}, lambda value: None
        wanted = wanted[rng.randint(0, len(wanted)) :][:3]
    return {**base, "op": op, "value": key(wanted, spark_type)}, partial(compared, op, wanted)


COMPARED = ["eq", "lt", "le", "gt", "ge", "same", "in", "is_null", "is_not_null"]
PARTS = ["prefix", "suffix", "contains"]


def joined(op: str, truths: Sequence[Callable[[Value], bool | None]], value: Value) -> bool | None:
    found = [truth(value) for truth in truths]
    if op == "not":
        return None if found[0] is None else not found[0]
    decisive = op == "or"
    return decisive if decisive in found else None if None in found else not decisive


def is_in(values: Sequence[Value], value: Value) -> bool | None:
    if value is None:
        return None
    there = any(each is not None and order(each) == order(value) for each in values)
    return True if there else None if None in values else False


def compared(op: str, wanted: Value, value: Value) -> bool | None:
    if op == "same":
        return (value is None and wanted is None) or (None not in (value, wanted) and order(value) == order(wanted))
    if value is None or wanted is None:
        return None
    one, other = order(value), order(wanted)
    if op in PARTS:
        return bool({"prefix": one.startswith(other), "suffix": one.endswith(other), "contains": other in one}[op])
    return bool({"eq": one == other, "lt": one < other, "le": one <= other, "gt": one > other, "ge": one >= other}[op])


def kinds_of(spark_type: str) -> tuple[Sketch, ...]:
    own: Sketch = CMap("c") if domain_of(spark_type) == BYTES else Histogram("c")
    return (MinMax("c"), ValueSet("c", 5), own, Bloom("c", 0.05))


def judge_all(sketches: Sequence[SketchRows], tree: dict[str, Any]) -> Outcome:
    def judge(leaf: Leaf) -> Outcome:
        return agreed((judged(rows, leaf.test) for rows in sketches), PACKS)

    return judge_predicate(parse_predicate(tree), judge, PACKS)


@pytest.mark.parametrize("spark_type", list(MAKERS))
def test_no_pair_is_judged_wrong(spark_type: str) -> None:
    rng, make = random.Random(f"{spark_type} {PAIRS}"), MAKERS[spark_type]
    rejected = accepted = pairs = 0
    while pairs < PAIRS:
        # Packs of few and of many values, with and without nulls, some of nulls alone.
        packs = []
        for pack in range(PACKS):
            few = [make(rng) for _ in range(1 + pack % 4)]
            nulls = rng.choice([0.0, 0.0, 0.2, 1.0 if pack % 10 == 0 else 0.5])
            packs.append([None if rng.random() < nulls else rng.choice(few) for _ in range(PACK_ROWS)])
        sketches = [sketched(packs, spark_type, kind) for kind in kinds_of(spark_type)]
        pool = [value for pack in packs for value in pack if value is not None] + [make(rng) for _ in range(20)]
        for _ in range(min(100, (PAIRS - pairs) // PACKS + 1)):
            tree, truth = some_tree(rng, spark_type, pool)
            outcome = judge_all(sketches, tree)
            found = [[truth(value) for value in pack] for pack in packs]
            passing = np.array([True in each for each in found])
            failing = np.array([any(value is not True for value in each) for each in found])
            wrong = np.flatnonzero((outcome.reject & passing) | (outcome.accept & failing))
            assert not len(wrong), (tree, packs[int(wrong[0])])
            rejected, accepted, pairs = rejected + int(outcome.reject.sum()), accepted + int(outcome.accept.sum()), pairs + PACKS
    assert rejected > pairs * 0.1 and accepted > pairs * 0.01, (rejected, accepted, pairs)
