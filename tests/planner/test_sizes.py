"""Estimated sizes, operator by operator."""

from __future__ import annotations

import pytest

from planner.cost.sizes import (
    BYTES_PER_COLUMN,
    BYTES_PER_VALUE,
    CONJUNCT_KEEPS,
    LEAST_SHARE,
    Estimates,
    Reduction,
    Size,
    share_kept,
)
from tests.planner.plans import (
    Raw,
    aggregate,
    attr,
    broadcast,
    column,
    exchange,
    join,
    merged,
    other,
    plan_of,
    project,
    scan,
    sort,
    stage,
    union,
    where,
)

FACT = scan("fact", column(1, "k"), column(2, "v"), bytes=1_000_000, columns_total=4)
DIM = scan("dim", column(11, "d"), bytes=10_000, columns_total=1)


def size(root: Raw) -> Size:
    found = Estimates(plan_of(root)).size_of(0)
    assert found is not None
    return found


def bytes_and_share(root: Raw) -> tuple[float, float]:
    found = size(root)
    return found.bytes, found.kept


def test_a_scan_is_its_files() -> None:
    assert size(FACT) == Size(1_000_000.0, (1_000_000 - 4 * BYTES_PER_COLUMN) / (4 * BYTES_PER_VALUE), 1.0)


def test_of_a_small_file_most_is_not_values() -> None:
    # TPC-H's region and nation, and a customer of ten: 5, 25 and 10 rows.
    for bytes, columns, most in ((1_598, 3, 100), (2_969, 4, 180), (4_000, 8, 80)):
        rows = size(scan("t", column(1, "k"), bytes=bytes, columns_total=columns)).rows
        assert bytes / columns / BYTES_PER_VALUE / 10 <= rows <= most


@pytest.mark.parametrize("word", list(CONJUNCT_KEEPS))
def test_a_conjunct_keeps_its_share(word: str) -> None:
    assert bytes_and_share(where(FACT, conjuncts=[word])) == pytest.approx((1_000_000 * CONJUNCT_KEEPS[word], CONJUNCT_KEEPS[word]))


def test_conjuncts_multiply_and_unknown_words_count_as_other() -> None:
    assert share_kept(["range", "range", "not_null"]) == pytest.approx(0.33**2)
    assert share_kept(["magic"]) == CONJUNCT_KEEPS["other"]
    assert share_kept(["eq"] * 100) > 0


def test_conjuncts_that_spark_has_pushed_into_the_scan_do_not_count_twice() -> None:
    pushed = scan("fact", column(1, "k"), bytes=1_000_000, filters=["not_null", "eq"])
    assert bytes_and_share(where(pushed, conjuncts=["not_null", "eq"])) == pytest.approx((50_000, 0.05))
    assert bytes_and_share(where(pushed, conjuncts=["not_null", "eq", "other"])) == pytest.approx((25_000, 0.025))
    assert bytes_and_share(where(pushed, conjuncts=["not_null"])) == pytest.approx((50_000, 0.05))
    assert bytes_and_share(pushed) == pytest.approx((50_000, 0.05))


def test_what_only_hands_rows_on_changes_nothing() -> None:
    for root in (
        sort(FACT),
        exchange(FACT),
        broadcast(project(FACT, attr(1))),
        other("LocalLimit", FACT),
        aggregate(FACT, [attr(1)]),
    ):
        assert bytes_and_share(root) == pytest.approx((1_000_000, 1.0))


def test_an_aggregate_of_all_rows_is_one_row() -> None:
    assert size(aggregate(FACT, [], [])).rows == 1.0


def test_a_union_is_the_sum() -> None:
    assert bytes_and_share(union([1], where(FACT, conjuncts=["eq"]), DIM)) == pytest.approx((60_000, 60_000 / 1_010_000))


def test_a_filtered_dimension_reduces_the_fact_by_its_share() -> None:
    dim = where(DIM, conjuncts=["in"])
    assert bytes_and_share(join(FACT, broadcast(dim), [attr(1)], [attr(11)])) == pytest.approx((100_000, 0.1))
    assert bytes_and_share(join(broadcast(dim), FACT, [attr(11)], [attr(1)], build_side="left")) == pytest.approx((100_000, 0.1))


def test_the_larger_table_is_the_fact_however_few_rows_are_left_of_it() -> None:
    few = where(FACT, conjuncts=["eq", "eq", "eq"])
    assert bytes_and_share(merged(few, DIM, [attr(1)], [attr(11)])) == pytest.approx((125, 0.000125))


@pytest.mark.parametrize(
    ("join_type", "bytes"),
    [
        ("LeftSemi", 100_000),
        ("LeftAnti", 1_000_000),
        ("LeftOuter", 1_000_000),
        ("ExistenceJoin(e#1)", 1_000_000),
        ("RightOuter", 1_000),
        ("FullOuter", 1_001_000),
    ],
)
def test_other_joins_keep_what_they_preserve(join_type: str, bytes: float) -> None:
    assert size(merged(FACT, where(DIM, conjuncts=["in"]), [attr(1)], [attr(11)], join_type=join_type)).bytes == pytest.approx(
        bytes
    )


