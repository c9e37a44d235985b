"""What the cases are made of: no kind of query, name, writer, event or setting may fall out of them unnoticed."""

from __future__ import annotations

import pytest

from tests.spark.kinds.case import ACTIONS, KINDS, Case, generate, world_of
from tests.spark.kinds.clauses import JOIN_KINDS
from tests.spark.kinds.files import AT_HAND, FOREIGN
from tests.spark.kinds.row_positions import VALUES
from tests.spark.kinds.table_events import CASES_PER_WORLD
from tests.spark.kinds.world import World, draw_world

# All of some worlds, one of many.
SEEDS = (*range(20 * CASES_PER_WORLD), *range(20 * CASES_PER_WORLD, 300 * CASES_PER_WORLD, CASES_PER_WORLD))
NAMES = {"plain", "dotted", "deep", "field", "cased", "odd"}
EVENTS = {"created", "added", "rewritten", "refreshed", "overwritten", "deleted", "optimized"}
SETTINGS = (
    *("rtfilter.cost", "rtfilter.kinds", "spark.sql.adaptive.enabled", "spark.sql.autoBroadcastJoinThreshold"),
    *("spark.sql.parquet.filterPushdown", "spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes"),
)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [generate(seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    return [draw_world(number) for number in range(200)]


def test_a_seed_is_always_the_same_case(cases: list[Case]) -> None:
    assert [generate(seed) for seed in SEEDS[:20]] == cases[:20]
    assert _as_text(draw_world(7)) == _as_text(draw_world(7)) != _as_text(draw_world(8))


def _as_text(world: World) -> str:
    """With the rows, which a world's own text leaves out; NaN equals itself here."""
    return f"{world} {[file.rows for table in world.tables for file in (*table.files, *table.extra)]}"


def test_the_cases_of_a_world_share_its_tables() -> None:
    assert all(world_of(seed) is world_of(0) for seed in range(CASES_PER_WORLD))
    assert world_of(CASES_PER_WORLD) is not world_of(0)


def test_every_kind_of_query_with_every_action_occurs(cases: list[Case]) -> None:
    assert {case.kind for case in cases} == set(KINDS)
    assert {case.action for case in cases} == {*ACTIONS, "split"}
    assert any(case.ordered for case in cases)
    assert {entry for case in cases for entry, _ in case.conf} >= set(SETTINGS)
    ansi = [dict(case.conf)["spark.sql.ansi.enabled"] for case in cases if case.kind == "raising"]
    assert ansi.count("true") > ansi.count("false") > 0


@pytest.mark.parametrize(
    "text", [*VALUES, *JOIN_KINDS, "raise_error", "cast(f.t as int)", "py_even", "arrow_next", "as n from f)", " offset "]
)
def test_queries_name(text: str, cases: list[Case]) -> None:
    assert any(text in case.query.sql for case in cases)


def test_names_and_life_differ_from_world_to_world(worlds: list[World]) -> None:
    assert {world.naming.style for world in worlds} == NAMES
    assert {event.what for world in worlds for event in world.life} == EVENTS
    assert {world.by_ddl for world in worlds} == {world.own_store for world in worlds} == {True, False}
    sketches = {sketch for world in worlds for event in world.life for sketch, _ in event.sketches}
    assert sketches == {"Bloom", "ValueSet", "MinMax", "Histogram", "CMap"}


def test_files_are_of_many_writers(worlds: list[World]) -> None:
    writers = {file.form.writer for world in worlds for table in world.tables for file in (*table.files, *table.extra)}
    assert writers == {*AT_HAND, *FOREIGN} and len(writers) >= 16


@pytest.mark.parametrize("type_", ["char(8)", "varchar(9)", "string collate UTF8_LCASE", "decimal(30,6)", "timestamp_ntz", "float"])
def test_a_type_occurs(type_: str, worlds: list[World]) -> None:
    assert any(type_ in world.table("f").types.values() for world in worlds)
