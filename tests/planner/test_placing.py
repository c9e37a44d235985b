"""Placeholders and candidates for whole plans."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType

import pytest

from planner.inputs.settings import PlanSettings
from planner.plan.snapshot import parse_snapshot
from planner.questions import place
from tests.planner.plans import (
    DIM,
    FACT,
    SNAPSHOTS,
    Raw,
    alias,
    answer_to,
    attr,
    broadcast,
    column,
    computed,
    exchange,
    fact_with,
    join,
    merged,
    nodes_of,
    only_candidate,
    other,
    project,
    read_snapshot,
    reused,
    scan,
    sort,
    stage,
    where,
)


class TestPlaceholders:
    def test_a_broadcast_join_gets_a_placeholder_on_its_probe_scan(self) -> None:
        answer = answer_to(fact_with(where(FACT)), max_keys=500)
        (placeholder,) = answer.placeholders
        assert placeholder.to_dict() == {
            "id": "d1.0",
            "join": 0,
            "keys": [0],
            "build_side": "right",
            "source": 3,
            "gate": False,
            "scan": 2,
            "columns": [1],
            "label": "dim.d_key",
            "kinds": "range,set,bloom",
            "max_keys": 500,
            "bloom_fpp": 0.01,
            "bloom_max_bytes": 67_108_864,
            "max_build_rows": 100_000,
            "holds_rows": 399_760,
            "ahead": {
                "scan_bytes": 12.0,
                "tested": 1.0,
                "shuffle_bytes": 0.0,
                "sorts": 0.0,
                "probes": 0.0,
                "row_probes": 0.0,
                "own_probes": 1.0,
                "own_row_probes": 0.0,
                "groups": 0.0,
                "broadcasts": 0.0,
                "broadcast_bytes": 0.0,
                "kept": 0.95,
                # 199,880 rows of a million bytes in two columns.
                "wait_ms": pytest.approx(8.4964),
                "spared_ns": 0.0,
                "join": 0,
                "key_share": None,
            },
            "keep_nulls": False,
        }
        (candidate,) = answer.candidates
        assert (candidate.placeholder, candidate.decision, candidate.reason) == ("d1.0", "planned", "PLANNED")
        assert (candidate.build, candidate.probe) == ("dim.d_key", "fact.f_key")
        assert (candidate.join_type, candidate.strategy) == ("inner", "broadcast")

    def test_every_key_of_a_join_gets_its_own(self) -> None:
        root = join(FACT, broadcast(DIM), [attr(1), attr(2, type="bigint")], [attr(11), attr(12, type="bigint")])
        answer = answer_to(root)
        assert [(each.id, each.keys, each.columns) for each in answer.placeholders] == [("d1.0", (0,), (1,)), ("d1.1", (1,), (2,))]

    def test_the_same_probe_column_with_two_build_columns_counts_twice(self) -> None:
        root = join(FACT, broadcast(DIM), [attr(1), attr(1)], [attr(11), attr(12)])
        assert len(answer_to(root).placeholders) == 2

    def test_the_same_pair_in_two_joins_counts_twice(self) -> None:
        assert len(answer_to(fact_with(fact_with(FACT))).placeholders) == 2

    def test_only_the_kinds_of_the_session_are_asked_for(self) -> None:
        assert answer_to(fact_with(FACT), kinds=("bloom", "set")).placeholders[0].kinds == ("set", "bloom")

    def test_max_keys_fit_the_int_of_the_bridge(self) -> None:
        assert answer_to(fact_with(FACT), max_keys=10**12).placeholders[0].max_keys == 2**31 - 1


class TestRefusals:
    @pytest.mark.parametrize(
        ("settings", "reason"),
        [
            ({"adaptive": False}, "ADAPTIVE_OFF"),
            ({"cost": "never"}, "COST_NEVER"),
        ],
    )
    def test_settings_that_rule_out_filters_skip_every_candidate(self, settings: dict[str, object], reason: str) -> None:
        shuffled = join(sort(exchange(DIM)), sort(exchange(FACT)), [attr(11)], [attr(1)], build_side=None, kind="sort_merge_join")
        answer = answer_to(other("Union", fact_with(FACT), shuffled, output=[1]), **settings)
        assert [(each.decision, each.reason) for each in answer.candidates] == [("skipped", reason)] * 2
        assert answer.placeholders == ()

    @pytest.mark.parametrize(
        ("join_type", "reason", "shown"),
        [
            ("LeftOuter", "PRESERVED_SIDE", "left_outer"),
            ("LeftAnti", "ANTI_JOIN", "left_anti"),
            ("ExistenceJoin(e#4)", "EXISTENCE_JOIN", "existence"),
            ("FullOuter", "FULL_OUTER_JOIN", "full_outer"),
        ],
    )
    def test_a_join_that_preserves_its_probe_side_gets_none(self, join_type: str, reason: str, shown: str) -> None:
        candidate = only_candidate(fact_with(FACT, join_type=join_type))
        assert (candidate.reason, candidate.placeholder, candidate.join_type) == (reason, None, shown)

    def test_a_join_that_only_repeats_another_is_left_to_itself(self) -> None:
        inner = exchange(fact_with(FACT))
        answer = answer_to(other("Union", inner, reused(inner), output=[1]))
        assert [each.join for each in answer.placeholders] == [2]
        assert len(answer.candidates) == 1


class TestKeyIds:
    def test_a_re_plan_that_picks_another_strategy_keeps_them(self) -> None:
        shuffled = merged(FACT, where(DIM, conjuncts=["eq"]), [attr(1)], [attr(11)])
        finished = merged(FACT, DIM, [attr(1)], [attr(11)])
        finished["children"][1] = sort(stage(exchange(DIM), 9, bytes=100))
        ids = {only_candidate(root).key_id for root in (fact_with(FACT), shuffled, finished)}
        assert ids == {"inner|1|11|fact.f_key#1"}

    def test_the_other_direction_has_another(self) -> None:
        small_fact = scan("fact", column(1, "f_key"), bytes=1_000)
        assert only_candidate(merged(small_fact, DIM, [attr(1)], [attr(11)])).key_id == "inner|1|11|dim.d_key#11"

    def test_other_keys_and_join_types_have_others(self) -> None:
        roots = [fact_with(FACT), fact_with(FACT, join_type="LeftSemi"), fact_with(FACT, computed("f(f_key#1)"))]
        assert len({only_candidate(root).key_id for root in roots}) == 3

    def test_the_same_plan_gives_the_same_answer(self) -> None:
        assert answer_to(fact_with(fact_with(FACT))) == answer_to(fact_with(fact_with(FACT)))


GOLDEN = sorted(path.stem for path in SNAPSHOTS.glob("*.json") if not path.name.endswith(".answer.json"))


@pytest.mark.parametrize("name", GOLDEN)
def test_the_answer_to_a_kept_snapshot(name: str, request: pytest.FixtureRequest) -> None:
    answer = place(parse_snapshot(read_snapshot(name)["nodes"]), PlanSettings("d1")).to_dict()
    expected = Path(SNAPSHOTS / f"{name}.answer.json")
    if request.config.getoption("--update-golden", default=False):
        expected.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")
    assert answer == json.loads(expected.read_text(encoding="utf-8"))


def test_there_are_kept_snapshots_with_and_without_filters() -> None:
    placed = [len(json.loads((SNAPSHOTS / f"{name}.answer.json").read_text(encoding="utf-8"))["placeholders"]) for name in GOLDEN]
    assert len(placed) >= 6 and max(placed) >= 3 and min(placed) == 0


def chain(joins: int) -> Raw:
    """A left-deep star join: every key is traced down the whole chain."""
    fact = scan("fact", *(column(i, f"k{i}") for i in range(joins)))
    probe = where(fact)
    for i in range(joins):
        dim = broadcast(where(scan(f"dim{i}", column(1000 + i, "key"), bytes=10_000)))
        joined = join(probe, dim, [attr(i, f"k{i}")], [attr(1000 + i, "key")])
        probe = project(joined, *(attr(each, f"k{each}") for each in range(i + 1, joins)), alias(5000 + i, attr(1000 + i)))
    return probe


def calls_to_plan(joins: int) -> int:
    """Calls of functions that planning a star join takes; what a clock says depends on what else the machine does."""
    nodes, calls = nodes_of(chain(joins)), 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        answer = place(parse_snapshot(nodes), PlanSettings("d1"))
    finally:
        sys.setprofile(None)
    assert len(nodes) == 5 * joins + 2 and len(answer.placeholders) == joins
    return calls


def test_a_large_plan_is_planned_in_few_steps() -> None:
    """Every key is traced down the whole chain, so twice the joins are at most four times the work."""
    large = calls_to_plan(60)
    assert large < 450_000 and large < 4 * calls_to_plan(30)
