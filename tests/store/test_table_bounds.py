"""Files are judged before their packs, and packs in blocks: the verdict is that of all packs at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from rtfilter.store.bounds import table_bounds as module
from rtfilter.store.bounds.filters import EmptyFilter, KeyFilter
from rtfilter.store.bounds.table_bounds import Part, TableBounds, parts_of, table_bounds, table_might_match
from rtfilter.store.bounds.verdicts import might_match, pack_bounds
from rtfilter.store.parquet.byte_words import words_needed, words_of_strings
from rtfilter.store.parquet.key_values import NAN_KEY
from rtfilter.store.tables.footer_store import FooterStore
from rtfilter.store.tables.verdict import ColumnFilter
from tests.store.tables_at_hand import PATIENCE_S, loaded, write
from tests.store.test_random_files import TYPES, KeyType, filters_of, name_of, packs_of, write_with_arrow

# Bounds of a pack, or "unknown", or "all null"; and whether it may hold a null.
Pack: TypeAlias = tuple[tuple[Any, Any] | str, bool]


@contextlib.contextmanager
def blocks_of(packs: int) -> Iterator[list[int]]:
    """Blocks of so many packs, in parts of about two; gives the numbers of packs that are judged, in order."""
    judged: list[int] = []

    def counted(bounds: Any, keys: KeyFilter) -> Any:
        judged.append(len(bounds.unknown))
        return might_match(bounds, keys)

    with (
        mock.patch.object(module, "BLOCK_PACKS", packs),
        mock.patch.object(module, "PART_PACKS", 2 * packs),
        mock.patch.object(module, "might_match", counted),
    ):
        yield judged


def table_of(files: Sequence[Sequence[Pack]]) -> Part:
    packs = [pack for file in files for pack in file]
    is_text = any(isinstance(bounds[0], bytes) for bounds, _ in packs)
    nothing = (b"", b"") if is_text else (0, 0)
    ends = list(zip(*(nothing if isinstance(bounds, str) else bounds for bounds, _ in packs), strict=True)) or [(), ()]
    words = words_needed(max(map(len, ends[0] + ends[1]))) if is_text else 1
    lows, highs = (words_of_strings(end, words) if is_text else (np.array(end, dtype=np.int64),) for end in ends)
    has, null = (
        np.array([test(bounds) for bounds, _ in packs], dtype=np.bool_)
        for test in (lambda bounds: not isinstance(bounds, str), lambda bounds: bounds == "all null")
    )
    nulls = np.array([may for _, may in packs], dtype=np.bool_)
    return Part(np.array([len(file) for file in files], dtype=np.int32), lows, highs, has, null, nulls)


def made(files: Sequence[Sequence[Pack]], hidden: int | None = None) -> TableBounds:
    return table_bounds(parts_of(table_of(files)), hidden)


def numbers(first: int, count: int, width: int = 9) -> list[Pack]:
    return [((low, low + width), False) for low in range(first, first + 10 * count, 10)]


def keys_of(*values: int) -> KeyFilter:
    return filters_of(list(values), keep_nulls=False)[0]


def test_only_blocks_with_an_undecided_file_are_looked_into() -> None:
    with blocks_of(4) as judged:
        table = made([numbers(1000 * i, 4) for i in range(6)])
        kept = table_might_match(table, keys_of(3025))
        # The six files, and one block.
        assert np.flatnonzero(kept).tolist() == [14] and judged == [6, 4]


def test_where_files_settle_it_no_pack_is_looked_at() -> None:
    with blocks_of(4) as judged:
        table = made([numbers(1000 * i, 4) for i in range(6)])
        assert not table_might_match(table, keys_of(999, 2500, 7000)).any() and judged == [6]


def test_a_file_over_several_blocks_and_files_without_packs() -> None:
    with blocks_of(3) as judged:
        table = made([[], numbers(0, 2), numbers(1000, 7), [], numbers(2000, 3), []])
        assert np.flatnonzero(table_might_match(table, keys_of(1065, 2015))).tolist() == [8, 10]
        # The six files, and all four blocks: the file with 1065 is in three of them.
        assert judged == [6, 3, 3, 3, 3]
        judged.clear()
        assert np.flatnonzero(table_might_match(table, keys_of(5))).tolist() == [0] and judged == [6, 3]
        assert table_might_match(table, EmptyFilter(keep_nulls=True)).tolist() == [False] * 12


@pytest.mark.parametrize("files", [[], [[]], [[], []]])
def test_a_table_without_packs(files: list[list[Pack]]) -> None:
    table = made(files)
    assert table_might_match(table, keys_of(1)).tolist() == [] and table.unknown.tolist() == [] and table.value_span is None


def test_memory_is_what_is_said() -> None:
    files = 3_000
    table = made([numbers(100 * i, 100, width=5) for i in range(files)])
    assert len(table.blocks) > 1 and table.memory_bytes <= 18 * 100 * files + 40 * files + 100_000
    nulls = made([[(bounds, True) for bounds, _ in numbers(100 * i, 100)] for i in range(files)])
    assert 0 < nulls.memory_bytes - table.memory_bytes <= 101 * files + 1000


small = st.integers(-40, 40)
texts = st.one_of(st.binary(max_size=2), st.text("ab\x00", max_size=30).map(str.encode))


def files_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[list[Pack]]]:
    bounds = st.one_of(st.tuples(values, values).map(lambda pair: (min(pair), max(pair))), st.sampled_from(["unknown", "all null"]))
    plain = st.tuples(values, values).map(lambda pair: (min(pair), max(pair)))
    packs = st.tuples(st.one_of(plain, plain, plain, bounds), st.booleans())
    return st.lists(st.lists(packs, max_size=7), min_size=1, max_size=12)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.one_of(
        st.tuples(files_of(small), st.sets(small, max_size=8)),
        st.tuples(files_of(texts), st.sets(texts, min_size=1, max_size=6)),
    ),
    st.booleans(),
    st.integers(1, 5),
    st.sampled_from([None, NAN_KEY, 3]),
)
def test_it_is_the_verdict_of_all_packs_at_once(
    drawn: tuple[list[list[Pack]], set[Any]], keep_nulls: bool, packs: int, hidden: int | None
) -> None:
    files, keys = drawn
    is_text = any(isinstance(key, bytes) for key in keys)
    whole = table_of(files)
    if is_text != (whole.lows[0].dtype == np.uint64):
        return
    hidden = None if is_text else hidden
    flat = pack_bounds(whole.lows, whole.highs, whole.has_bounds, whole.all_null, whole.nulls, hidden)
    with blocks_of(packs) as judged:
        table = made(files, hidden)
        for form in [EmptyFilter(keep_nulls), *filters_of(sorted(keys), keep_nulls)]:
            judged.clear()
            assert table_might_match(table, form).tolist() == might_match(flat, form).tolist()
            event(f"leaves blocks alone: {0 < len(judged) <= len(table.blocks)}")
    assert table.unknown.tolist() == flat.unknown.tolist() and table.value_span == flat.value_span


@pytest.mark.parametrize("type", TYPES, ids=name_of)
def test_files_of_every_type_are_judged_alike_however_many_blocks_they_are_in(
    tmp_path_factory: pytest.TempPathFactory, type: KeyType
) -> None:
    """NaN, either zero, nulls, long strings; a file without statistics and one without the column too."""
    folder = tmp_path_factory.mktemp("files")
    rejected, in_blocks = 0, 0

    @settings(max_examples=8, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.lists(packs_of(type.values, 3), min_size=2, max_size=4), st.lists(type.values, max_size=3), st.booleans())
    def run(contents: list[Any], key_values: list[Any], keep_nulls: bool) -> None:
        nonlocal rejected, in_blocks
        paths = [folder / f"{i}.parquet" for i in range(len(contents))]
        for path, packs in zip(paths, contents, strict=True):
            write_with_arrow(path, type, packs)
        paths += [write(folder / "plain", {"a": [1, 2]}, write_statistics=False), write(folder / "other", {"b": [1, 2]})]
        forms = filters_of([type.key(value) for value in key_values], keep_nulls)
        verdicts = []
        for packs in (1 << 16, 2):
            store = FooterStore()
            try:
                with blocks_of(packs) as judged:
                    loaded(store, paths, "a")
                    found = store.verdict("t", [ColumnFilter("a", type.spark, form) for form in forms], wait_s=PATIENCE_S)
                    assert found is not None and not found.files_unknown
                    verdicts.append([mask.tolist() for mask in (*found.keep, *found.bounded)])
            finally:
                store.close()
        assert verdicts[0] == verdicts[1]
        rejected += sum(mask.count(False) for mask in verdicts[0][: len(forms)])
        in_blocks += len(judged) > 2 * len(forms)

    run()
    assert rejected > 10 and in_blocks
