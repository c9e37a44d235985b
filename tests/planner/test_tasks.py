"""How shuffles are cut that filters made smaller."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.decision.shuffle_tasks import LEAST_SHARE, ROUNDS, CutAlike, ReadShuffle, cut_again, wanted_tasks

MB = 1 << 20
ADVISORY = 64 * MB


def cut(*shuffles: ReadShuffle, tasks: int = 3, reducers: int = 200) -> CutAlike:
    each = sum(shuffle.bytes for shuffle in shuffles) // reducers
    return CutAlike(shuffles, (each,) * reducers, tasks, ADVISORY)


def kept(megabytes: int, rows: int = 1_000_000, dropped: int = 0) -> ReadShuffle:
    return ReadShuffle(megabytes * MB, rows, dropped)


def test_a_stage_keeps_the_tasks_that_the_dropped_rows_would_have_brought() -> None:
    # 192 MB of which one shuffle was 32 MB of 10 times that: 480 MB, so 7.5 tasks in place of 3.
    assert wanted_tasks(cut(kept(160), kept(32, 100_000, 900_000)), cores=16) == 7


@pytest.mark.parametrize("cores", [1, 2])
def test_no_more_than_some_rounds_of_tasks(cores: int) -> None:
    assert wanted_tasks(cut(kept(160), kept(32, 100, 999_900)), cores) == max(3, min(12, ROUNDS * cores))


def test_little_work_is_left_in_few_tasks() -> None:
    assert wanted_tasks(cut(kept(8, 10, 999_990), tasks=2), cores=16) == 2
    assert wanted_tasks(cut(kept(20, 10, 999_990), tasks=2), cores=16) == 20 / (64 * LEAST_SHARE)


@pytest.mark.parametrize("rows", [None, 0])
def test_unknown_rows_change_nothing(rows: int | None) -> None:
    assert cut_again(cut(ReadShuffle(640 * MB, rows, 1_000_000)), cores=8) is None


def test_without_dropped_rows_sparks_cut_stays() -> None:
    assert cut_again(cut(kept(640)), cores=8) is None


def test_no_bytes_no_change() -> None:
    assert cut_again(CutAlike((ReadShuffle(0, 0, 5),), (0,) * 20, 1, ADVISORY), cores=8) is None


def test_where_one_reducer_is_nearly_all_sparks_cut_stays() -> None:
    sizes = (1 * MB, 1 * MB, 160 * MB, 1 * MB, 1 * MB, 1 * MB)
    uneven = CutAlike((kept(165, 1_000, 999_000),), sizes, 3, ADVISORY)
    # It can't be parted, and those beside it are in no more tasks than they were.
    assert cut_again(uneven, cores=8) is None


@given(st.lists(st.integers(0, 64 * MB), min_size=1, max_size=50), st.integers(1, 12), st.integers(0, 10**7), st.integers(1, 16))
def test_a_cut_covers_every_reducer_once(sizes: list[int], tasks: int, dropped: int, cores: int) -> None:
    asked = CutAlike((ReadShuffle(sum(sizes), 1_000, dropped),), tuple(sizes), tasks, ADVISORY)
    ranges = cut_again(asked, cores)
    if ranges is not None:
        assert len(ranges) > tasks
        assert [number for first, end in ranges for number in range(first, end)] == list(range(len(sizes)))
        assert all(first < end for first, end in ranges)
        target = sum(sizes) / wanted_tasks(asked, cores)
        assert all(sum(sizes[first:end]) <= 2 * target + max(sizes) for first, end in ranges)
