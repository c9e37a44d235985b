"""Filters below exchanges that are computed once for several uses: the same ones in all of them, or none."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

from planner.inputs.table_hints import directive_of
from planner.plan.expressions import Alias, Attribute, Expression, OtherExpression, Shifted
from planner.plan.nodes import Exchange, Project, QueryStage
from planner.plan.proposals import Entry, Proposal
from planner.plan.stages import open_numbers, started_nodes, unit_named
from planner.plan.tree import Plan

# What a filter is, in words that are equal for equal filters of equal subtrees.
Form: TypeAlias = tuple[object, ...]

_EXPRESSION_ID = re.compile(r"#\d+L?")


@dataclass(frozen=True, slots=True)
class Proposed:
    """Proposals in the order of their entries, and of each its place: copies of one filter have the same.

    `lonely`: the numbers of those that some other use of a shared exchange lacks.
    """

    proposals: tuple[Proposal, ...]
    places: tuple[object, ...]
    lonely: AbstractSet[int]


def gather(plan: Plan, entries: Sequence[Entry]) -> Proposed:
    """The proposals of all entries."""
    return proposed_of(plan, tuple(entry.proposal for entry in entries if entry.proposal is not None))


def proposed_of(plan: Plan, proposals: tuple[Proposal, ...]) -> Proposed:
    """Proposals with what is to be known of them."""
    return Proposed(proposals, places_of(plan, proposals), not_on_every_copy(plan, dict(enumerate(proposals))))


@dataclass(frozen=True, slots=True)
class _Places:
    """How often each form of a filter stands at each scan, by its open number, and who shares what with whom."""

    forms: Mapping[int, Form]
    counts: Counter[tuple[int, Form]]
    members: Mapping[int, Sequence[int]]
    started: frozenset[int]
    numbers: Sequence[int]


def not_on_every_copy(plan: Plan, proposals: Mapping[int, Proposal]) -> set[int]:
    """The keys of the proposals that some other use of a shared exchange lacks.

    Without them each exchange of a group has the same filters at the same places as the others. Leaving one out can make another
    one lonely, where exchanges lie in exchanges, so it goes on until nothing changes.
    """
    members = _members(plan)
    if not members:
        return set()
    forms = {number: form_of(plan, proposal) for number, proposal in proposals.items()}
    left = dict(proposals)
    started, numbers = started_nodes(plan), open_numbers(plan)
    while True:
        counts = Counter((numbers[proposal.scan], forms[number]) for number, proposal in left.items())
        places = _Places(forms, counts, members, started, numbers)
        lonely = {number for number, proposal in left.items() if not _is_everywhere(plan, places, number, proposal)}
        if not lonely:
            return set(proposals) - set(left)
        for number in lonely:
            del left[number]


def _members(plan: Plan) -> dict[int, list[int]]:
    """By the number that they share: the nodes that produce the same data."""
    members: dict[int, list[int]] = defaultdict(list)
    for node in plan.nodes:
        if isinstance(node, Exchange | QueryStage) and node.same is not None:
            members[node.same].append(node.id)
    return members


def _is_everywhere(plan: Plan, places: _Places, number: int, proposal: Proposal) -> bool:
    scan, form = places.numbers[proposal.scan], places.forms[number]
    here = places.counts[scan, form]
    for above in plan.ancestors(proposal.scan):
        if not isinstance(above, Exchange) or above.same is None:
            continue
        offset = scan - places.numbers[above.id]
        for member in places.members[above.same]:
            # Of a copy that has started, or only repeats another, the rows are there already: nothing can be placed in it.
            if member in places.started or places.counts[places.numbers[member] + offset, form] != here:
                return False
    return True


def places_of(plan: Plan, proposals: Sequence[Proposal]) -> tuple[object, ...]:
    """Of each proposal, which filter it is part of: the same for copies of it below exchanges that produce the same data."""
    numbers = open_numbers(plan)
    return tuple((_place_in(plan, numbers, each.join), _place_in(plan, numbers, each.scan)) for each in proposals)


def _place_in(plan: Plan, numbers: Sequence[int], node: int) -> object:
    """Where a node is: equal for equal nodes below exchanges that produce the same data. `numbers`: those of `open_numbers`."""
    for above in plan.ancestors(node):
        if isinstance(above, Exchange | QueryStage) and above.same is not None:
            return above.same, numbers[node] - numbers[above.id]
    return node


def form_of(plan: Plan, proposal: Proposal) -> Form:
    """What a filter is: equal for two filters that drop the same rows of equal scans."""
    join, scan, source = plan.join(proposal.join), plan.scan(proposal.scan), plan.source(proposal.source)
    positions = [column.id for column in scan.columns]
    keys = join.keys_of(proposal.build_side)
    below = join.child_of(proposal.build_side)
    return (
        unit_named(source),
        tuple(_key_form(plan, below, proposal.source, keys[key]) for key in proposal.keys),
        tuple(positions.index(column.column) for column in proposal.columns),
        (proposal.keep_nulls, proposal.gate, proposal.ahead, proposal.shift, directive_of(scan.hints, scan.table)),
    )


def _key_form(plan: Plan, start: int, source: int, key: Expression) -> Form:
    """A build key in terms of its source's columns by place: equal sources have other expression ids."""
    if isinstance(key, Attribute):
        return ("column", _place(plan, start, source, key.id))
    if isinstance(key, Alias):
        return _key_form(plan, start, source, key.child)
    if isinstance(key, OtherExpression):
        return (_EXPRESSION_ID.sub("#", key.text), key.type, *_all_places(plan, start, source, key.refs))
    moved = (key.sign, key.by) if isinstance(key, Shifted) else ()
    return (type(key).__name__, key.type, *moved, _key_form(plan, start, source, key.child))


def _all_places(plan: Plan, start: int, source: int, ids: Iterable[int]) -> tuple[int, ...]:
    return tuple(_place(plan, start, source, id_) for id_ in ids)


def _place(plan: Plan, start: int, source: int, id_: int) -> int:
    """The place among the columns of `source` of column `id_` of node `start`; -1 - id where it has none."""
    at = start
    while at != source:
        node = plan.nodes[at]
        if isinstance(node, Project):
            named = plan.named(node).get(id_)
            inner = named.child if isinstance(named, Alias) else named
            if isinstance(inner, Attribute):
                id_ = inner.id
        at = node.children[0]
    output = plan.nodes[source].output
    return output.index(id_) if id_ in output else -1 - id_
