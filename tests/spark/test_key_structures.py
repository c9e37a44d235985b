"""What the bridge keeps of a build side's keys: never a key lost, exact where it says so, in one part or merged from several."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from rtfilter.store.sketches.hashing import hash_longs

EXACT, EVERYTHING = ("set",), ("set", "range", "bloom")
FPP = 0.01


@pytest.fixture(scope="module")
def bridge(session: SparkSession) -> Any:
    return session._jvm.org.apache.spark.sql.execution.rtfilter  # type: ignore[union-attr]


def limits(session: SparkSession, bridge: Any, kinds: tuple[str, ...], max_keys: int, expected: int) -> Any:
    names = session._jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(kinds)).toSet()  # type: ignore[union-attr]
    return bridge.KeyLimits(names, max_keys, expected, FPP, 1 << 24)


def values(shape: str, count: int, rng: random.Random) -> list[int]:
    draws: dict[str, Callable[[], int]] = {
        "dense": lambda: rng.randrange(-50, 200),
        "spread": lambda: rng.randrange(-(10**6), 10**6),
        "everywhere": lambda: rng.randrange(-(2**63), 2**63),
        "clusters": lambda: rng.choice([0, 10**9, -(10**12), 2**62]) + rng.randrange(50),
        "ends": lambda: rng.choice([-(2**63), 2**63 - 1, 0, -1, 1]),
    }
    return [draws[shape]() for _ in range(count)]


def drawn(shape: str, count: int, rng: random.Random, gaps: bool) -> list[int]:
    """Values as collectors get them: hashes where neighbours mean nothing."""
    found = values(shape, count, rng)
    return found if gaps else hash_longs(np.array(found, dtype=np.int64)).view(np.int64).tolist()


SHAPES = ("dense", "spread", "everywhere", "clusters", "ends")
KINDS = (EVERYTHING, ("range",), ("bloom",), ("range", "bloom"), EXACT, ("set", "range"))


def cases() -> Iterator[tuple[str, int, tuple[str, ...], int, bool, int]]:
    """Shape, number of values, kinds, most keys held one by one, whether neighbours mean something, parts."""
    return itertools.product(SHAPES, (0, 1, 5, 300, 3000), KINDS, (10, 1_000_000), (True, False), (1, 3))


def test_no_key_is_lost_and_exact_means_exact(session: SparkSession, bridge: Any) -> None:
    rng = random.Random(1)
    seen_kinds, wrong, strangers_let_through, strangers = set(), [], 0, 0
    for shape, count, kinds, max_keys, gaps, parts in cases():
        if count == 3000 and (parts == 1 or not gaps):
            continue
        keys = drawn(shape, count, rng, gaps)
        collectors = [bridge.LongKeys(limits(session, bridge, kinds, max_keys, count), gaps) for _ in range(parts)]
        for at, key in enumerate(keys):
            collectors[at % parts].add(key)
        for other in collectors[1:]:
            collectors[0].addAll(other)
        kept = collectors[0]
        test, ranges, distinct = kept.test(), kept.ranges(), set(keys)
        seen_kinds.add(kept.kind())
        for key in rng.sample(sorted(distinct), min(20, len(distinct))):
            if not test.contains(key) or not ranges.overlaps(key, key):
                wrong.append((shape, count, kinds, max_keys, gaps, parts, key))
        assert kept.count() >= len(distinct)
        assert not kept.isExact() or kept.count() == len(distinct)
        others = [key for key in drawn(shape, 15, rng, gaps) + drawn("everywhere", 5, rng, gaps) if key not in distinct]
        through = sum(test.contains(key) for key in others)
        if kept.isExact():
            assert through == 0
        elif kept.kind() == "bloom":
            strangers, strangers_let_through = strangers + len(others), strangers_let_through + through
    assert not wrong
    assert seen_kinds == {"set", "bloom", "range"}
    assert strangers > 1000
    assert strangers_let_through < strangers * 3 * FPP


def test_ranges_leave_out_the_widest_gaps(session: SparkSession, bridge: Any) -> None:
    kept = bridge.LongKeys(limits(session, bridge, ("set", "range", "bloom"), 10, 1_000), True)
    for start in (0, 10**9, 10**10):
        for key in range(start, start + 100):
            kept.add(key)
    ranges = kept.ranges()
    assert kept.kind() == "bloom"
    assert not ranges.overlaps(10**8, 9 * 10**8)
    assert not ranges.overlaps(2 * 10**9, 9 * 10**9)
    assert ranges.overlaps(10**8, 10**9)


@pytest.mark.parametrize("numbers", [[0.0, -0.0], [float("nan"), float("inf")], [-1.5, -1.25], [-0.5, 0.5], [1e-300, 1e300]])
def test_sortable_doubles_keep_order_and_equality(bridge: Any, numbers: list[float]) -> None:
    first, second = (bridge.KeyDomain.sortable(number) for number in numbers)
    if numbers == [0.0, 0.0]:
        assert first == second
    elif numbers[0] != numbers[0]:
        assert first > second
    else:
        assert first < second


def test_decimals_become_bytes_in_the_order_of_their_values(session: SparkSession, bridge: Any) -> None:
    decimal = session._jvm.java.math.BigDecimal  # type: ignore[union-attr]
    texts = ["-99999999999999999999999999.99", "-1.50", "-0.01", "0", "0.01", "1.5", "99999999999999999999999999.99"]
    forms = [bytes(bridge.KeyDomain.bytesOf(decimal(text), 2).get()) for text in texts]
    assert forms == sorted(forms)
    assert {len(form) for form in forms} == {16}
    assert bridge.KeyDomain.bytesOf(decimal("0.001"), 2).isEmpty()
