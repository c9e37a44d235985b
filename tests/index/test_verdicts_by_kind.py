"""What each kind of sketch does reject and accept, and what it must leave open."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from rtfilter.errors import IndexDefinitionError
from rtfilter.store.sketches import cmap, histogram
from rtfilter.store.sketches.arrays import byte_strings
from rtfilter.store.sketches.bloom import bloom_bytes, bloom_words, chance_meetings, folded
from rtfilter.store.sketches.cmap import key_cmap
from rtfilter.store.sketches.column_tests import (
    AnyValue,
    BytePrefix,
    ByteRange,
    KeyBloom,
    LongKeys,
    NoValue,
    Values,
    ValueTest,
    byte_keys,
    long_keys,
    long_ranges,
)
from rtfilter.store.sketches.domain import BYTES, PackValues
from rtfilter.store.sketches.hashing import hash_longs, hash_strings
from rtfilter.store.sketches.histogram import key_histogram
from rtfilter.store.sketches.kinds import (
    Bloom,
    CMap,
    Histogram,
    MinMax,
    Sketch,
    ValueSet,
    check_type,
    sketch_from_dict,
    sketch_to_dict,
)
from rtfilter.store.sketches.rows import load_rows, sketch_schema
from tests.index.sketching import sketched, sketched_values, verdicts


def test_min_max_rejects_outside_its_bounds_and_accepts_within_a_range() -> None:
    rows = sketched([[1, 5], [10, 20], [10, None], [None], []], "int", MinMax("a"))
    assert verdicts(rows, ValueTest(long_ranges([(8, 30)]))) == ["reject", "accept", "partial", "reject", "reject"]
    assert verdicts(rows, ValueTest(long_keys([2, 3, 11]))) == ["partial", "partial", "reject", "reject", "reject"]
    assert verdicts(rows, ValueTest(long_keys([6, 9, 21]))) == ["reject"] * 5


def test_nulls_pass_only_where_they_are_asked_for() -> None:
    rows = sketched([[1], [1, None], [None]], "int", MinMax("a"))
    assert verdicts(rows, ValueTest(NoValue(), nulls=True)) == ["reject", "partial", "accept"]
    assert verdicts(rows, ValueTest(AnyValue())) == ["accept", "partial", "reject"]
    assert verdicts(rows, ValueTest(long_keys([9]), nulls=True)) == ["reject", "partial", "accept"]


def test_a_pack_without_a_sketch_stays_open_to_every_test() -> None:
    for sketch in (MinMax("a"), Bloom("a"), ValueSet("a"), Histogram("a")):
        rows = sketched_values([None], "int", sketch)
        for test in (ValueTest(NoValue()), ValueTest(AnyValue()), ValueTest(long_keys([1]), nulls=True)):
            assert verdicts(rows, test) == ["partial"]


def test_the_whole_span_of_int64_does_not_overflow() -> None:
    low, high = -(2**63), 2**63 - 1
    for sketch in (MinMax("a"), Histogram("a")):
        rows = sketched([[low, high]], "bigint", sketch)
        assert verdicts(rows, ValueTest(long_keys([low]))) == ["partial"]
        assert verdicts(rows, ValueTest(long_ranges([(low, low), (high, high)]))) == ["partial"]
    assert verdicts(sketched([[low, high]], "bigint", Histogram("a")), ValueTest(long_keys([0]))) == ["reject"]


def test_strings_longer_than_a_bound_are_compared_outward() -> None:
    text = "x" * 4096
    rows = sketched([[text + "a", text + "c"], ["y"]], "string", MinMax("a"))
    assert verdicts(rows, ValueTest(byte_keys([text.encode() + b"b"]))) == ["partial", "reject"]
    assert verdicts(rows, ValueTest(ByteRange(b"w", b"z"))) == ["partial", "accept"]


@pytest.mark.parametrize("alike", [31, 32, 64, 1000])
def test_min_max_tells_strings_apart_that_begin_alike(alike: int) -> None:
    text = "x" * alike
    rows = sketched([[text + "a", text + "c"], [text + "e"], [text + "g", "y"]], "string", MinMax("a"))
    start = text.encode()
    assert verdicts(rows, ValueTest(byte_keys([start + b"b", start + b"d"]))) == ["partial", "reject", "reject"]
    assert verdicts(rows, ValueTest(ByteRange(start + b"d", start + b"f"))) == ["reject", "accept", "reject"]


def test_min_max_of_an_index_that_cut_at_32_bytes() -> None:
    start = b"x" * 32
    old = {"rows": 2, "nulls": 0, "low": start, "high": start, "low_exact": False, "high_exact": False}
    new = {"rows": 1, "nulls": 0, "low": start + b"e" * 9, "high": start + b"e" * 9, "low_exact": True, "high_exact": True}
    batch = pa.RecordBatch.from_pylist([old, new], schema=sketch_schema(MinMax("a"), BYTES))
    for batches, count in (([batch], 2), ([batch.slice(0, 1)], 1)):
        rows = load_rows(MinMax("a"), BYTES, batches)
        assert verdicts(rows, ValueTest(byte_keys([start + b"zzz"]))) == ["partial", "reject"][:count]
        assert verdicts(rows, ValueTest(byte_keys([b"w", b"y"]))) == ["reject", "reject"][:count]
        assert verdicts(rows, ValueTest(ByteRange(start + b"a", None)))[0] == "partial"
        assert verdicts(rows, ValueTest(BytePrefix(start + b"a")))[0] == "partial"


def test_min_max_of_so_many_long_strings_that_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rtfilter.store.sketches.min_max._MOST_TOGETHER_BYTES", 1)
    start = "x" * 32
    rows = sketched([[start + "a", start + "c"], ["y"]], "string", MinMax("a"))
    assert verdicts(rows, ValueTest(byte_keys([start.encode() + b"d"]))) == ["partial", "reject"]
    assert verdicts(rows, ValueTest(ByteRange(b"w", b"z"))) == ["accept", "accept"]


def test_a_bloom_rejects_spread_keys_that_bounds_let_through() -> None:
    rng = np.random.default_rng(1)
    packs = [rng.integers(0, 10**9, 2000).tolist() for _ in range(200)]
    absent = [10**9 + 7 + i for i in range(3)]
    present = packs[17][3]
    rows = sketched([[*pack, 2 * 10**9] for pack in packs], "int", Bloom("a", 0.01))
    kept = [verdict != "reject" for verdict in verdicts(rows, ValueTest(long_keys(absent)))]
    assert sum(kept) <= 200 * 3 * 0.02 + 4
    found = verdicts(rows, ValueTest(long_keys([present])))
    assert found[17] == "partial" and found.count("reject") > 190


def test_a_bloom_has_the_false_positives_it_is_made_for() -> None:
    for fpp in (0.1, 0.01):
        values = np.arange(9_000, dtype=np.int64)
        rows = sketched_values([PackValues(9000, 0, values, None)], "bigint", Bloom("a", fpp))
        absent = np.arange(10**6, 10**6 + 2000)
        hits = sum(verdicts(rows, ValueTest(long_keys([value]))) == ["partial"] for value in absent.tolist())
        assert hits / 2000 < 1.8 * fpp


def test_a_bloom_is_as_large_as_the_formula_says() -> None:
    bits = -8 * 65_536 / math.log(1 - 0.01 ** (1 / 8))
    assert bits / 8 <= bloom_bytes(65_536, 0.01) < 2 * bits / 8
    assert bloom_bytes(65_536, 0.01) == 131_072 and bloom_bytes(0, 0.01) == 32


def test_too_many_keys_are_not_asked_of_a_bloom() -> None:
    rows = sketched([[1, 2, 3]], "int", Bloom("a", 0.5))
    assert verdicts(rows, ValueTest(long_keys(range(1000, 1010)))) in (["partial"], ["reject"])
    assert verdicts(rows, ValueTest(long_keys(range(1000, 1011)))) == ["partial"]


def test_a_folded_bloom_is_the_one_that_would_have_been_made_smaller() -> None:
    hashes = hash_longs(np.arange(500, dtype=np.int64) * 7919)
    large = bloom_words(hashes, 64)
    for blocks in (1, 2, 16, 64):
        assert folded(large, blocks).tolist() == bloom_words(hashes, blocks).tolist()


def test_two_blooms_without_a_common_key_reject_without_a_key_list() -> None:
    rows = sketched([[1, 2, 3], [900, 901], [5000]], "int", Bloom("a", 0.01))
    hashes = hash_longs(np.array([900, 7777], dtype=np.int64))
    assert verdicts(rows, ValueTest(KeyBloom(bloom_words(hashes, 64)), exact=False)) == ["reject", "partial", "reject"]


@pytest.mark.parametrize("blocks", [16, 64, 4096])
def test_two_blooms_of_any_size_meet_where_a_key_is_common(blocks: int) -> None:
    rng = np.random.default_rng(1)
    packs = [rng.integers(0, 10**9, size).tolist() for size in (5, 50, 500, 2000) for _ in range(50)]
    rows = sketched(packs, "int", Bloom("a", 0.01))
    chosen = [packs[3][0], packs[77][0], packs[199][0]]
    found = verdicts(rows, ValueTest(KeyBloom(bloom_words(hash_longs(np.array(chosen, dtype=np.int64)), blocks)), exact=False))
    assert all(found[at] == "partial" for at in (3, 77, 199))
    # Folded, a filter says less.
    assert found.count("reject") > (180 if blocks == 4096 else 40)


def test_a_full_bloom_is_not_held_against_others() -> None:
    rows = sketched([list(range(300))] * 3, "int", Bloom("a", 0.01))
    many = hash_longs(np.arange(10**6, 10**6 + 5000, dtype=np.int64))
    assert chance_meetings(bloom_words(many, 256), 0.01) > 100
    assert verdicts(rows, ValueTest(KeyBloom(bloom_words(many, 256)), exact=False)) == ["partial"] * 3


def test_a_bloom_meets_by_chance_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)
    asked = bloom_words(hash_longs(rng.integers(0, 2**40, 40)), 64)
    met = 0
    for _ in range(300):
        pack = bloom_words(hash_longs(rng.integers(2**41, 2**42, 64 * 256 // 10)), 64)
        met += int(((asked & pack).reshape(-1, 8) != 0).all(axis=1).sum())
    assert met / 300 <= 1.3 * chance_meetings(asked, 0.01)


def test_value_sets_are_held_against_a_bloom() -> None:
    asked = KeyBloom(bloom_words(hash_longs(np.array([900, 7777], dtype=np.int64)), 64))
    assert verdicts(sketched([[1, 2, 3], [900, 901]], "int", ValueSet("a")), ValueTest(asked, exact=False)) == ["reject", "partial"]
    texts = KeyBloom(bloom_words(hash_strings(byte_strings([b"blue"])), 64))
    rows = sketched([["red", "blue"], ["green"]], "string", ValueSet("a"))
    assert verdicts(rows, ValueTest(texts, exact=False)) == ["partial", "reject"]


def test_value_sets_reject_and_accept_exactly() -> None:
    packs: list[list[int | None]] = [[1, 9], [5], [1, 2, 3, 4, 5, 6], [5, None]]
    rows = sketched(packs, "int", ValueSet("a", 5))
    assert verdicts(rows, ValueTest(long_keys([5, 6]))) == ["reject", "accept", "partial", "partial"]
    assert verdicts(rows, ValueTest(long_ranges([(2, 8)]))) == ["reject", "accept", "partial", "partial"]
    texts = sketched([["red", "blue"], ["green"]], "string", ValueSet("a"))
    assert verdicts(texts, ValueTest(byte_keys([b"green", b"pink"]))) == ["reject", "accept"]
    assert verdicts(texts, ValueTest(BytePrefix(b"gr"))) == ["reject", "accept"]


def test_a_histogram_rejects_a_gap_that_bounds_cover() -> None:
    rows = sketched([[0, 1000], [0, 500, 1000]], "int", Histogram("a"))
    assert verdicts(rows, ValueTest(long_ranges([(2, 900)]))) == ["reject", "partial"]
    assert verdicts(rows, ValueTest(long_keys([7, 499, 501]))) == ["reject", "reject"]


def test_two_histograms_reject_whether_they_lie_alike_or_not() -> None:
    rows = sketched([[0, 1000], [0, 500, 1000], [500, 10_000_000]], "int", Histogram("a"))
    alike = key_histogram(np.array([0, 500, 1000], dtype=np.int64))
    assert verdicts(rows, ValueTest(alike, exact=False)) == ["partial", "partial", "partial"]
    shifted = key_histogram(np.array([400, 500, 600], dtype=np.int64))
    assert verdicts(rows, ValueTest(shifted, exact=False)) == ["reject", "partial", "partial"]


def test_a_character_map_rejects_where_bounds_do_not() -> None:
    packs = [["AAAA1", "AAAA9"], ["AAAA1", "AAAA5", "AAAA9"]]
    wanted = ValueTest(byte_keys([b"AAAA5", b"AAAA77"]))
    assert verdicts(sketched(packs, "string", MinMax("a")), wanted) == ["partial", "partial"]
    assert verdicts(sketched(packs, "string", CMap("a")), wanted) == ["reject", "partial"]


def test_a_character_map_knows_lengths_and_beginnings() -> None:
    rows = sketched([["http://a/1", "http://b/22"], ["ftp://x"], ["x" * 70, "y" * 90]], "string", CMap("a"))
    assert verdicts(rows, ValueTest(byte_keys([b"http://a/333"]))) == ["reject", "reject", "reject"]
    assert verdicts(rows, ValueTest(BytePrefix(b"http"))) == ["accept", "reject", "reject"]
    assert verdicts(rows, ValueTest(BytePrefix(b"http://b"))) == ["partial", "reject", "reject"]
    assert verdicts(rows, ValueTest(BytePrefix(b"http://c"))) == ["reject", "reject", "reject"]
    assert verdicts(rows, ValueTest(byte_keys([b"x" * 80]))) == ["reject", "reject", "partial"]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([b"item-7", b"item-8"], ["partial", "reject"]),
        ([b"item-"], ["reject", "reject"]),
        ([b"ite"], ["reject", "reject"]),
        ([b"item-71"], ["reject", "reject"]),
        ([b"item-7", b"other"], ["partial", "partial"]),
    ],
)
def test_two_character_maps_reject_without_a_key_list(keys: list[bytes], expected: list[str]) -> None:
    rows = sketched([["item-6", "item-7"], ["other", "odd"]], "string", CMap("a"))
    assert verdicts(rows, ValueTest(key_cmap(byte_strings(keys)), exact=False)) == expected


def test_string_hashes_and_number_hashes_fill_the_same_kind_of_filter() -> None:
    rows = sketched([["a", "b"], ["c"]], "string", Bloom("a"))
    other = KeyBloom(bloom_words(hash_strings(byte_strings([b"c"])), 1))
    assert verdicts(rows, ValueTest(other, exact=False))[1] == "partial"
    assert verdicts(rows, ValueTest(byte_keys([b"c"]))) == ["reject", "partial"]


def test_a_sketch_that_does_not_fit_a_type_says_which_does() -> None:
    with pytest.raises(IndexDefinitionError, match="use MinMax, Histogram"):
        check_type(CMap("a"), "int")
    with pytest.raises(IndexDefinitionError, match="use MinMax, Bloom or ValueSet"):
        check_type(Histogram("a"), "decimal(30,4)")
    with pytest.raises(IndexDefinitionError, match="can't be indexed"):
        check_type(MinMax("a"), "array<int>")
    with pytest.raises(IndexDefinitionError, match="fpp must be"):
        Bloom("a", fpp=1.5)


def test_sketches_come_back_from_their_dictionaries() -> None:
    for sketch in (MinMax("a"), Bloom("b", 0.02), CMap("c"), ValueSet("d", 7), Histogram("e")):
        assert sketch_from_dict(sketch_to_dict(sketch)) == sketch
    with pytest.raises(IndexDefinitionError, match="min_max"):
        sketch_from_dict({"kind": "minmax", "column": "a"})
    with pytest.raises(IndexDefinitionError, match="do not fit"):
        sketch_from_dict({"kind": "bloom", "column": "a", "fppp": 1})


def test_many_keys_are_held_against_a_histogram_part_by_part() -> None:
    """The one bucket in the middle that is set has a key of the first part, of none, or of the last."""
    packs = [[0, 10**6], [0, 30_000, 10**6]]
    missing = np.arange(2_000, 900_000, 70, dtype=np.int64)
    near = np.sort(np.append(missing, 30_000))
    rows = sketched(packs, "bigint", Histogram("a"))
    assert len(missing) > 2 * histogram._KEYS_AT_ONCE
    assert verdicts(rows, ValueTest(LongKeys(missing[missing > 33_000]))) == ["reject", "reject"]
    assert verdicts(rows, ValueTest(LongKeys(near))) == ["reject", "partial"]
    late = sketched([[0, 10**6], [0, 899_990, 10**6]], "bigint", Histogram("a"))
    assert verdicts(late, ValueTest(LongKeys(missing))) == ["reject", "partial"]


def test_many_keys_are_held_against_a_character_map_part_by_part() -> None:
    keys = [*(b"key-%06d" % i for i in range(10_000)), b"key-x"]
    rows = sketched([["key-x", "key-y"], ["key-p", "key-q"], ["no", "na"]], "string", CMap("a"))
    assert len(keys) > 2 * cmap._KEYS_AT_ONCE
    assert verdicts(rows, ValueTest(byte_keys(keys))) == ["partial", "reject", "reject"]
    assert verdicts(rows, ValueTest(byte_keys(keys[:-1]))) == ["reject", "reject", "reject"]


@pytest.mark.parametrize(
    ("sketch", "spark_type", "keys", "at_once"),
    [
        (Histogram("a"), "bigint", LongKeys(np.arange(400_000, dtype=np.int64)), 5),
        (Histogram("a"), "bigint", LongKeys(np.arange(3_000_000, dtype=np.int64)), 1),
        (CMap("a"), "string", byte_keys([b"a", b"b"]), 1_000_000),
        (Histogram("a"), "bigint", BytePrefix(b"a"), 2_000_000),
        (MinMax("a"), "bigint", LongKeys(np.arange(400_000, dtype=np.int64)), 2),
    ],
)
def test_how_many_packs_are_asked_about_between_two_looks_at_the_clock(
    sketch: Sketch, spark_type: str, keys: Values, at_once: int
) -> None:
    pack = [1, 2] if spark_type == "bigint" else ["a", "b"]
    assert sketched([pack, pack], spark_type, sketch).packs_at_once(ValueTest(keys)) == at_once
