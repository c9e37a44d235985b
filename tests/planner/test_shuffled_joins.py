"""Shuffled joins: which side builds, what it is read off, when a scan may wait for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.planner.plans import (
    Raw,
    aggregate,
    ahead_of,
    alias,
    answer_to,
    attr,
    broadcast,
    changed,
    column,
    computed,
    exchange,
    join,
    merged,
    nodes_of,
    only_candidate,
    other,
    placed,
    project,
    reasons,
    reused,
    scan,
    sort,
    stage,
    where,
    window,
)


def table(name: str, id: int, bytes: int | None = 10**9, **more: Any) -> Raw:
    """A table with the columns `k` and `v`, whose ids are `id` and `id + 1`."""
    return scan(name, column(id, "k"), column(id + 1, "v"), bytes=bytes, **more)


LARGE, SMALL = table("large", 1), table("small", 11, 10**6)


class TestDirection:
    def test_the_side_that_is_estimated_smaller_builds(self) -> None:
        assert placed(merged(LARGE, SMALL, [attr(1)], [attr(11)])) == ["large.k <- small.k"]
        assert placed(merged(SMALL, LARGE, [attr(11)], [attr(1)])) == ["large.k <- small.k"]

    def test_a_predicate_makes_a_side_the_smaller_one(self) -> None:
        twin = where(table("twin", 21), conjuncts=["not_null", "eq"])
        assert placed(merged(LARGE, twin, [attr(1)], [attr(21)])) == ["large.k <- twin.k"]
        assert placed(merged(twin, LARGE, [attr(21)], [attr(1)])) == ["large.k <- twin.k"]

    def test_only_one_of_two_legal_directions_is_considered(self) -> None:
        assert len(answer_to(merged(LARGE, SMALL, [attr(1)], [attr(11)]), cost="always").candidates) == 1

    @pytest.mark.parametrize(
        ("join_type", "expected"),
        [
            ("LeftOuter", {"large.k <- small.k": "PLANNED"}),
            ("LeftAnti", {"large.k <- small.k": "PLANNED"}),
            ("ExistenceJoin(e#5)", {"large.k <- small.k": "PLANNED"}),
            ("LeftSemi", {"large.k <- small.k": "PLANNED"}),
            ("RightOuter", {"small.k <- large.k": "BUILD_NOT_SMALLER"}),
            ("FullOuter", {"small.k <- large.k": "FULL_OUTER_JOIN"}),
        ],
    )
    def test_a_side_that_is_preserved_is_never_filtered(self, join_type: str, expected: dict[str, str]) -> None:
        assert reasons(merged(SMALL, LARGE, [attr(11)], [attr(1)], join_type=join_type)) == expected

    @pytest.mark.parametrize("build_side", ["left", "right"])
    def test_a_shuffled_hash_join_may_be_filtered_from_the_side_that_it_does_not_build(self, build_side: str) -> None:
        sides = exchange(LARGE), exchange(SMALL)
        root = join(*sides, [attr(1)], [attr(11)], build_side=build_side, kind="shuffled_hash_join")
        assert placed(root) == ["large.k <- small.k"]
        assert only_candidate(root).strategy == "shuffled_hash"


class TestSource:
    def test_it_is_the_exchange_below_the_sort(self) -> None:
        root = merged(LARGE, where(SMALL), [attr(1)], [attr(11)])
        (placeholder,) = answer_to(root).placeholders
        assert nodes_of(root)[placeholder.source]["op"] == "Exchange" and placeholder.source == 5
        assert (placeholder.gate, placeholder.build_side) == (True, "right")
        assert ahead_of(placeholder) == {"shuffle_bytes", "sorts"}

    @pytest.mark.parametrize("wrap", [lambda child: stage(exchange(child), 5, bytes=100), lambda child: reused(exchange(child))])
    def test_it_may_be_there_already(self, wrap: Any) -> None:
        root = join(sort(exchange(LARGE)), sort(wrap(SMALL)), [attr(1)], [attr(11)], build_side=None, kind="sort_merge_join")
        assert placed(root) == ["large.k <- small.k"]

    def test_columns_may_be_chosen_and_renamed_in_between(self) -> None:
        renamed = project(sort(exchange(SMALL)), alias(15, attr(11)))
        root = join(sort(exchange(LARGE)), renamed, [attr(1)], [attr(15)], build_side=None, kind="sort_merge_join")
        assert placed(root) == ["large.k <- small.k"]

    @pytest.mark.parametrize(
        "build",
        [
            sort(SMALL),
            sort(where(exchange(SMALL))),
            sort(project(exchange(SMALL), alias(11, computed("(k + 1)", refs=[11])))),
            sort(broadcast(SMALL)),
            sort(other("AQEShuffleRead", exchange(SMALL))),
        ],
    )
    def test_nothing_else_may_lie_in_between(self, build: Raw) -> None:
        sides = sort(exchange(LARGE)), build
        root = join(*sides, [attr(1)], [attr(11)], "RightOuter", build_side=None, kind="sort_merge_join")
        assert only_candidate(root).reason == "SOURCE_NOT_EXCHANGED"

    def test_a_broadcast_join_needs_a_broadcast(self) -> None:
        assert only_candidate(join(LARGE, exchange(SMALL), [attr(1)], [attr(11)])).reason == "SOURCE_NOT_EXCHANGED"

    @pytest.mark.parametrize(
        "build",
        [
            where(SMALL, computed("rand() < 0.1", "boolean", deterministic=False)),
            other("LocalLimit", SMALL),
            other("Sample", SMALL),
            other("TakeOrderedAndProject", SMALL),
            window(SMALL, [attr(11)]),
            changed(aggregate(SMALL, [attr(11)]), deterministic=False),
        ],
    )
    def test_a_shuffle_that_may_come_out_otherwise_when_it_is_repeated_builds_nothing(self, build: Raw) -> None:
        shuffled = merged(LARGE, build, [attr(1)], [attr(11)], join_type="RightOuter")
        assert only_candidate(shuffled).reason == "NOT_DETERMINISTIC"
        collected_once = join(LARGE, broadcast(build), [attr(1)], [attr(11)])
        assert only_candidate(collected_once).reason == "PLANNED"

    def test_a_finished_stage_may_come_out_otherwise_too(self) -> None:
        random = where(SMALL, computed("rand() < 0.1", "boolean", deterministic=False))
        build = sort(stage(exchange(random), 9, bytes=100))
        root = join(sort(exchange(LARGE)), build, [attr(1)], [attr(11)], build_side=None, kind="sort_merge_join")
        assert reasons(root) == {"large.k <- small.k": "NOT_DETERMINISTIC"}

    def test_a_build_key_that_is_not_deterministic(self) -> None:
        root = join(LARGE, broadcast(SMALL), [attr(1)], [computed("cast(rand() as int)", deterministic=False)])
        assert only_candidate(root).reason == "NOT_DETERMINISTIC"


class TestWaiting:
    def gate(self, build_bytes: int | None, probe_bytes: int | None, conjuncts: Sequence[str] = (), **settings: Any) -> str:
        build = where(table("build", 11, build_bytes), conjuncts=["not_null", *conjuncts])
        root = merged(table("probe", 1, probe_bytes), build, [attr(1)], [attr(11)], join_type="RightOuter")
        return only_candidate(root, **settings).reason

    def test_a_scan_does_not_wait_for_more_than_a_third_of_its_rows(self) -> None:
        assert self.gate(300 * 10**6, 900 * 10**6, conjuncts=["other"]) == "PLANNED"
        assert self.gate(604 * 10**6, 900 * 10**6, conjuncts=["other"]) == "BUILD_NOT_SMALLER"

    def test_a_scan_that_is_read_in_no_time_does_not_wait(self) -> None:
        assert self.gate(300, 900, conjuncts=["eq"]) == "WAIT_DOES_NOT_PAY"

    def test_a_scan_does_not_wait_for_keys_that_nearly_all_of_its_rows_have(self) -> None:
        # A quarter of the probe side's rows and no condition on it: orders without a predicate beside lineitem.
        assert self.gate(225 * 10**6, 900 * 10**6) == "WAIT_DOES_NOT_PAY"
        assert self.gate(225 * 10**6, 900 * 10**6, conjuncts=["range"]) == "PLANNED"

    @pytest.mark.parametrize(("build", "probe"), [(None, 900), (300, None), (None, None)])
    def test_it_does_not_wait_for_what_is_not_known(self, build: int | None, probe: int | None) -> None:
        assert self.gate(build, probe) == "BUILD_NOT_SMALLER"
        assert self.gate(build, probe, cost="always") == "PLANNED"

    def test_cost_always_lets_it_wait_for_anything(self) -> None:
        assert self.gate(10**9, 1, cost="always") == "PLANNED"

    def test_a_finished_stage_counts_with_what_it_really_has(self) -> None:
        # A fifth of 10^8 bytes are 2 * 10^7 rows.
        probe = table("large", 1, 10**8)
        for rows, reason in ((6 * 10**6, "PLANNED"), (7 * 10**6, "BUILD_NOT_SMALLER")):
            build = sort(stage(exchange(table("build", 11, 10**12)), rows=rows, bytes=rows))
            root = join(sort(exchange(probe)), build, [attr(1)], [attr(11)], build_side=None, kind="sort_merge_join")
            assert reasons(root) == {"large.k <- build.k": reason}

    def test_without_gates_only_what_need_not_wait_is_filtered(self) -> None:
        day = table("day", 31, 1_000)
        root = merged(join(LARGE, broadcast(day), [attr(2)], [attr(31)]), SMALL, [attr(1)], [attr(11)])
        expected = {"large.k <- small.k": "GATE_OFF", "large.v <- day.k": "PLANNED"}
        assert reasons(root, gate_enabled=False) == expected
        assert reasons(root, gate_enabled=False, cost="always") == expected

    @pytest.mark.parametrize(
        ("probe_bytes", "settings", "rows"),
        [
            (10**8, {}, round((10**8 - 600) / 5 / 3)),
            (10**6, {}, 100_000),
            (10**12, {}, 50_000_000),
            (10**9, {"cost": "always"}, 2**31 - 1),
        ],
    )
    def test_the_build_side_may_have_a_third_of_the_probe_sides_rows(self, probe_bytes: int, settings: Any, rows: int) -> None:
        # Two columns of 2.5 bytes make a row of 5, and 600 bytes beside the rows.
        root = join(table("probe", 1, probe_bytes), broadcast(where(table("b", 11, 10))), [attr(1)], [attr(11)])
        assert [each.max_build_rows for each in answer_to(root, **settings).placeholders] == [rows]

    @pytest.mark.parametrize(
        ("build_bytes", "settings", "rows"),
        [
            # A row of 5 bytes; the largest exchange of the build side is that below its aggregate.
            (10**7, {}, 2 * (10**7 - 600) // 5),
            (10**4, {}, 100_000),
            (10**7, {"cost": "always"}, 2**31 - 1),
        ],
    )
    def test_what_was_planned_holds_up_to_twice_the_rows_that_were_expected(
        self, build_bytes: int, settings: Any, rows: int
    ) -> None:
        counted = aggregate(exchange(table("build", 11, build_bytes)), [attr(12)], [attr(12), attr(11)])
        answer = answer_to(merged(LARGE, counted, [attr(1)], [attr(11)]), **settings)
        assert [each.holds_rows for each in answer.placeholders] == [rows]

    def test_a_broadcast_for_a_scan_of_unknown_size_may_have_many(self) -> None:
        root = join(table("probe", 1, None), broadcast(SMALL), [attr(1)], [attr(11)])
        assert [each.max_build_rows for each in answer_to(root).placeholders] == [50_000_000]


class TestChains:
    """sales x returns x day: one month reduces returns, which then are few enough to reduce sales."""

    def shape(self, day: Raw) -> Raw:
        sales, returns = table("sales", 1, 10**8), table("returns", 11, 4 * 10**7)
        return merged(merged(sales, returns, [attr(1)], [attr(11)]), day, [attr(12)], [attr(31)])

    def test_a_source_that_another_filter_reduces_counts_reduced(self) -> None:
        month = where(table("day", 31, 10**5), conjuncts=["eq"])
        assert reasons(self.shape(month)) == {"returns.v <- day.k": "PLANNED", "sales.k <- returns.k": "PLANNED"}

    def test_without_the_reduction_it_is_too_large(self) -> None:
        every_day = where(table("day", 31, 10**6))
        assert reasons(self.shape(every_day))["sales.k <- returns.k"] == "BUILD_NOT_SMALLER"

    def test_a_reduction_inside_the_source_counts_once(self) -> None:
        month = where(table("day", 31, 10**6), conjuncts=["range"])
        returns = join(table("returns", 11, 10**8), broadcast(month), [attr(12)], [attr(31)])
        # 0.33 of the rows is a third of them or less, 0.33 times 0.33 would be much less.
        for sales_bytes, reason in ((10**8, "PLANNED"), (9 * 10**7, "BUILD_NOT_SMALLER")):
            root = merged(table("sales", 1, sales_bytes), returns, [attr(1)], [attr(11)])
            assert reasons(root)["sales.k <- returns.k"] == reason

    def test_two_keys_of_one_join_reduce_once(self) -> None:
        month = where(table("day", 31, 10**6), conjuncts=["other"])
        sales, returns = table("sales", 1, 10**8), table("returns", 11, 9 * 10**7)
        root = merged(merged(sales, returns, [attr(1)], [attr(11)]), month, [attr(11), attr(12)], [attr(31), attr(32)])
        assert reasons(root)["sales.k <- returns.k"] == "BUILD_NOT_SMALLER"


class TestTuples:
    KEYS = [attr(1), attr(2)], [attr(11), attr(12)]

    def test_two_keys_on_one_scan_make_a_third_filter(self) -> None:
        answer = answer_to(merged(LARGE, SMALL, *self.KEYS))
        assert [(each.keys, each.columns, each.kinds) for each in answer.placeholders] == [
            ((0,), (1,), ("range", "set", "bloom")),
            ((1,), (2,), ("range", "set", "bloom")),
            ((0, 1), (1, 2), ("set", "bloom")),
        ]
        candidate = answer.candidates[-1]
        assert (candidate.build, candidate.probe, candidate.pairs) == ("small.k, small.v", "large.k, large.v", (0, 1))
        assert candidate.key_id == "inner|1|11&2|12|large.k#1,large.v#2"
        assert candidate.to_dict()["pairs"] == [0, 1] and answer.placeholders[-1].to_dict()["columns"] == [1, 2]
