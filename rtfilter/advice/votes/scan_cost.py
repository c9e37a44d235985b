"""Strategy `estimate`, one query: what its conditions cost to check, and which columns with an index would make that cheaper.

The cost of a query is the columns that it scans: one for a leaf, less for a leaf that others of an AND stand before. Where a
statistics file has bytes, a column costs its bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import IntEnum

from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.votes.selectivity import leaf_share
from rtfilter.advice.workload.predicates import BY_VALUE, And, Leaf, Not, Operator, Or, Predicate

NONE: frozenset[str] = frozenset()
# Of the best alternative's saving, from which on another one is kept beside it.
EXCLUSIVE_SHARE = 0.8
# What a further index must save: column scans, or a share of the query's bytes.
STEP = 0.6


class Turn(IntEnum):
    """When a part of an AND is checked."""

    INDEXED = 0
    AND = 1
    OR = 2
    SCAN = 3
    EXPRESSION = 4


# With an index among them scans come before what is nested, since they can work on the index's rows.
BESIDE_AN_INDEX = {Turn.INDEXED: 0, Turn.SCAN: 1, Turn.AND: 2, Turn.OR: 3, Turn.EXPRESSION: 4}


class Role(IntEnum):
    """What an index can make of a part: rows already, rows by an index on its column, nothing of a leaf, nothing of a tree."""

    ROWS = 0
    CANDIDATE = 1
    SCAN = 2
    NESTED = 3


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a predicate: its cost, its cost with indexes on `columns`, and the share of rows that it lets through."""

    columns: frozenset[str]
    turn: Turn
    role: Role
    cost: float
    indexed_cost: float
    share: float

    @property
    def becomes_rows(self) -> bool:
        return self.role in (Role.ROWS, Role.CANDIDATE)


@dataclass(frozen=True, slots=True)
class Alternative:
    """Indexes on `columns` bring a query down to `cost`."""

    columns: frozenset[str]
    cost: float


@dataclass(frozen=True, slots=True)
class Vote:
    """Alternatives of which one counts; the one without columns is what the query costs as it is. `bare_cost`: what it would cost
    without the indexes that exist. `share`: the rows that it lets through."""

    alternatives: tuple[Alternative, ...]
    share: float
    bare_cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Pricing:
    """How a table's parts are priced. `with_existing`: whether indexes count that the statistics say are there."""

    table: TableStatistics
    with_existing: bool = True
    exclusive_share: float = EXCLUSIVE_SHARE
    step: float = STEP

    def scan(self, column: str) -> float:
        """What scanning a column costs; one that the statistics lack costs as much as others do."""
        found = self.table.column(column)
        if self.table.has_bytes:
            return float((self.table.bytes or 0) / len(self.table.columns) if found is None else found.bytes or 0)
        return 1.0 if found is None else found.entries_per_row

    def has_index(self, column: str, *kinds: str) -> bool:
        found = self.table.column(column)
        return self.with_existing and found is not None and (found.index in kinds or found.sorted_share >= 1)

    def step_of(self, cost: float) -> float:
        return self.step * (cost if self.table.has_bytes else 1.0)


def votes_of(predicate: Predicate | None, pricing: Pricing) -> list[Vote]:
    """The votes of a query: one, or one for each arm of an OR at the top."""
    if predicate is None:
        return []
    if isinstance(predicate, Or):
        return [vote for child in predicate.children for vote in votes_of(child, pricing)]
    if isinstance(predicate, And):
        vote = vote_of_parts([price(child, pricing, 1) for child in predicate.children], pricing)
    else:
        vote = _vote_of_leaf(predicate, pricing)
    return [replace(vote, bare_cost=price(predicate, replace(pricing, with_existing=False), 0).cost)]


def _vote_of_leaf(predicate: Predicate, pricing: Pricing) -> Vote:
    part = price(predicate, pricing, 0)
    as_it_is = Alternative(NONE, part.cost)
    with_index = (Alternative(part.columns, part.indexed_cost),) if part.columns and part.becomes_rows else ()
    return Vote((*with_index, as_it_is), part.share)


def vote_of_parts(parts: list[Part], pricing: Pricing) -> Vote:
    """The vote of an AND at the top, its parts in the order written."""
    parts = in_turn(parts)
    before = _costs_in_place(parts)
    total, share = math.fsum(before), math.prod(part.share for part in parts)
    firsts = sorted(
        (
            (part.share * math.fsum(before[:i]) + math.fsum(before[i + 1 :]) + part.indexed_cost, i)
            for i, part in enumerate(parts)
            if part.columns
        ),
        key=lambda first: (first[0], sorted(parts[first[1]].columns)),
    )
    kept: list[Alternative] = []
    if firsts:
        enough = pricing.exclusive_share * (total - firsts[0][0])
        kept = [Alternative(parts[i].columns, cost) for cost, i in firsts if total - cost >= enough]
        kept += _steps(parts, firsts, total, pricing)
    return Vote((*kept, Alternative(NONE, total)), share)


