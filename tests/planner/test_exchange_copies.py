"""Exchanges that are computed once for several uses carry the same filters in all of them, or none."""

from __future__ import annotations

from typing import Any

from tests.planner.plans import (
    Raw,
    answer_to,
    attr,
    broadcast,
    changed,
    column,
    computed,
    exchange,
    join,
    placed,
    project,
    reused,
    scan,
    sort,
    stage,
    union,
)

MORE: dict[str, Any] = {"build_side": None, "kind": "sort_merge_join"}


def fact(id: int) -> Raw:
    return scan("fact", column(id, "k"), column(id + 1, "v"), bytes=10**9)


def dim(id: int, name: str = "dim") -> Raw:
    return scan(name, column(id, "d"), column(id + 1, "e"), bytes=1_000)


def shared(child: Raw) -> Raw:
    """An exchange that is used twice."""
    return exchange(child, same=1)


def self_join(left: Raw, right: Raw) -> Raw:
    return join(sort(left), sort(right), [attr(left["output"][1])], [attr(right["output"][1])], **MORE)


def test_without_a_second_use_the_same_filter_is_placed() -> None:
    one_use = join(exchange(fact(10)), broadcast(dim(50)), [attr(10)], [attr(50)])
    assert placed(self_join(one_use, exchange(fact(20)))) == ["fact.k <- dim.d"]


def test_what_a_stage_shows_inside_does_not_make_two_uses_differ() -> None:
    """The second stage repeats the first one's broadcast, which is one node more; both lie before the scans of fact."""

    def use(n: int, ran: Raw) -> Raw:
        build = changed(stage(ran, rows=3, bytes=100, same=2), broadcast=True, shuffle=False)
        return shared(join(build, fact(10 * n), [attr(10 * n + 5)], [attr(10 * n)], build_side="left"))

    uses = [use(1, broadcast(dim(15))), use(2, reused(broadcast(dim(15)), output=[25, 26]))]
    assert placed(union([1, 2, 3, 4], *uses)) == ["fact.k <- dim.d"] * 2


def two_uses(second: Raw, second_key: Raw, second_build: Raw | None = None) -> Raw:
    """Two uses of one exchange, both filtered; the second as the arguments say."""
    first = join(shared(fact(10)), broadcast(dim(15), same=2), [attr(10)], [attr(15)])
    other = join(shared(fact(20)), second, [second_key], [second_build or attr(25)])
    return union([1, 2, 3, 4], first, other)


def test_uses_that_are_filtered_by_different_keys_are_filtered_neither() -> None:
    assert placed(two_uses(broadcast(dim(25), same=2), attr(20), attr(26))) == []
    assert placed(two_uses(broadcast(dim(25), same=2), attr(20), computed("(d#25 + 1)", refs=[25]))) == []


def test_computed_keys_are_compared_without_their_ids() -> None:
    arms = [
        join(
            shared(fact(10 * n)),
            broadcast(dim(10 * n + 5), same=2),
            [attr(10 * n)],
            [computed(f"(d#{10 * n + 5} + 1)", refs=[10 * n + 5])],
        )
        for n in (1, 2)
    ]
    assert len(placed(union([1, 2, 3, 4], *arms))) == 2


def test_renamed_keys_are_compared_by_what_they_are() -> None:
    plain = join(shared(fact(10)), broadcast(dim(15), same=2), [attr(10)], [attr(15)])
    renamed_dim = project(broadcast(dim(25), same=2), {"kind": "alias", "id": 99, "name": "x", "type": "int", "child": attr(25)})
    renamed = join(shared(fact(20)), renamed_dim, [attr(20)], [attr(99)])
    assert len(placed(union([1, 2, 3], project(plain, attr(10), attr(11), attr(15)), renamed))) == 2


def test_a_use_that_has_started_or_only_repeats_another_leaves_the_others_alone() -> None:
    first = join(shared(fact(10)), broadcast(dim(15)), [attr(10)], [attr(15)])
    for second in (stage(exchange(fact(20)), 5, same=1), reused(shared(fact(20)))):
        assert placed(union([1, 2], project(first, attr(10), attr(11)), second)) == []


def test_below_two_shared_exchanges_a_filter_must_stand_everywhere() -> None:
    inner = [
        exchange(join(fact(10 * n), broadcast(dim(10 * n + 5), same=2), [attr(10 * n)], [attr(10 * n + 5)]), same=3) for n in (1, 2)
    ]
    assert len(placed(union([1, 2, 3, 4], *(exchange(each, same=4) for each in inner)))) == 2
    plain = exchange(changed(inner[1], same=None), same=4)
    assert len(placed(union([1, 2, 3, 4], exchange(inner[0], same=4), plain))) == 2
    lonely = exchange(join(fact(30), broadcast(dim(35)), [attr(30)], [attr(35)]), same=3)
    assert placed(union([1, 2, 3, 4], *(exchange(each, same=4) for each in inner), lonely)) == []


def test_both_uses_get_their_tuples() -> None:
    uses = [
        join(
            shared(fact(10 * n)),
            broadcast(dim(10 * n + 5), same=2),
            [attr(10 * n), attr(10 * n + 1)],
            [attr(10 * n + 5), attr(10 * n + 6)],
        )
        for n in (1, 2)
    ]
    assert [each.keys for each in answer_to(union([1, 2, 3, 4], *uses)).placeholders] == [(0,), (1,), (0, 1)] * 2
