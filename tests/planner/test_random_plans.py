"""Random plans on random rows: filters change no result, no stage waits for itself, and equal exchanges stay equal."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.inputs.settings import PlanSettings
from planner.placement.answer import FilterPlan
from planner.plan.nodes import Exchange, QueryStage
from planner.plan.tree import Plan
from planner.questions import place
from tests.cases_share import cases
from tests.planner.interpret import Run
from tests.planner.plans import ahead_of, plan_of
from tests.planner.random_plans import RandomPlan, random_plan

COSTS = ("always", "auto")


def planned(made: RandomPlan, cost: str) -> tuple[Plan, FilterPlan]:
    plan = plan_of(made.root)
    return plan, place(plan, PlanSettings("d1", cost=cost))


def stage_of(plan: Plan, node: int) -> object:
    """The exchange that ends the stage of a node; equal exchanges are one."""
    above = next((each for each in plan.ancestors(node) if isinstance(each, Exchange | QueryStage)), None)
    return "result" if above is None else named(above)


def named(node: Exchange | QueryStage) -> object:
    return node.id if node.same is None else f"same {node.same}"


def has_circle(plan: Plan, answer: FilterPlan) -> bool:
    """Whether stages can't be run in any order, by taking away what waits for nothing that is left."""
    waits: dict[object, set[object]] = defaultdict(set)
    for node in plan.nodes:
        if isinstance(node, Exchange | QueryStage):
            waits[stage_of(plan, node.id)].add(named(node))
            waits[named(node)] |= set()
    for placeholder in answer.placeholders:
        source = plan.nodes[placeholder.source]
        assert isinstance(source, Exchange | QueryStage)
        waits[stage_of(plan, placeholder.scan)].add(named(source))
    while ready := [stage for stage, on in waits.items() if not on & waits.keys()]:
        for stage in ready:
            del waits[stage]
    return bool(waits)


def check(made: RandomPlan, cost: str) -> tuple[Run, FilterPlan]:
    plan, answer = planned(made, cost)
    assert not has_circle(plan, answer)
    plain, filtered = Run(plan, made.tables), Run(plan, made.tables, answer.placeholders)
    assert filtered.result() == plain.result()
    equal: dict[int, Counter[tuple[int | None, ...]]] = {}
    for node in plan.nodes:
        if isinstance(node, Exchange) and node.same is not None:
            assert filtered.output_of(node.id) == equal.setdefault(node.same, filtered.output_of(node.id))
    for placeholder in answer.placeholders:
        assert not any(isinstance(above, QueryStage) for above in plan.ancestors(placeholder.scan))
        if not placeholder.gate:
            assert stage_of(plan, placeholder.scan) == stage_of(plan, placeholder.join)
    return filtered, answer


@settings(max_examples=cases(300), deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 4), st.sampled_from(COSTS))
def test_filters_change_no_result_and_no_stage_waits_for_itself(rnd: random.Random, depth: int, cost: str) -> None:
    check(random_plan(rnd, depth), cost)


@settings(max_examples=cases(50), deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(COSTS))
def test_the_same_plan_gives_the_same_answer(rnd: random.Random, cost: str) -> None:
    made = random_plan(rnd, 3)
    assert planned(made, cost)[1] == planned(made, cost)[1]


def test_the_random_plans_meet_what_they_are_for() -> None:
    seen: Counter[str] = Counter()
    for seed in range(900):
        made = random_plan(random.Random(seed), 3)
        run, answer = check(made, "always")
        seen["plans with rows dropped"] += run.dropped > 0
        seen["gates"] += any(each.gate for each in answer.placeholders)
        seen["composite filters"] += any(len(each.keys) > 1 for each in answer.placeholders)
        seen["shifts"] += any(each.shift is not None for each in answer.placeholders)
        seen["nulls kept"] += any(each.keep_nulls for each in answer.placeholders)
        seen.update({each.reason for each in answer.candidates})
        seen.update({f"ahead: {what}" for each in answer.placeholders for what in ahead_of(each)})
    wanted = {"plans with rows dropped": 150, "gates": 150, "composite filters": 20, "nulls kept": 20, "shifts": 40}
    wanted |= {"SHARED_EXCHANGE": 10, "ALREADY_STARTED": 20, "NULL_SAFE_PAIR": 20}
    wanted |= {"ahead: groups": 10, "ahead: probes": 10, "ahead: shuffle_bytes": 100, "ahead: sorts": 100}
    assert {what: seen[what] for what, least in wanted.items() if seen[what] < least} == {}


@pytest.mark.parametrize("cost", COSTS)
def test_a_deep_plan_is_no_different(cost: str) -> None:
    for seed in range(20):
        check(random_plan(random.Random(seed), 6), cost)