def _steps(parts: list[Part], firsts: list[tuple[float, int]], total: float, pricing: Pricing) -> list[Alternative]:
    """The best one with the second, with the third …, while each step saves enough."""
    found: list[Alternative] = []
    (previous, first), *others = firsts
    picked = [first]
    for _, i in others:
        picked.append(i)
        share, costs = math.prod(parts[j].share for j in picked), [parts[j].indexed_cost for j in picked]
        for j, part in enumerate(parts):
            if j not in picked:
                costs.append(part.cost * share)
                share *= part.share
        now = math.fsum(costs)
        if not previous - now > pricing.step_of(total):
            break
        found.append(Alternative(frozenset().union(*(parts[j].columns for j in picked)), now))
        previous = now
    return found


def _costs_in_place(parts: list[Part]) -> list[float]:
    costs, share = [], 1.0
    for part in parts:
        costs.append(part.cost * share)
        share *= part.share
    return costs


def in_turn(parts: list[Part]) -> list[Part]:
    """The parts of an AND in the order in which they are checked; in one class the order written."""
    if any(part.turn is Turn.INDEXED for part in parts):
        return sorted(parts, key=lambda part: BESIDE_AN_INDEX[part.turn])
    return sorted(parts, key=lambda part: part.turn)


def price(predicate: Predicate, pricing: Pricing, level: int) -> Part:
    """A predicate as a part. `level`: how many ANDs and ORs stand around it."""
    match predicate:
        case Leaf():
            return _price_leaf(predicate, pricing)
        case Not(child):
            part = price(child, pricing, level)
            # Pinot takes it for the share of what is negated.
            return replace(part, share=1.0 - part.share)
        case And(children):
            return _price_and([price(child, pricing, level + 1) for child in children], level)
        case Or(children):
            return _price_or([price(child, pricing, level + 1) for child in children])


def _price_leaf(leaf: Leaf, pricing: Pricing) -> Part:
    cost = math.fsum(pricing.scan(name) for name in leaf.columns)
    column = pricing.table.column(leaf.column) if leaf.columns else None
    share = leaf_share(leaf, column)
    if leaf.operator in (Operator.IS_NULL, Operator.IS_NOT_NULL, Operator.TEXT_MATCH):
        return Part(NONE, Turn.INDEXED, Role.ROWS, 0.0, 0.0, share)
    if leaf.operator is Operator.RANGE and pricing.has_index(leaf.column, "range"):
        return Part(NONE, Turn.INDEXED, Role.ROWS, 0.0, 0.0, share)
    if leaf.operator not in BY_VALUE or column is None or column.cardinality is None:
        return Part(NONE, Turn.SCAN, Role.SCAN, cost, cost, share)
    if pricing.has_index(leaf.column, "inverted"):
        return Part(NONE, Turn.INDEXED, Role.ROWS, 0.0, 0.0, share)
    return Part(frozenset((leaf.column,)), Turn.SCAN, Role.CANDIDATE, cost, 0.0, share)


def _price_and(children: list[Part], level: int) -> Part:
    parts = in_turn(children)
    cost, share = math.fsum(_costs_in_place(parts)), math.prod(part.share for part in parts)
    if all(part.turn is Turn.INDEXED for part in parts):
        return Part(NONE, Turn.INDEXED, Role.ROWS, cost, cost, share)
    as_it_is = Part(NONE, Turn.AND, Role.NESTED, cost, cost, share)
    if any(part.role is Role.NESTED for part in parts) or not any(part.becomes_rows for part in parts):
        return as_it_is
    rows = [part for part in parts if part.role is Role.ROWS]
    scans = [part for part in parts if part.role is Role.CANDIDATE]
    chosen = min(scans, key=lambda part: (part.share, sorted(part.columns)), default=None)
    left = math.prod(part.share for part in rows)
    if chosen is not None and (bool(rows) if level > 1 else chosen.share > left):
        chosen = None
    first = [*rows, *([] if chosen is None else [chosen])]
    columns = frozenset[str]().union(*(part.columns for part in first))
    costs, still = [part.indexed_cost for part in first], math.prod(part.share for part in first)
    for part in [*scans, *(part for part in parts if part.role is Role.SCAN)]:
        if part is not chosen:
            costs.append(part.cost * still)
            still *= part.share
    return Part(columns, Turn.AND, Role.ROWS, cost, math.fsum(costs), share)


def _price_or(parts: list[Part]) -> Part:
    cost, share = math.fsum(part.cost for part in parts), min(1.0, math.fsum(part.share for part in parts))
    indexed = math.fsum(part.indexed_cost for part in parts)
    columns = frozenset[str]().union(*(part.columns for part in parts))
    if not all(part.becomes_rows for part in parts):
        return Part(NONE, Turn.OR, Role.NESTED, cost, cost, share)
    turn = Turn.INDEXED if all(part.turn is Turn.INDEXED for part in parts) else Turn.OR
    return Part(columns, turn, Role.ROWS, cost, indexed, share)
