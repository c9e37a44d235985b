"""50,000 pairs of test and pack for every type and kind: no pack with a passing row is rejected, and enough others are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from rtfilter.store.sketches.arrays import ByteStrings, byte_strings
from rtfilter.store.sketches.bloom import bloom_words
from rtfilter.store.sketches.cmap import key_cmap
from rtfilter.store.sketches.column_tests import ByteRange, KeyBloom, Values, ValueTest, byte_keys, long_keys, long_ranges
from rtfilter.store.sketches.domain import PackValues
from rtfilter.store.sketches.hashing import hash_longs, hash_strings
from rtfilter.store.sketches.histogram import key_histogram
from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, MinMax, Sketch, ValueSet
from tests.cases_share import cases
from tests.index.sketching import judged, sketched_values

PACKS, PACK_ROWS, TESTS = 500, 24, cases(100, least=20)
LONG_KINDS: tuple[Sketch, ...] = (MinMax("a"), ValueSet("a", 30), Histogram("a"), Bloom("a", 0.02))
BYTE_KINDS: tuple[Sketch, ...] = (MinMax("a"), ValueSet("a", 30), CMap("a"), Bloom("a", 0.02))
# Keys as they lie in tables: ids, dates, unscaled decimals, doubles as bits, with values near and far.
LONGS: dict[str, tuple[int, int]] = {
    "tinyint": (-128, 127),
    "int": (0, 200_000),
    "date": (8_000, 12_000),
    "timestamp": (0, 2 * 10**15),
    "bigint": (-(2**63), 2**63 - 1),
    "double": (0x3FF0000000000000, 0x4090000000000000),
}
ALPHABETS = {"ids": (b"AB", 16), "codes": (b"0123456789", 6), "any bytes": (bytes(range(256)), 5)}


def long_cases(rng: np.random.Generator, packs: npt.NDArray[np.int64]) -> list[tuple[ValueTest, npt.NDArray[np.bool_]]]:
    """Tests, and for each pack whether it has a passing row."""
    low, high = int(packs.min()), int(packs.max())
    cases = []
    for number in range(TESTS):
        keys = np.unique(np.concatenate([rng.choice(packs.reshape(-1), 1), rng.integers(low, high, 1 + number % 9, endpoint=True)]))
        values: Values
        if number % 4 == 0:
            values, holds = long_keys(keys.tolist()), np.isin(packs, keys)
        elif number % 4 == 1:
            first, last = int(keys[0]), int(keys[0]) + (high - low) // 1000
            values, holds = long_ranges([(first, last)]), (packs >= first) & (packs <= last)
        elif number % 4 == 2:
            values, holds = KeyBloom(bloom_words(hash_longs(keys), 64)), np.isin(packs, keys)
        else:
            values, holds = key_histogram(keys), np.isin(packs, keys)
        cases.append((ValueTest(values, exact=number % 4 < 2), np.asarray(holds.any(axis=1))))
    return cases


@pytest.mark.parametrize("name", list(LONGS))
def test_numbers(name: str) -> None:
    rng = np.random.default_rng(5)
    low, high = LONGS[name]
    # Half of the packs lie close together, half spread over everything.
    width = max(2, (high - low) // 5000)
    centers = rng.integers(low, high - width, PACKS)
    close = centers[:, None] + rng.integers(0, width, (PACKS, PACK_ROWS))
    packs = np.where(np.arange(PACKS)[:, None] % 2 == 0, close, rng.integers(low, high, (PACKS, PACK_ROWS), endpoint=True))
    values = [PackValues(PACK_ROWS, 0, np.unique(pack), None) for pack in packs]
    cases = long_cases(rng, packs)
    for sketch in LONG_KINDS:
        rows = sketched_values(values, "bigint", sketch)
        rejected = 0
        for test, holds in cases:
            outcome = judged(rows, test)
            assert not (outcome.reject & holds).any() and not (outcome.accept & ~holds).any(), (sketch, test)
            rejected += int(outcome.reject.sum())
        assert rejected > PACKS * TESTS * (0.05 if name == "tinyint" else 0.15), sketch


@pytest.mark.parametrize("name", list(ALPHABETS))
def test_byte_strings(name: str) -> None:
    rng = np.random.default_rng(6)
    alphabet, length = ALPHABETS[name]
    letters = np.frombuffer(alphabet, dtype=np.uint8)

    def some(count: int) -> list[bytes]:
        return [rng.choice(letters, rng.integers(max(1, length - 2), length, endpoint=True)).tobytes() for _ in range(count)]

    packs = [[rng.choice(letters, number % 4).tobytes() * 2 + text for text in some(PACK_ROWS)] for number in range(PACKS)]
    packs = [[pack[0][: len(pack[0]) // 2] + text for text in pack] for pack in packs]
    values = [PackValues(PACK_ROWS, 0, None, distinct(pack)) for pack in packs]
    cases: list[tuple[ValueTest, list[bool]]] = []
    for number in range(TESTS):
        keys = sorted({*some(1 + number % 5), packs[int(rng.integers(PACKS))][0]})
        wanted = set(keys)
        asked: list[Values] = [
            byte_keys(keys),
            ByteRange(keys[0], keys[0] + b"\xff"),
            KeyBloom(bloom_words(hash_strings(byte_strings(keys)), 64)),
            key_cmap(byte_strings(keys)),
        ]
        between = [any(keys[0] <= text <= keys[0] + b"\xff" for text in pack) for pack in packs]
        there = [not wanted.isdisjoint(pack) for pack in packs]
        cases.append((ValueTest(asked[number % 4], exact=number % 4 < 2), between if number % 4 == 1 else there))
    for sketch in BYTE_KINDS:
        rows = sketched_values(values, "binary", sketch)
        rejected = 0
        for test, holds in cases:
            outcome = judged(rows, test)
            assert not (outcome.reject & np.array(holds)).any(), (sketch, test)
            rejected += int(outcome.reject.sum())
        assert rejected > PACKS * TESTS * 0.03, sketch


def distinct(texts: list[bytes]) -> ByteStrings:
    return byte_strings(sorted(set(texts)))
