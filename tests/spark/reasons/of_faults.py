"""Reasons that no query shows by itself: something is done to the layer from outside."""

from __future__ import annotations

from tests.spark.reasons.of_joins import JOIN
from tests.spark.reasons.row import ALWAYS, SHUFFLED, Row, Scene

ALL_ON = {**SHUFFLED, **ALWAYS}


def plan_fails(scene: Scene) -> None:
    scene.faulty_host("if op == 'plan':\n    raise RuntimeError('made to fail')")


def first_plan_fails(scene: Scene) -> None:
    scene.faulty_host("if op == 'plan' and not kept:\n    kept[op] = True\n    raise RuntimeError('made to fail')")


def fill_fails(scene: Scene) -> None:
    scene.faulty_host("if op == 'fill':\n    raise RuntimeError('made to fail')")


def every_gate_closes_a_circle(scene: Scene) -> None:
    scene.faulty_host(
        "import planner.placement.gates as gates\nput(gates.WaitGraph, 'would_close_a_circle', lambda self, scan, source: True)"
    )


def any_exchange_is_a_source(scene: Scene) -> None:
    scene.faulty_host(
        "import planner.legality.joins as joins\n"
        "from planner.plan.nodes import Exchange, QueryStage\n"
        "def first_exchange(plan, join, side):\n"
        "    nodes = plan.subtree(join.child_of(side))\n"
        "    return next(n.id for n in nodes if isinstance(n, Exchange | QueryStage))\n"
        "put(joins, 'source_of', first_exchange)\n"
    )


OF_FAULTS = (
    Row("PLANNER_FAILED", JOIN, "the plan", runs=True, prepare=plan_fails, fault="the planner host fails at every plan"),
    Row("PLANNER_FAILED", JOIN, "the fill", runs=True, prepare=fill_fails, fault="the planner host fails at every fill"),
    Row(
        "ALREADY_STARTED",
        "select count(v) from (select /*+ broadcast(e) */ d.id from dim d join dim e on d.grp = e.id) x left join fact on x.id = k",
        conf=ALL_ON,
        runs=True,
        prepare=first_plan_fails,
        fault="the planner host fails at the first plan of the query: all scans have been looked at by then otherwise",
    ),
    Row(
        "WOULD_WAIT_IN_A_CIRCLE",
        JOIN,
        conf=ALL_ON,
        prepare=every_gate_closes_a_circle,
        fault="the planner finds a circle where none is: plans are trees, and copies of one exchange have the same filters or none",
    ),
    Row(
        "SOURCE_NOT_READY",
        "select 1 from (select k, max(v) m from fact group by k) join (select grp g, count(*) c from dim group by grp) on k = g",
        conf=ALL_ON,
        runs=True,
        prepare=any_exchange_is_a_source,
        fault="the planner takes an exchange below an aggregate for the build side",
    ),
)
