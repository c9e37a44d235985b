"""From the probe key to its scan: what it passes through, and what stops it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planner.placement.answer import Candidate
from tests.planner.plans import (
    FACT,
    Raw,
    aggregate,
    ahead_of,
    alias,
    answer_to,
    attr,
    broadcast,
    cast,
    changed,
    coalesce_default,
    column,
    computed,
    exchange,
    expand,
    fact_with,
    generate,
    join,
    nodes_of,
    other,
    project,
    scan,
    sort,
    stage,
    union,
    where,
    window,
)

OTHER_DIM = scan("other", column(21, "o_key"), column(22, "o_ref"))
LARGE = scan("large", column(1, "f_key"), column(31, "l_key"), column(32, "l_ref"), bytes=100_000_000)


def placed_on(root: Raw) -> tuple[str, int]:
    """Table and expression id of the one placeholder of the top join, which must be there."""
    answer = answer_to(root)
    (placeholder,) = [each for each in answer.placeholders if each.join == 0]
    scan_node = nodes_of(root)[placeholder.scan]
    (column_id,) = placeholder.columns
    return scan_node["table"], column_id


def refused(root: Raw) -> Candidate:
    """The top join's one candidate, which must have no placeholder."""
    (candidate,) = [each for each in answer_to(root).candidates if each.join == 0]
    assert candidate.placeholder is None and candidate.decision == "skipped"
    assert all(each.join != 0 for each in answer_to(root).placeholders)
    assert candidate.detail.endswith(".")
    return candidate


