"""Which stage waits for which, by the plan and by the gates that are placed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from planner.plan.nodes import Exchange, QueryStage
from planner.plan.stages import RESULT, Unit, unit_named
from planner.plan.tree import Plan


@dataclass(slots=True)
class Waits:
    """Which stage has to wait for which: by the plan, and by the gates that are added.

    Equal exchanges are computed once, so they are one stage here, which waits for all that any of them waits for.
    """

    plan: Plan
    _on: dict[Unit, set[Unit]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        for node in self.plan.nodes:
            if isinstance(node, Exchange | QueryStage):
                self._on[self.unit_above(node.id)].add(unit_named(node))

    def unit_above(self, node: int) -> Unit:
        """The stage that a node's rows are read in: that of the nearest exchange above it."""
        above = next((each for each in self.plan.ancestors(node) if isinstance(each, Exchange | QueryStage)), None)
        return RESULT if above is None else unit_named(above)

    def would_close_a_circle(self, scan: int, source: int) -> bool:
        """Whether the stage of `scan` can't wait for `source`, because that waits for it, over however many others."""
        waiting = self.unit_above(scan)
        start = self._unit(source)
        return waiting == start or any(unit == waiting for unit in self._reached_from(start))

    def add(self, scan: int, source: int) -> None:
        """A gate: the stage of `scan` waits for `source`."""
        self._on[self.unit_above(scan)].add(self._unit(source))

    def _unit(self, source: int) -> Unit:
        node = self.plan.nodes[source]
        assert isinstance(node, Exchange | QueryStage), "a source is an exchange or a stage"
        return unit_named(node)

    def _reached_from(self, start: Unit) -> Iterator[Unit]:
        seen, stack = {start}, [start]
        while stack:
            for unit in self._on.get(stack.pop(), ()):
                if unit not in seen:
                    seen.add(unit)
                    stack.append(unit)
                    yield unit
