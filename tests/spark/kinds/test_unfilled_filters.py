"""A filter counts as lost only where the plan that ran has a place for it."""

from __future__ import annotations

from rtfilter.report import FilterReport
from tests.spark.kinds.unfilled_filters import lost_filter

PROBE = "FileScan parquet [k#1] Location: InMemoryFileIndex(1 paths)[file:/tmp/f], ReadSchema: struct<k:int>"
BUILD = "FileScan parquet [k#2] Location: InMemoryFileIndex(1 paths)[file:/tmp/d], ReadSchema: struct<k:int>"


def filters(reason: str = "NOT_FILLED") -> list[FilterReport]:
    return [FilterReport("d1.0", None, "d.k", "f.k", "inner", "broadcast", "skipped", reason)]


def plan(left: str, right: str, above: str = "BroadcastHashJoin [k#1], [k#2], Inner") -> str:
    return f"{above}\n:- Project [k#1]\n:  +- {left}\n+- BroadcastQueryStage 0\n   +- BroadcastExchange\n      +- {right}"


def lost(plan_that_ran: str, reason: str = "NOT_FILLED", first: str = "") -> str:
    return lost_filter(filters(reason), plan_that_ran, first or plan_that_ran)


def test_a_scan_that_a_later_plan_reads_without_its_filter_is_a_loss() -> None:
    assert lost(plan(PROBE, BUILD)) == "lost filter: d1.0 d.k -> f.k"
    assert lost(plan(PROBE, BUILD), "APPLIED") == ""


def test_a_probe_side_that_came_to_be_broadcast_is_none() -> None:
    assert lost(plan(BUILD, PROBE)) == ""


def test_a_join_that_is_gone_is_none() -> None:
    assert lost(plan(PROBE, BUILD, "Union")) == ""
    assert lost(f"Project [k#1]\n+- {PROBE}") == ""


def test_tables_that_are_read_twice_are_passed_over() -> None:
    twice = f"Union\n:- {PROBE}\n+- Project\n   +- {plan(PROBE, BUILD)}"
    assert lost(twice) == ""


def test_a_table_of_which_one_scan_came_to_be_left_out_is_passed_over() -> None:
    twice = f"Union\n:- {PROBE}\n+- Project\n   +- {plan(PROBE, BUILD)}"
    assert lost(plan(PROBE, BUILD), first=twice) == ""