class TestPasses:
    def test_a_key_that_is_a_scan_column(self) -> None:
        assert placed_on(fact_with(FACT)) == ("fact", 1)

    def test_a_projection_of_the_column(self) -> None:
        assert placed_on(fact_with(project(FACT, attr(1), attr(2)))) == ("fact", 1)

    def test_a_renamed_column(self) -> None:
        assert placed_on(fact_with(project(FACT, alias(5, attr(1))), attr(5))) == ("fact", 1)

    def test_a_column_renamed_twice_and_widened_in_between(self) -> None:
        inner = project(FACT, alias(5, cast("bigint", attr(1))))
        assert placed_on(fact_with(project(inner, alias(6, attr(5, type="bigint"))), attr(6, type="bigint"))) == ("fact", 1)

    def test_a_widening_cast_on_the_key_itself(self) -> None:
        assert placed_on(fact_with(FACT, cast("bigint", attr(1)))) == ("fact", 1)

    def test_a_chain_of_widening_casts(self) -> None:
        narrow = scan("fact", column(1, "f_key", "tinyint"))
        assert placed_on(fact_with(narrow, cast("bigint", cast("smallint", attr(1, type="tinyint"))))) == ("fact", 1)

    @pytest.mark.parametrize(
        "type",
        [
            *("tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "boolean", "float", "double"),
            *("decimal(7,2)", "decimal(38,10)", "string", "binary"),
        ],
    )
    def test_every_supported_type(self, type: str) -> None:
        assert placed_on(fact_with(scan("fact", column(1, "f_key", type)), attr(1, type=type))) == ("fact", 1)

    def test_a_deterministic_filter(self) -> None:
        assert placed_on(fact_with(where(FACT))) == ("fact", 1)

    def test_a_sort(self) -> None:
        assert placed_on(fact_with(sort(FACT))) == ("fact", 1)

    @pytest.mark.parametrize("join_type", ["Inner", "Cross", "LeftSemi", "LeftAnti", "ExistenceJoin(e#9)", "LeftOuter"])
    def test_the_streamed_left_side_of_another_broadcast_join(self, join_type: str) -> None:
        below = join(FACT, broadcast(OTHER_DIM), [attr(2, type="bigint")], [attr(21, type="bigint")], join_type)
        assert placed_on(fact_with(below)) == ("fact", 1)

    @pytest.mark.parametrize("join_type", ["Inner", "RightOuter"])
    def test_the_streamed_right_side_of_another_broadcast_join(self, join_type: str) -> None:
        keys = [attr(21, type="bigint")], [attr(2, type="bigint")]
        below = join(broadcast(OTHER_DIM), FACT, *keys, join_type=join_type, build_side="left")
        assert placed_on(fact_with(below)) == ("fact", 1)

    def test_an_exchange_which_makes_the_scan_wait(self) -> None:
        answer = answer_to(fact_with(exchange(LARGE)), cost="always")
        (placeholder,) = answer.placeholders
        assert (placeholder.gate, ahead_of(placeholder)) == (True, {"shuffle_bytes"})

    def test_the_build_side_of_a_broadcast_join_below_that_has_not_started(self) -> None:
        below = join(FACT, broadcast(LARGE), [attr(1)], [attr(31)])
        answer = answer_to(fact_with(below, attr(32)), cost="always")
        (placeholder,) = [each for each in answer.placeholders if each.join == 0]
        assert (placeholder.columns, placeholder.gate, ahead_of(placeholder)) == ((32,), True, {"broadcasts", "probes"})

    def test_a_null_aware_anti_join_below_on_its_streamed_side(self) -> None:
        below = join(FACT, broadcast(OTHER_DIM), [attr(2)], [attr(21)], "LeftAnti", null_aware=True)
        assert placed_on(fact_with(below)) == ("fact", 1)

    @pytest.mark.parametrize("kind", ["sort_merge_join", "shuffled_hash_join"])
    def test_either_side_of_an_inner_shuffled_join_without_an_exchange(self, kind: str) -> None:
        # Two bucketed tables: no exchange in between.
        side = "right" if kind == "shuffled_hash_join" else None
        below = join(sort(FACT), sort(OTHER_DIM), [attr(1)], [attr(21)], build_side=side, kind=kind)
        assert placed_on(fact_with(below, attr(2, type="bigint"))) == ("fact", 2)
        assert placed_on(fact_with(below, attr(22))) == ("other", 22)

    def test_the_copy_of_a_table_that_is_on_the_way_when_ids_are_not_unique(self) -> None:
        copy = scan("copy", column(1, "f_key"), column(2, "f_amount", "bigint"))
        root = other("Union", fact_with(FACT), fact_with(copy), output=[1])
        placed = answer_to(root).placeholders
        assert [nodes_of(root)[each.scan]["table"] for each in placed] == ["fact", "copy"]
        assert [nodes_of(root)[each.join]["kind"] for each in placed] == ["broadcast_hash_join"] * 2


class TestStops:
    def test_at_a_broadcast_below_that_has_started(self) -> None:
        below = join(FACT, stage(broadcast(OTHER_DIM), rows=3), [attr(1)], [attr(21)])
        assert refused(fact_with(below, attr(22))).reason == "ALREADY_STARTED"

    @pytest.mark.parametrize("op", ["HashAggregate", "GlobalLimit", "Generate", "Union", "Window", "Sample", "Expand"])
    def test_at_an_operator_and_names_it(self, op: str) -> None:
        candidate = refused(fact_with(other(op, FACT)))
        assert candidate.reason == "OPERATOR_IN_BETWEEN" and op in candidate.detail

    @pytest.mark.parametrize(
        ("join_type", "key"),
        [("LeftOuter", 22), ("RightOuter", 1), ("FullOuter", 1), ("FullOuter", 22)],
    )
    def test_at_the_null_supplying_side_of_an_outer_join(self, join_type: str, key: int) -> None:
        below = join(sort(FACT), sort(OTHER_DIM), [attr(1)], [attr(21)], join_type, build_side=None, kind="sort_merge_join")
        candidate = refused(fact_with(below, attr(key)))
        assert candidate.reason == "OPERATOR_IN_BETWEEN" and join_type in candidate.detail

    def test_at_the_streamed_side_of_an_outer_join_that_preserves_the_build_side(self) -> None:
        below = join(broadcast(OTHER_DIM), FACT, [attr(21)], [attr(1)], "LeftOuter", build_side="left")
        assert refused(fact_with(below)).reason == "OPERATOR_IN_BETWEEN"

    def test_at_a_projection_beside_something_not_deterministic(self) -> None:
        beside = project(FACT, attr(1), alias(5, computed("rand()", "double"), deterministic=False))
        assert refused(fact_with(beside)).reason == "NOT_DETERMINISTIC"

    def test_not_at_an_aggregate_that_depends_on_the_order_within_a_group(self) -> None:
        assert placed_on(fact_with(changed(aggregate(FACT, [attr(1)]), deterministic=False))) == ("fact", 1)

    def test_at_an_aggregate_that_puts_out_something_not_deterministic(self) -> None:
        random = alias(9, computed("rand()", "double", deterministic=False))
        assert refused(fact_with(aggregate(FACT, [attr(1)], [attr(1), random]))).reason == "NOT_DETERMINISTIC"

    def test_at_a_filter_that_is_not_deterministic(self) -> None:
        assert (
            refused(fact_with(where(FACT, computed("rand() < 0.5", "boolean", deterministic=False)))).reason == "NOT_DETERMINISTIC"
        )

    def test_at_a_key_that_is_not_deterministic(self) -> None:
        assert refused(fact_with(FACT, computed("cast(rand() * 9 as int)", deterministic=False))).reason == "NOT_DETERMINISTIC"

    def test_at_a_computed_key(self) -> None:
        candidate = refused(fact_with(FACT, computed("(f_key#1 + 1)", refs=[1])))
        assert candidate.reason == "NOT_A_PLAIN_COLUMN" and "f_key + 1" in candidate.detail

    def test_at_a_widening_cast_of_something_computed(self) -> None:
        assert refused(fact_with(FACT, cast("bigint", computed("(f_key#1 + 1)")))).reason == "NOT_A_PLAIN_COLUMN"

    @pytest.mark.parametrize(
        ("source", "target"),
        [
            ("bigint", "int"),
            ("int", "smallint"),
            ("string", "int"),
            ("decimal(9,0)", "bigint"),
            ("date", "int"),
            ("timestamp", "date"),
        ],
    )
    def test_at_a_cast_that_may_change_values(self, source: str, target: str) -> None:
        probe = scan("fact", column(1, "f_key", source))
        candidate = refused(fact_with(probe, cast(target, attr(1, type=source))))
        assert candidate.reason == "CAST_NOT_WIDENING" and source in candidate.detail and target in candidate.detail

    def test_at_a_narrowing_cast_below_a_widening_one(self) -> None:
        probe = project(scan("fact", column(1, "f_key", "bigint")), alias(5, cast("smallint", attr(1, type="bigint"))))
        assert refused(fact_with(probe, cast("int", attr(5, type="smallint")))).reason == "CAST_NOT_WIDENING"

    @pytest.mark.parametrize("type", ["string collate UTF8_LCASE", "interval day", "struct<a:int>", "void", "time(6)"])
    def test_at_a_key_of_another_type(self, type: str) -> None:
        candidate = refused(fact_with(scan("fact", column(1, "f_key", type)), attr(1, type=type)))
        assert candidate.reason == "KEY_TYPE" and type in candidate.detail

    @pytest.mark.parametrize("op", ["InMemoryTableScan", "LocalTableScan", "Range", "BatchScan"])
    def test_at_a_leaf_that_is_no_file_scan_and_names_it(self, op: str) -> None:
        candidate = refused(fact_with(other(op, output=[1])))
        assert candidate.reason == "NOT_A_FILE_SCAN" and op in candidate.detail

    def test_at_a_scan_that_lacks_the_column(self) -> None:
        assert refused(fact_with(scan("fact", column(2, "f_amount")))).reason == "NOT_A_PLAIN_COLUMN"


class TestOperators:
    """Each is put between the fact table and the join that filters it."""

    @pytest.mark.parametrize("results", [None, [attr(1), alias(9, computed("sum(f_amount)", "bigint"))]])
    def test_an_aggregate_that_groups_by_the_key(self, results: list[Raw] | None) -> None:
        assert placed_on(fact_with(aggregate(FACT, [attr(1)], results))) == ("fact", 1)

    def test_an_aggregate_that_renames_what_it_groups_by(self) -> None:
        renamed = aggregate(FACT, [alias(7, attr(1))], [alias(8, cast("bigint", attr(7)))])
        assert placed_on(fact_with(renamed, attr(8, type="bigint"))) == ("fact", 1)

    @pytest.mark.parametrize("partition", [[], [attr(2)], [computed("(f_key + 1)", refs=[1])], [coalesce_default(attr(1))]])
    def test_not_a_window_partitioned_by_something_else(self, partition: list[Raw]) -> None:
        assert refused(fact_with(window(FACT, partition, [60]))).reason == "OPERATOR_IN_BETWEEN"

    def test_not_a_union_whose_arms_have_other_columns(self) -> None:
        assert refused(fact_with(union([1], FACT))).reason == "NOT_A_PLAIN_COLUMN"

    @pytest.mark.parametrize(
        ("join_type", "key"), [("Inner", 1), ("Inner", 22), ("LeftSemi", 1), ("LeftAnti", 1), ("LeftOuter", 1)]
    )
    def test_a_join_without_keys(self, join_type: str, key: int) -> None:
        below = join(FACT, OTHER_DIM, [], [], join_type, kind="nested_loop_join", condition=computed("f_key > o_key", "boolean"))
        assert placed_on(fact_with(below, attr(key)))[1] == key

    @pytest.mark.parametrize(
        ("way", "ahead"),
        [
            (lambda child: child, set()),
            (lambda child: where(project(child, attr(1), attr(2))), set()),
            (sort, {"sorts"}),
            (lambda child: sort(window(child, [attr(1)])), {"sorts", "groups"}),
            (lambda child: aggregate(child, [attr(1)]), {"groups"}),
            (lambda child: join(child, broadcast(OTHER_DIM), [attr(2)], [attr(21)]), {"probes"}),
        ],
    )
    def test_all_that_is_on_the_way_lies_ahead(self, way: Callable[[Raw], Raw], ahead: set[str]) -> None:
        placeholders = [each for each in answer_to(fact_with(way(FACT))).placeholders if each.join == 0]
        assert [ahead_of(each) for each in placeholders] == [ahead]


class TestNullSafeKeys:
    PAIRS = (
        [coalesce_default(attr(1)), computed("isnull(f_key#1)", "boolean", [1])],
        [coalesce_default(attr(11)), computed("isnull(d_key#11)", "boolean", [11])],
    )

    def test_a_plain_key_drops_its_nulls(self) -> None:
        assert [each.keep_nulls for each in answer_to(fact_with(FACT)).placeholders] == [False]

    def test_nulls_are_kept_below_an_aggregate_and_a_projection(self) -> None:
        renamed = project(FACT, alias(7, coalesce_default(attr(1))))
        answer = answer_to(fact_with(aggregate(renamed, [attr(7)]), attr(7)))
        assert [each.keep_nulls for each in answer.placeholders] == [True]


class TestErrors:
    """A row that is dropped must not stop an error that Spark would have raised."""

    RAISES = computed("(1 / f_amount)", "int", [2], may_raise=True)

    @pytest.mark.parametrize(
        "way",
        [
            lambda child: where(child, TestErrors.RAISES),
            lambda child: project(child, attr(1), alias(7, TestErrors.RAISES)),
            lambda child: project(child, attr(1), alias(7, cast("smallint", TestErrors.RAISES))),
            lambda child: aggregate(child, [attr(1)], [attr(1), alias(7, TestErrors.RAISES)]),
            lambda child: window(child, [attr(1), TestErrors.RAISES]),
            lambda child: expand(child, _1=attr(1), _7=TestErrors.RAISES),
            lambda child: join(child, broadcast(OTHER_DIM), [attr(2)], [attr(21)], condition=TestErrors.RAISES),
            lambda child: join(child, broadcast(OTHER_DIM), [TestErrors.RAISES], [attr(21)]),
            lambda child: join(child, broadcast(OTHER_DIM), [attr(2)], [TestErrors.RAISES]),
            lambda child: changed(sort(child), may_raise=True),
            lambda child: changed(exchange(child), may_raise=True),
            lambda child: changed(generate(child, [60]), may_raise=True),
        ],
    )
    def test_nothing_goes_below_what_can_fail(self, way: Callable[[Raw], Raw]) -> None:
        assert refused(fact_with(way(FACT))).reason == "MAY_RAISE"

    def test_a_key_that_can_fail(self) -> None:
        assert refused(fact_with(FACT, attr(1, may_raise=True))).reason == "MAY_RAISE"

    def test_a_widening_cast_does_not_fail_whatever_is_said_of_casts(self) -> None:
        assert placed_on(fact_with(FACT, cast("bigint", attr(1), may_raise=True))) == ("fact", 1)

    def test_what_is_not_deterministic_deep_inside_is_not_either(self) -> None:
        inner = computed("rand()", "float", deterministic=False)
        assert refused(fact_with(project(FACT, attr(1), alias(7, cast("double", inner))))).reason == "NOT_DETERMINISTIC"
        assert refused(fact_with(changed(sort(FACT), deterministic=False))).reason == "NOT_DETERMINISTIC"
