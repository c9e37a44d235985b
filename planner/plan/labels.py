"""Names for people: `table.column` for a join key, where it can be found."""

from __future__ import annotations

from planner.plan.expressions import Alias, Attribute, Expression, innermost, text_of
from planner.plan.nodes import Aggregate, Exchange, Project, Scan
from planner.plan.tree import Plan


def label_key(plan: Plan, start: int, key: Expression) -> str:
    """`table.column` of a key over the output of node `start`; its own text where no single column is behind it.

    For display only: unlike the lineage it goes through everything that hands a column on, stages and aggregates included.
    """
    inner = innermost(key)
    if not isinstance(inner, Attribute):
        return text_of(inner)
    name, wanted, at = inner.name, inner.id, start
    while True:
        node = plan.nodes[at]
        if isinstance(node, Scan):
            return next((f"{node.table}.{column.shown}" for column in node.columns if column.id == wanted), name)
        if isinstance(node, Project | Aggregate):
            produced = plan.named(node).get(wanted)
            source = None if produced is None else innermost(produced)
            if not isinstance(source, Attribute):
                return name
            wanted, at = _ungrouped(node, source.id), node.children[0]
            continue
        if isinstance(node, Exchange) and node.kind == "reused_exchange":
            wanted = _in_the_original(plan, node, wanted)
        below = next((child for child in node.children if plan.has_output(child, wanted)), None)
        if below is None:
            return name
        at = below


def _ungrouped(node: Project | Aggregate, wanted: int) -> int:
    """The column that an aggregate groups by under a new name."""
    groups = node.grouping if isinstance(node, Aggregate) else ()
    renamed = next((group for group in groups if isinstance(group, Alias) and group.id == wanted), None)
    source = None if renamed is None else innermost(renamed)
    return source.id if isinstance(source, Attribute) else wanted


def _in_the_original(plan: Plan, reused: Exchange, wanted: int) -> int:
    """A reused exchange may give new ids to the columns of the one it repeats, in the same order."""
    original = plan.nodes[reused.children[0]].output
    if wanted in reused.output and len(original) == len(reused.output):
        return original[reused.output.index(wanted)]
    return wanted
