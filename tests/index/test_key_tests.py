"""A filled filter of any form asks an index for the same values."""

from __future__ import annotations

import numpy as np
import pytest

from rtfilter.store.bounds.filters import BytesRangeFilter, BytesSetFilter, EmptyFilter, KeyFilter, SetFilter, filter_of_range
from rtfilter.store.index_reading.key_tests import test_of_filter as asked_of
from rtfilter.store.sketches.arrays import byte_strings
from rtfilter.store.sketches.kinds import Bloom, MinMax
from tests.index.sketching import sketched, verdicts

NUMBERS: list[list[int | None]] = [[1, 5], [7, None], [20, 30]]
TEXTS: list[list[str | None]] = [["a", "b"], ["k", None], ["x"]]


def texts(*values: bytes, keep_nulls: bool = False) -> KeyFilter:
    strings = byte_strings(values)
    return BytesSetFilter(strings.offsets, strings.blob, keep_nulls)


@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        (EmptyFilter(), [False, False, False]),
        (EmptyFilter(keep_nulls=True), [False, True, False]),
        (filter_of_range(6, 21), [False, True, True]),
        (SetFilter(np.array([5, 5, 6], dtype=np.int64)), [True, False, False]),
        (SetFilter(np.array([5, 5, 6], dtype=np.int64), keep_nulls=True), [True, True, False]),
    ],
)
def test_filters_of_numbers(keys: KeyFilter, kept: list[bool]) -> None:
    assert [each != "reject" for each in verdicts(sketched(NUMBERS, "int", MinMax("a")), asked_of(keys))] == kept


@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        (texts(b"b", b"xx"), [True, False, False]),
        (texts(b"b", keep_nulls=True), [True, True, False]),
        (BytesRangeFilter(b"j", b"y"), [False, True, True]),
    ],
)
def test_filters_of_byte_strings(keys: KeyFilter, kept: list[bool]) -> None:
    assert [each != "reject" for each in verdicts(sketched(TEXTS, "string", MinMax("a")), asked_of(keys))] == kept


def test_a_key_that_is_there_twice_does_not_make_a_pack_accepted() -> None:
    rows = sketched([[5, 7], [5, 6]], "int", MinMax("a"))
    assert verdicts(rows, asked_of(SetFilter(np.array([5, 5, 7], dtype=np.int64)))) == ["partial", "partial"]
    assert verdicts(sketched([[3]], "int", Bloom("a")), asked_of(SetFilter(np.array([3, 3], dtype=np.int64)))) == ["partial"]
