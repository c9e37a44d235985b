"""From a seed to a case: a world, the events before it, a conf, a query and what is done with its rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.spark.kinds.nested import nested
from tests.spark.kinds.plain_joins import plain_conditions, plain_join, split
from tests.spark.kinds.query import Query
from tests.spark.kinds.raising import raising
from tests.spark.kinds.row_order import by_order
from tests.spark.kinds.row_positions import by_place
from tests.spark.kinds.shifts import shifted
from tests.spark.kinds.table_events import CASES_PER_WORLD, Event
from tests.spark.kinds.udfs import through_python
from tests.spark.kinds.world import World, draw_world

# Kinds of queries and their weights.
KINDS: dict[str, tuple[int, Callable[[Random, World], Query]]] = {
    "plain join": (32, plain_join),
    "plain conditions": (8, plain_conditions),
    "by place": (9, by_place),
    "by order": (7, by_order),
    "shifted": (14, shifted),
    "python": (5, through_python),
    "raising": (10, raising),
    "nested": (18, nested),
    "split": (2, split),
}
ACTIONS = {
    "collect": 76,
    "cache": 4,
    "persisted twice": 3,
    "rdd": 3,
    "checkpoint": 2,
    "foreach": 3,
    "view twice": 3,
    "written": 2,
    "planned before": 2,
    "pruned": 4,
}


@dataclass(frozen=True)
class Case:
    """`events` are to happen before it, since the case before it. `conf` is for both runs; the layer's own entries are in it."""

    seed: int
    kind: str
    query: Query
    action: str
    conf: tuple[tuple[str, str], ...]
    events: tuple[Event, ...]

    @property
    def runs_twice(self) -> bool:
        """Whether the same rows may be computed twice at a time: then Spark itself names one failure or both, as it happens."""
        return (
            self.action in ("persisted twice", "view twice") or " union all " in self.query.sql or self.query.sql.startswith("with")
        )

    @property
    def ordered(self) -> bool:
        return self.query.ordered and self.action in ("collect", "cache", "pruned", "rdd", "planned before")


def generate(seed: int) -> Case:
    world = world_of(seed)
    place = seed % CASES_PER_WORLD
    rng = Random(f"case {seed}")
    kind = rng.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
    if kind == "plain conditions" and not _has_index(world, place):
        # The layer has no part in it.
        kind = "plain join"
    query = KINDS[kind][1](rng, world)
    action = rng.choices(list(ACTIONS), list(ACTIONS.values()))[0]
    if query.actions:
        action = rng.choice(query.actions)
    conf = dict(_conf(rng, kind))
    conf["spark.sql.caseSensitive"] = str(world.naming.case_sensitive).lower()
    conf.update(query.conf)
    events = tuple(event for event in world.life if event.before == place)
    return Case(seed, kind, query, action, tuple(sorted(conf.items())), events)


def _has_index(world: World, place: int) -> bool:
    changes = [event.what for event in world.life if event.before <= place and event.what in ("created", "deleted")]
    return bool(changes) and changes[-1] == "created"


def world_of(seed: int) -> World:
    return _world(seed // CASES_PER_WORLD)


@functools.lru_cache(maxsize=4)
def _world(number: int) -> World:
    return draw_world(number)


def _conf(rng: Random, kind: str) -> dict[str, str]:
    compiled = rng.random() < 0.08
    entries = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": rng.choice(["1", "2", "2", "3"]),
        "spark.sql.ansi.enabled": str(rng.random() < 0.85).lower(),
        "spark.sql.codegen.wholeStage": str(compiled).lower(),
        "spark.sql.codegen.factoryMode": "FALLBACK" if compiled else "NO_CODEGEN",
    }
    rare = [
        (0.2, "spark.sql.parquet.enableVectorizedReader", "false"),
        (0.4 if kind == "raising" else 0.12, "spark.sql.parquet.filterPushdown", "false"),
        (0.15, "spark.sql.files.maxPartitionBytes", rng.choice(["4096", "16384", "65536"])),
        (0.25, "spark.sql.files.openCostInBytes", rng.choice(["0", "1000"])),
        (0.5, "spark.sql.autoBroadcastJoinThreshold", rng.choice(["-1", "3000"])),
        (0.1, "spark.sql.adaptive.coalescePartitions.enabled", "false"),
        (0.04, "spark.sql.adaptive.enabled", "false"),
        (0.05, "spark.sql.optimizer.runtime.bloomFilter.enabled", "false"),
        (0.06, "spark.sql.subquery.reuse", "false"),
        (0.3, "rtfilter.kinds", rng.choice(["range", "set", "bloom", "range,bloom"])),
        (0.9, "rtfilter.cost", "always"),
        (0.1, "rtfilter.set.maxKeys", rng.choice(["0", "1", "5"])),
        (0.06, "rtfilter.gate.enabled", "false"),
        (0.06, "rtfilter.packs.enabled", "false"),
        (0.1, "rtfilter.keys.jobFromRows", "1"),
    ]
    return entries | {key: value for share, key, value in rare if rng.random() < share}
