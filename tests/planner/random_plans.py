"""Random plans with data: every operator and join type of the snapshot, small tables, columns with nulls and few values.

Computed expressions are texts that `tests/planner/interpret.py` can carry out: `gt(#5,1)`, `plus(#5,1)`, `ne(#5,#6)`, `isnull(#5)`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.planner.plans import (
    Raw,
    aggregate,
    alias,
    attr,
    broadcast,
    cast,
    coalesce_default,
    column,
    computed,
    exchange,
    expand,
    generate,
    join,
    project,
    scan,
    shift,
    sort,
    stage,
    union,
    where,
    window,
)

Rows = list[tuple[int | None, ...]]
JOIN_TYPES = ("Inner", "Inner", "Inner", "LeftSemi", "LeftAnti", "LeftOuter", "RightOuter", "FullOuter", "ExistenceJoin(e)")
JOIN_KINDS = (
    *("broadcast_hash_join", "broadcast_hash_join", "broadcast_hash_join", "sort_merge_join", "sort_merge_join"),
    *("shuffled_hash_join", "nested_loop_join"),
)
# Ids of a copied subtree are moved by this much, so that they meet no others.
COPY_OFFSET = 10_000


@dataclass
class RandomPlan:
    """A nested plan and the rows of its tables."""

    root: Raw
    tables: dict[str, Rows]


@dataclass
class _Maker:
    rnd: random.Random
    tables: dict[str, Rows] = field(default_factory=dict)
    ids: int = 0
    groups: int = 0
    copies: int = 0

    def new_id(self) -> int:
        self.ids += 1
        return self.ids

    def pick(self, ids: list[int]) -> Raw:
        """A column, often the first: joins on one column after another share keys."""
        return attr(ids[0] if self.rnd.random() < 0.5 else self.rnd.choice(ids))

    def plan(self, depth: int) -> Raw:
        if depth == 0:
            return self.table()
        makers: list[Callable[[int], Raw]] = [self.joined, self.joined, self.joined, self.joined, self.filtered, self.projected]
        makers += [self.grouped, self.windowed, self.united, self.shuffled, self.generated, self.expanded, self.copied]
        return self.rnd.choice(makers)(depth - 1)

    def table(self) -> Raw:
        columns = [column(self.new_id(), f"c{i}") for i in range(self.rnd.randint(1, 3))]
        name = f"t{len(self.tables)}"
        values = (None, 0, 1, 2, 3, 4)
        self.tables[name] = [tuple(self.rnd.choice(values) for _ in columns) for _ in range(self.rnd.randint(0, 6))]
        return scan(name, *columns, bytes=10 ** self.rnd.randint(3, 9))

    def condition(self, ids: list[int]) -> Raw:
        if len(ids) > 1 and self.rnd.random() < 0.4:
            first, second = self.rnd.sample(ids, 2)
            return computed(f"ne(#{first},#{second})", "boolean", [first, second])
        id_ = self.rnd.choice(ids)
        return computed(f"gt(#{id_},{self.rnd.randint(0, 2)})", "boolean", [id_])

    def shifted(self, child: Raw) -> Raw:
        """By little: the values are few, and far from the ends of their type."""
        return shift(child, self.rnd.choice([1, 1, -1]), self.rnd.randint(-1, 4))

    def some(self, ids: list[int]) -> list[int]:
        """Some of the ids, seldom none."""
        return self.rnd.sample(ids, self.rnd.randint(0 if self.rnd.random() < 0.2 else 1, len(ids)))

    def filtered(self, depth: int) -> Raw:
        child = self.plan(depth)
        return where(child, self.condition(child["output"]), [self.rnd.choice(["eq", "range", "other"])])

    def projected(self, depth: int) -> Raw:
        child = self.plan(depth)
        exprs = []
        for id_ in self.rnd.sample(child["output"], self.rnd.randint(1, len(child["output"]))):
            made = self.rnd.random()
            if made < 0.4:
                exprs.append(attr(id_))
            elif made < 0.6:
                exprs.append(alias(self.new_id(), attr(id_)))
            elif made < 0.75:
                exprs.append(alias(self.new_id(), cast("bigint", attr(id_))))
            elif made < 0.9:
                exprs.append(alias(self.new_id(), self.shifted(attr(id_))))
            else:
                exprs.append(alias(self.new_id(), computed(f"plus(#{id_},1)", "int", [id_])))
        return project(child, *exprs)

    def grouped(self, depth: int) -> Raw:
        child = self.plan(depth)
        keys = [attr(id_) for id_ in self.some(child["output"])]
        return aggregate(child, keys, [*keys, alias(self.new_id(), computed("count(1)", "bigint"))])

    def windowed(self, depth: int) -> Raw:
        child = self.plan(depth)
        return window(child, [attr(id_) for id_ in self.some(child["output"])], [self.new_id()])

    def generated(self, depth: int) -> Raw:
        return generate(self.plan(depth), [self.new_id()])

    def expanded(self, depth: int) -> Raw:
        child = self.plan(depth)
        sources = {f"_{self.new_id()}": None if self.rnd.random() < 0.3 else attr(id_) for id_ in child["output"]}
        return expand(child, **sources)

    def united(self, depth: int) -> Raw:
        arms = [self.plan(depth) for _ in range(self.rnd.randint(2, 3))]
        width = min(len(arm["output"]) for arm in arms)
        arms = [project(arm, *map(attr, arm["output"][:width])) for arm in arms]
        return union([self.new_id() for _ in range(width)], *arms)

    def shuffled(self, depth: int) -> Raw:
        return self.exchanged(self.plan(depth), exchange)

    def exchanged(self, child: Raw, kind: Callable[[Raw], Raw]) -> Raw:
        made = kind(child)
        return stage(made, self.rnd.randint(0, 9), bytes=10 ** self.rnd.randint(2, 8)) if self.rnd.random() < 0.08 else made

    def copied(self, depth: int) -> Raw:
        """Both inputs of a join or a union are one exchange, computed once, with other ids in its second use."""
        first = exchange(self.plan(depth))
        self.name_groups(first)
        self.copies += 1
        second = _moved(first, COPY_OFFSET * self.copies)
        if self.rnd.random() < 0.5:
            return union([self.new_id() for _ in first["output"]], first, second)
        keys = [attr(first["output"][0])], [attr(second["output"][0])]
        return join(sort(first), sort(second), *keys, build_side=None, kind="sort_merge_join")

    def name_groups(self, node: Raw) -> None:
        if "same" in node and node["same"] is None:
            self.groups += 1
            node["same"] = self.groups
        for child in node["children"]:
            self.name_groups(child)

    def joined(self, depth: int) -> Raw:
        left, right = self.plan(self.rnd.randint(0, depth)), self.plan(self.rnd.randint(0, depth))
        if self.rnd.random() < 0.2:
            left, right = right, left
        kind = self.rnd.choice(JOIN_KINDS)
        join_type = self.rnd.choice(JOIN_TYPES)
        build_side = None if kind == "sort_merge_join" else self.rnd.choice(["left", "right"])
        left_keys, right_keys = self.keys(left, right) if kind != "nested_loop_join" else ([], [])
        null_aware = kind == "broadcast_hash_join" and join_type == "LeftAnti" and self.rnd.random() < 0.5
        if null_aware:
            left_keys, right_keys, build_side = [self.pick(left["output"])], [self.pick(right["output"])], "right"
        condition = None
        if not null_aware and self.rnd.random() < 0.25:
            condition = self.condition([*left["output"], *right["output"]])
        sides = self.sides(left, right, kind, build_side)
        made = join(*sides, left_keys, right_keys, join_type, build_side, kind, null_aware, condition)
        if join_type.startswith("Existence"):
            made["output"] = [*left["output"], self.new_id()]
        return made

    def keys(self, left: Raw, right: Raw) -> tuple[list[Raw], list[Raw]]:
        left_keys, right_keys = [], []
        for _ in range(self.rnd.choice([1, 1, 2])):
            one, two = self.key(left["output"]), self.key(right["output"])
            if self.rnd.random() < 0.2:
                left_keys += [coalesce_default(one), _is_null(one)]
                right_keys += [coalesce_default(two), _is_null(two)]
            else:
                left_keys.append(one)
                right_keys.append(two)
        return left_keys, right_keys

    def key(self, ids: list[int]) -> Raw:
        column = self.pick(ids)
        return self.shifted(column) if self.rnd.random() < 0.03 else column

    def sides(self, left: Raw, right: Raw, kind: str, build_side: str | None) -> tuple[Raw, Raw]:
        if kind in ("broadcast_hash_join", "nested_loop_join"):
            if build_side == "left":
                return self.exchanged(left, broadcast), right
            return left, self.exchanged(right, broadcast)
        one, two = (side if self.rnd.random() < 0.1 else self.exchanged(side, exchange) for side in (left, right))
        return (sort(one), sort(two)) if kind == "sort_merge_join" else (one, two)


def _is_null(key: Raw) -> Raw:
    """A column and what a shift makes of it are null together."""
    id_ = key["child"]["id"] if key["kind"] == "shift" else key["id"]
    return computed(f"isnull(#{id_})", "boolean", [id_])


def _moved(value: Any, offset: int) -> Any:
    """A copy of a subtree whose expression ids are all moved."""
    if isinstance(value, list):
        return [_moved(each, offset) for each in value]
    if not isinstance(value, dict):
        return value
    moved = {name: _moved(each, offset) for name, each in value.items()}
    if "id" in value:
        moved["id"] = value["id"] + offset
    for name in ("output", "refs"):
        if name in value:
            moved[name] = [id_ + offset for id_ in value[name]]
    if "text" in value:
        moved["text"] = re.sub(r"#(\d+)", lambda found: f"#{int(found[1]) + offset}", value["text"])
    return moved


def random_plan(rnd: random.Random, depth: int) -> RandomPlan:
    """A plan of up to `depth` operators above each other, below a join that is most often there."""
    maker = _Maker(rnd)
    root = maker.joined(depth) if rnd.random() < 0.8 else maker.plan(depth)
    return RandomPlan(root, maker.tables)