def test_a_join_without_keys_is_not_reduced() -> None:
    dim = broadcast(where(DIM, conjuncts=["eq"]))
    assert bytes_and_share(join(FACT, dim, [], [], kind="nested_loop_join")) == pytest.approx((1_000_000, 1.0))


def test_a_finished_stage_is_known_exactly() -> None:
    found = size(stage(exchange(FACT), rows=24_970, bytes=123_456))
    # A million bytes of four columns are 99,880 rows.
    assert found == Size(123_456.0, 24_970.0, 0.25)


def test_a_broadcast_is_as_large_as_its_rows_not_as_its_hash_table() -> None:
    assert size(stage(broadcast(DIM), rows=1, bytes=64 << 20)).bytes < 100
    assert size(stage(exchange(DIM), rows=1, bytes=64 << 20)).bytes == 64 << 20
    assert size(stage(broadcast(DIM), rows=10**6, bytes=5_000)).bytes == 5_000


def test_conditions_of_a_stage_that_runs_count_once() -> None:
    pushed = scan("fact", column(1, "k"), bytes=1_000_000, filters=["not_null", "eq"])
    generated = other("WholeStageCodegen (1)", where(other("ColumnarToRow", other("InputAdapter", pushed)), conjuncts=["eq"]))
    assert bytes_and_share(stage(exchange(generated))) == pytest.approx((50_000, 0.05))
    below_a_limit = where(other("LocalLimit", pushed), conjuncts=["eq"])
    assert bytes_and_share(below_a_limit) == pytest.approx((2_500, 0.0025))


def test_a_stage_that_runs_still_is_estimated() -> None:
    assert bytes_and_share(stage(exchange(where(FACT, conjuncts=["eq"])))) == pytest.approx((50_000, 0.05))


def test_an_empty_stage_is_no_division_by_zero() -> None:
    assert size(stage(exchange(FACT), rows=0, bytes=0)).bytes == 0.0
    assert size(stage(exchange(scan("none", column(1, "a"), bytes=0)), rows=5, bytes=9)).kept == 1.0


def test_a_finished_stage_of_something_unknown_is_known_too() -> None:
    assert size(stage(exchange(other("Range", output=[1])), rows=7, bytes=70)) == Size(70.0, 7.0, 1.0)


def test_what_is_not_known_stays_unknown_until_it_meets_what_is() -> None:
    memory = other("InMemoryTableScan", output=[21])
    for root in (memory, sort(memory), union([1], memory, DIM), scan("t", column(1, "a"), bytes=None)):
        assert Estimates(plan_of(root)).size_of(0) is None
    assert bytes_and_share(merged(FACT, memory, [attr(1)], [attr(21)])) == pytest.approx((1_000_000, 1.0))


def test_a_reduction_counts_below_joins_that_are_not_part_of_the_estimate() -> None:
    plan = plan_of(merged(merged(FACT, DIM, [attr(1)], [attr(11)]), scan("day", column(21, "x")), [attr(2)], [attr(21)]))
    estimates = Estimates(plan)
    inner, fact = 3, 6
    before = estimates.size_of(inner)
    estimates.reduce(Reduction(fact, join=0, share=0.1, passed=0.1))
    after = estimates.size_of(inner)
    assert before is not None and after is not None and after.bytes == pytest.approx(before.bytes / 10)
    estimates.reduce(Reduction(fact, join=inner, share=0.1, passed=0.1))
    assert estimates.size_of(inner) == after


def test_of_filters_by_equal_keys_the_stricter_one_counts() -> None:
    plan = plan_of(FACT)

    def found(*placed: tuple[int, float, bool]) -> float:
        estimates = Estimates(plan)
        for column_id, share, across in placed:
            estimates.reduce(Reduction(0, -1, share, share, (column_id,), across))
        rows = estimates.rows_found(0)
        assert rows is not None
        return rows / size(FACT).rows

    assert found((1, 0.1, False), (1, 0.2, False)) == pytest.approx(0.02)
    assert found((1, 0.1, False), (1, 0.2, True)) == pytest.approx(0.1)
    assert found((1, 0.2, True), (1, 0.1, True)) == pytest.approx(0.1)
    assert found((1, 0.1, False), (2, 0.2, True)) == pytest.approx(0.02)


def test_other_filters_find_less_than_build_sides_are_reduced_by() -> None:
    estimates = Estimates(plan_of(sort(FACT)))
    estimates.reduce(Reduction(1, 0, share=1.0, passed=0.8))
    rows, above = estimates.rows_found(1), estimates.size_of(0)
    assert rows is not None and above is not None and rows == pytest.approx(0.8 * above.rows)


def test_however_many_filters_a_scan_has_some_of_it_is_left() -> None:
    estimates = Estimates(plan_of(FACT))
    for number in range(100):
        estimates.reduce(Reduction(0, -1, LEAST_SHARE, LEAST_SHARE, (number,)))
    rows = estimates.rows_found(0)
    assert rows is not None and rows > 0
