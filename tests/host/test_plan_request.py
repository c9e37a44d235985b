"""What a request to plan makes of the session's settings."""

from __future__ import annotations

import pytest

from rtfilter.host.frames import Frame
from rtfilter.host.requests import Requests
from tests.planner.plans import DIM, FACT, attr, merged, nodes_of


@pytest.mark.parametrize(
    ("spark", "cost", "reason"),
    [({}, "always", "PLANNED"), ({"reuse": False}, "always", "PLANNED"), ({"reuse": False}, "auto", "GATE_OFF")],
)
def test_without_reuse_a_build_side_that_would_run_twice_is_not_waited_for(
    spark: dict[str, object], cost: str, reason: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RTFILTER_CACHE", str(tmp_path_factory.mktemp("cache")))
    conf = {"rtfilter.enabled": "true", "rtfilter.cost": cost}
    nodes = nodes_of(merged(FACT, DIM, [attr(1)], [attr(11)]))
    answer, _ = Requests().answer(Frame({"op": "plan", "decision": "d1", "conf": conf, "spark": spark, "nodes": nodes}))
    assert reason in {candidate["reason"] for candidate in answer["candidates"]}
