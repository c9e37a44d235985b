"""Names of join keys for people."""

from __future__ import annotations

from planner.plan.labels import label_key
from planner.plan.nodes import Join
from tests.planner.plans import (
    DIM,
    FACT,
    Raw,
    alias,
    attr,
    broadcast,
    cast,
    computed,
    exchange,
    fact_with,
    join,
    other,
    plan_of,
    project,
    reused,
    stage,
    where,
)


def labels(root: Raw) -> tuple[str, str]:
    """The names of the left and the right key of the top join."""
    plan = plan_of(root)
    top = plan.nodes[0]
    assert isinstance(top, Join)
    return label_key(plan, top.left, top.left_keys[0]), label_key(plan, top.right, top.right_keys[0])


def test_a_key_is_named_by_table_and_column() -> None:
    assert labels(fact_with(where(FACT))) == ("fact.f_key", "dim.d_key")


def test_stages_exchanges_and_aggregates_do_not_hide_the_column() -> None:
    build = stage(broadcast(other("HashAggregate", stage(exchange(DIM), rows=3), output=[11])), rows=3)
    assert labels(join(FACT, build, [attr(1)], [attr(11)])) == ("fact.f_key", "dim.d_key")


def test_casts_and_new_names_do_not_hide_the_column() -> None:
    build = broadcast(project(DIM, alias(15, cast("bigint", attr(11)))))
    assert labels(join(FACT, build, [cast("bigint", attr(1))], [attr(15, type="bigint")])) == ("fact.f_key", "dim.d_key")


def test_a_reused_exchange_is_followed_although_its_ids_are_new() -> None:
    build = reused(broadcast(DIM), output=[31, 32])
    assert labels(join(FACT, build, [attr(1)], [attr(31)])) == ("fact.f_key", "dim.d_key")


def test_a_computed_key_is_named_by_its_text() -> None:
    assert labels(fact_with(FACT, computed("(f_key % 10)")))[0] == "(f_key % 10)"


def test_an_aggregate_that_makes_the_column_leaves_its_own_name() -> None:
    build = broadcast(other("HashAggregate", DIM, output=[40]))
    assert labels(join(FACT, build, [attr(1)], [attr(40, "max(d_key)")])) == ("fact.f_key", "max(d_key)")


def test_a_column_computed_below_leaves_its_own_name() -> None:
    build = broadcast(project(DIM, alias(15, computed("(d_key + 1)"), "next_key")))
    assert labels(join(FACT, build, [attr(1)], [attr(15, "next_key")]))[1] == "next_key"
