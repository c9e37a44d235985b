"""What a request to plan makes of the session's settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.plan.errors import SnapshotError
from rtfilter.feedback.bounded_memory import Memory
from rtfilter.feedback.final_plans import MOST_TIMES
from rtfilter.host.fills import Message
from rtfilter.host.frames import Frame
from rtfilter.host.requests import Requests
from tests.planner.plans import DIM, FACT, Raw, attr, broadcast, column, exchange, join, merged, nodes_of, scan, stage, where


@pytest.fixture
def requests(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Requests:
    """A host that remembers nothing of other tests."""
    monkeypatch.setenv("RTFILTER_CACHE", str(tmp_path_factory.mktemp("cache")))
    return Requests()


def plan_request(requests: Requests, root: Raw, spark: Raw, execution: int | None = 1, **conf: object) -> Message:
    """The answer to a plan, the layer on; `conf`: `cost` or `feedback`."""
    names = {"enabled": "enabled", "feedback": "feedback.enabled", "cost": "cost"}
    entries = {f"rtfilter.{names[name]}": str(value).lower() for name, value in {"enabled": True, **conf}.items()}
    asked = {"op": "plan", "decision": "d1", "execution": execution, "conf": entries, "spark": spark, "nodes": nodes_of(root)}
    return requests.answer(Frame(asked))[0]


@pytest.mark.parametrize(
    ("spark", "cost", "reason"),
    [({}, "always", "PLANNED"), ({"reuse": False}, "always", "PLANNED"), ({"reuse": False}, "auto", "GATE_OFF")],
)
def test_without_reuse_a_build_side_that_would_run_twice_is_not_waited_for(
    requests: Requests, spark: Raw, cost: str, reason: str
) -> None:
    answer = plan_request(requests, merged(FACT, DIM, [attr(1)], [attr(11)]), spark, cost=cost)
    assert reason in {candidate["reason"] for candidate in answer["candidates"]}


def executed(requests: Requests, nodes: list[Raw], conf: dict[str, str]) -> Message:
    """The answer to the end of an execution without filters, whose plan ran as these nodes."""
    record = {"execution": 1, "session": "s", "description": None, "decisions": [], "fills": [], "scans": [], "row_filters": []}
    return requests.answer(Frame({"op": "executed", "conf": conf, "record": record, "plans": [nodes]}))[0]


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("feedback", [True, False])
def test_rows_that_a_finished_stage_told_count_in_the_next_plan(requests: Requests, feedback: bool, at_end: bool) -> None:
    """A re-plan tells them, or the plan as it has run: no re-plan comes after the last stages with scans."""

    def side(id: int, name: str, rows: int) -> Raw:
        asked = {"filters": ["eq", "eq"], "literals": name, "roots": [f"file:/{name}"]}
        return scan(name, column(id, "k"), column(id + 1, "v"), rows=rows, bytes=40 * rows, **asked)

    large, small = side(1, "large", 60_000_000), side(11, "small", 15_000_000)
    finished = [stage(exchange(large), 15_000_000, 10**8), stage(exchange(small), 500_000, 10**7)]

    def asked(root: Raw) -> tuple[list[str], bool]:
        answer = plan_request(requests, root, {"cores": 2}, feedback=feedback)
        return [candidate["reason"] for candidate in answer["candidates"]], answer.get("wants_end", False)

    query = merged(large, small, [attr(1)], [attr(11)])
    assert asked(query) == (["WAIT_DOES_NOT_PAY"], feedback)
    for root in finished:
        if at_end:
            assert executed(requests, nodes_of(root), {"rtfilter.feedback.enabled": str(feedback).lower()}) == {}
        else:
            asked(root)
    assert asked(query) == (["PLANNED" if feedback else "WAIT_DOES_NOT_PAY"], False)


def test_what_ends_do_not_tell_is_not_asked_for_for_ever(requests: Requests) -> None:
    def wants_end(execution: int | None, **more: object) -> bool:
        probe = scan("large", column(1, "k"), column(2, "v"), bytes=10**9, **{"literals": "x", "roots": ["file:/large"], **more})
        root = merged(probe, DIM, [attr(1)], [attr(11)])
        return bool(plan_request(requests, root, {}, execution, feedback=True).get("wants_end", False))

    assert [wants_end(None) for _ in range(MOST_TIMES)] == [False] * MOST_TIMES, "nothing ends that is not executed"
    assert [wants_end(execution) for execution in range(MOST_TIMES + 1)] == [True] * MOST_TIMES + [False]
    assert wants_end(9, literals="y")


def test_what_can_not_be_read_of_the_end_keeps_no_record_out_of_the_log(requests: Requests, tmp_path: Path) -> None:
    with pytest.raises(SnapshotError):
        executed(requests, [{"id": 7}], {"rtfilter.log.path": str(tmp_path / "log.jsonl")})
    assert (tmp_path / "log.jsonl").read_text().count("\n") == 1


@pytest.mark.parametrize("feedback", [True, False])
def test_a_broadcast_join_for_which_a_scan_has_waited_is_told_what_that_spared(requests: Requests, feedback: bool) -> None:
    large = scan("large", column(1, "k"), column(2, "v"), bytes=10**9)
    small = where(scan("small", column(11, "k"), column(12, "v"), bytes=10**8), conjuncts=["not_null", "eq"])
    turned = join(large, broadcast(stage(exchange(small), rows=100, bytes=5_000)), [attr(1)], [attr(11)])

    def spared_ns(root: Raw, execution: int | None = 1) -> float:
        (placeholder,) = plan_request(requests, root, {}, execution, feedback=feedback)["placeholders"]
        return float(placeholder["ahead"]["spared_ns"])

    assert spared_ns(turned) == 0.0
    assert spared_ns(merged(large, small, [attr(1)], [attr(11)])) == 0.0
    assert spared_ns(turned) > 0.0
    # Another query of the same views has the same ids of expressions, and has not waited.
    assert spared_ns(turned, execution=2) == 0.0


def test_outside_of_an_execution_no_wait_is_remembered(requests: Requests) -> None:
    large = scan("large", column(1, "k"), column(2, "v"), bytes=10**9)
    small = where(scan("small", column(11, "k"), column(12, "v"), bytes=10**8), conjuncts=["not_null", "eq"])
    turned = join(large, broadcast(stage(exchange(small), rows=100, bytes=5_000)), [attr(1)], [attr(11)])
    for root in (merged(large, small, [attr(1)], [attr(11)]), turned):
        (placeholder,) = plan_request(requests, root, {}, execution=None)["placeholders"]
        assert placeholder["ahead"]["spared_ns"] == 0.0


def test_of_seen_rows_the_longest_unused_are_forgotten() -> None:
    seen: Memory[int] = Memory(most=2)
    seen.tell({"a": 1, "b": 2})
    assert seen.get("a") == 1
    seen.tell({"c": 3})
    assert [seen.get(key) for key in "abc"] == [1, None, 3]
    seen.tell({"a": 7})
    assert seen.get("a") == 7
