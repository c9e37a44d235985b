"""What is kept of indexes has a bound, and nothing that is in use goes for the sake of something else."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtfilter.store.index_files.index_problems import INDEX_TOO_LARGE, IndexProblemError
from rtfilter.store.index_reading import index_memory
from rtfilter.store.index_reading.index_memory import Held
from rtfilter.store.parquet.page_sizes import MOST_PAGES, unpacked_bytes


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60)), max_size=60), st.booleans())
def test_never_more_is_kept_than_the_bound(puts: list[tuple[int, int]], in_use: bool) -> None:
    with pytest.MonkeyPatch.context() as bound:
        bound.setattr(index_memory, "IN_USE_S", 1e9 if in_use else -1.0)
        kept: Held[int] = Held(100)
        there: dict[int, int] = {}
        for key, size in puts:
            before = dict(there)
            try:
                kept.put(key, size, size)
                there = {each: known for each in {*there, key} if (known := kept.get(each)) is not None}
                assert there[key] == size
                assert not in_use or {*before, key} == set(there), "what was in use has gone"
            except IndexProblemError as error:
                assert error.reason == INDEX_TOO_LARGE
                there.pop(key, None)
                assert size > 50 or (in_use and sum(there.values()) + size > 100)
            assert sum(there.values()) <= 100


def test_what_was_used_longest_ago_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_memory, "IN_USE_S", -1.0)
    kept: Held[str] = Held(100)
    for key in ("a", "b"):
        kept.put(key, key, 40)
    assert kept.get("a") == "a"
    kept.put("c", "c", 40)
    assert [kept.get(key) for key in ("a", "b", "c")] == ["a", None, "c"]
    kept.forget("a")
    kept.put("d", "d", 50)
    assert [kept.get(key) for key in ("a", "c", "d")] == [None, "c", "d"]


def chunk_of(values: Any, **options: Any) -> bytes:
    """The only column chunk of a file."""
    sink = io.BytesIO()
    pq.write_table(
        pa.table({"x": values}), sink, **{"use_dictionary": False, "compression": "zstd", "row_group_size": 10**9, **options}
    )
    column = pq.read_metadata(io.BytesIO(sink.getvalue())).row_group(0).column(0)
    begin = column.dictionary_page_offset or column.data_page_offset
    return sink.getvalue()[begin : begin + column.total_compressed_size]


@pytest.mark.parametrize(
    ("values", "options"),
    [
        (pa.array([0] * 3_000_000), {}),
        (pa.array(range(100_000)), {}),
        (pa.array([b"x" * 10_000] * 2_000), {"data_page_version": "2.0"}),
        (pa.array([True, None] * 1_000), {"data_page_version": "2.0"}),
        (pa.array([[7] * 1_000_000]), {"column_encoding": {"x.list.element": "DELTA_BINARY_PACKED"}}),
        (pa.array([], pa.int64()), {}),
    ],
)
def test_what_a_chunk_unpacks_to_is_known_before(values: Any, options: Mapping[str, Any]) -> None:
    chunk = chunk_of(values, **options)
    told = unpacked_bytes(chunk)
    assert values.nbytes <= told <= 3 * values.nbytes + 20_000
    assert len(values) < 1_000_000 or len(chunk) < told / 100


@pytest.mark.parametrize("options", [{"use_dictionary": True}, {"column_encoding": {"x": "DELTA_BYTE_ARRAY"}}])
def test_one_value_may_not_stand_for_many(options: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match="a page is none of an index's"):
        unpacked_bytes(chunk_of(pa.array([b"x" * 10_000] * 1_000), **options))


def test_very_many_pages_are_not_looked_at() -> None:
    small = chunk_of(pa.array(range(MOST_PAGES + 2)), data_page_size=1, write_batch_size=1)
    with pytest.raises(ValueError, match="more than 1000 pages"):
        unpacked_bytes(small)


@given(st.binary(max_size=200), st.integers(0, 300))
def test_rubbish_is_refused_or_has_a_size(rubbish: bytes, at: int) -> None:
    good = chunk_of(pa.array(range(100)))
    for chunk in (rubbish, good[:at] + rubbish + good[at + len(rubbish) :]):
        try:
            assert unpacked_bytes(chunk) >= 0
        except ValueError:
            continue
