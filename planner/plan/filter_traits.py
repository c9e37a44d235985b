"""What names a filter beyond one query, so that a later query finds what it did in earlier ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from planner.inputs.filter_history import Traits
from planner.plan.expressions import Expression, OtherExpression, Shifted, innermost
from planner.plan.labels import label_key
from planner.plan.nodes import Filter, OtherNode, PlanNode, Scan
from planner.plan.proposals import Proposal
from planner.plan.tree import Plan


def traits_of(plan: Plan, proposal: Proposal, means: tuple[object, ...] = ()) -> Traits:
    """The traits of a filter that is made of `means` (PlanSettings)."""
    columns = tuple(column.column for column in proposal.columns)
    asked = proposal.join, proposal.build_side, proposal.keys, proposal.source, proposal.scan, columns, means
    known: dict[object, Traits] = plan.found[__name__]
    found = known.get(asked)
    if found is None:
        found = known[asked] = _traits(plan, proposal, means)
    return found


def _traits(plan: Plan, proposal: Proposal, means: tuple[object, ...]) -> Traits:
    probe, join = plan.scan(proposal.scan), plan.join(proposal.join)
    tables = [below for below in plan.subtree(proposal.source) if isinstance(below, Scan)]
    below, keys = join.child_of(proposal.build_side), join.keys_of(proposal.build_side)
    return Traits(
        key=digest_of(
            root_of(probe),
            [column.name for column in proposal.columns],
            [label_key(plan, below, keys[key]) for key in proposal.keys],
            join.join_type,
            sorted(_shape(plan, table) for table in tables),
        ),
        literals=literals_of([*plan.subtree(proposal.source), probe, *filter_above(plan, probe)]),
        inputs=digest_of(probe.bytes, sorted([root_of(table), str(table.bytes)] for table in tables), means),
        root=root_of(probe),
    )


def root_of(scan: Scan) -> str:
    """Where a table is, without the folders of partitions, a line for each place; its name where the snapshot does not say."""
    roots = sorted({_without_partitions(root) for root in scan.roots})
    return "\n".join(roots) or scan.table


def _shape(plan: Plan, scan: Scan) -> list[Any]:
    """A table of the build side and what sort of conditions are on which of its columns."""
    named = {column.id: column.name for column in scan.columns}
    found = {id_ for above in filter_above(plan, scan) for id_ in _references(above.condition)}
    return [root_of(scan), sorted(scan.filters), sorted({named[id_] for id_ in found if id_ in named})]


def filter_above(plan: Plan, scan: Scan) -> tuple[Filter, ...]:
    """The conditions right above a scan, if there are any."""
    # What runs has operators in between that say nothing: a change from columns to rows, a bound of generated code.
    above = next((node for node in plan.ancestors(scan.id) if not (isinstance(node, OtherNode) and len(node.children) == 1)), None)
    return (above,) if isinstance(above, Filter) else ()


def literals_of(nodes: Iterable[PlanNode]) -> str | None:
    """What nodes ask of their rows, all together; None where one of them can't tell.

    The probe's own conditions are among them: which rows a filter is there to drop depends on them as well. Which node says what
    is left out, for a re-plan may move it, and so is how often.
    """
    said = {node.literals for node in nodes}
    if None in said:
        return None
    return digest_of(sorted(text for text in said if text))


def _references(expr: Expression) -> Iterator[int]:
    inner = innermost(expr)
    if isinstance(inner, Shifted):
        return _references(inner.child)
    return iter(inner.refs) if isinstance(inner, OtherExpression) else iter((inner.id,))


def _without_partitions(root: str) -> str:
    parts = root.rstrip("/").split("/")
    while len(parts) > 1 and "=" in parts[-1]:
        parts.pop()
    return "/".join(parts)


def digest_of(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
