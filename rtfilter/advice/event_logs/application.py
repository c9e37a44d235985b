"""Reads the events of one application into its queries: each is handed on when it has ended, and forgotten."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rtfilter.advice.event_files.events import (
    DRIVER_UPDATES,
    END,
    EXECUTOR,
    EXECUTOR_GONE,
    LOG_START,
    START,
    TASK_END,
    UPDATE,
    whole_number,
)
from rtfilter.advice.event_logs.aggregates import aggregation_of
from rtfilter.advice.event_logs.conditions_above import asked_above
from rtfilter.advice.event_logs.plan_facts import Counted, PlanFacts
from rtfilter.advice.event_logs.plan_tree import ROWS, SCAN_TIME, PlanNode, plan_of
from rtfilter.advice.event_logs.queries import QueryFacts

_LIMITS = ("CollectLimit", "TakeOrderedAndProject", "GlobalLimit")
# So many queries that have ended are kept, for what is counted of them later.
MOST_WAITING = 100
NO_END = "its end is not in the log"


@dataclass(slots=True)
class _Running:
    id: int
    root: int
    description: str
    begun: int | None
    facts: PlanFacts | None = None
    ended: int | None = None
    error: bool = False
    is_ended: bool = False


@dataclass(slots=True)
class Application:
    """Events in, queries out. `cores`: the most that all executors had together; `version` of Spark: None until the log says."""

    version: str | None = None
    cores: int = 0
    _running: dict[int, _Running] = field(default_factory=dict)
    _values: dict[int, int] = field(default_factory=dict)
    _executors: dict[str, int] = field(default_factory=dict)
    _waiting: deque[int] = field(default_factory=deque)

    def take(self, event: dict[str, Any]) -> Iterator[QueryFacts]:
        """Takes an event, and gives the queries that are over with it."""
        name = event["Event"]
        if name == TASK_END:
            self._add_task(event)
        elif name == DRIVER_UPDATES:
            self._add_updates(event.get("accumUpdates"))
        elif name == START:
            self._start(event)
        elif name == UPDATE:
            self._update(event)
        elif name == END:
            yield from self._end(event)
        elif name == LOG_START:
            self.version = str(event.get("Spark Version") or "") or None
        elif name == EXECUTOR:
            info = event.get("Executor Info")
            self._executors[str(event.get("Executor ID"))] = _cores(info) if isinstance(info, dict) else 0
            self.cores = max(self.cores, sum(self._executors.values()))
        elif name == EXECUTOR_GONE:
            self._executors.pop(str(event.get("Executor ID")), None)

    def rest(self) -> Iterator[QueryFacts]:
        """The queries that did not end: the application was killed, or still runs."""
        for root in dict.fromkeys(each.root for each in list(self._running.values())):
            yield from self._told(root)
        self._waiting.clear()

    def _start(self, event: dict[str, Any]) -> None:
        number = whole_number(event.get("executionId"))
        if number is None:
            return
        root = whole_number(event.get("rootExecutionId"))
        text = event.get("description")
        running = _Running(number, number if root is None else root, str(text or ""), whole_number(event.get("time")))
        self._running[number] = running
        self._add_plan(running, event)

    def _update(self, event: dict[str, Any]) -> None:
        running = self._running.get(whole_number(event.get("executionId")) or 0)
        if running is not None:
            self._add_plan(running, event)

    def _add_plan(self, running: _Running, event: dict[str, Any]) -> None:
        plan = plan_of(event.get("sparkPlanInfo"))
        if plan is None:
            return
        running.facts = running.facts or PlanFacts(plan)
        running.facts.add(plan, str(event.get("physicalPlanDescription") or ""))

    def _end(self, event: dict[str, Any]) -> Iterator[QueryFacts]:
        running = self._running.get(whole_number(event.get("executionId")) or 0)
        if running is None:
            return
        running.ended = whole_number(event.get("time"))
        running.error = bool(event.get("errorMessage"))
        running.is_ended = True
        # Rows may come after the end (toLocalIterator), and those of a batch under an execution inside of it: all of one root are
        # told together, and a while after.
        if all(each.is_ended for each in self._family(running.root)):
            self._waiting.append(running.root)
        while len(self._waiting) > MOST_WAITING:
            yield from self._told(self._waiting.popleft())

    def _family(self, root: int) -> list[_Running]:
        return [each for each in self._running.values() if each.root == root]

    def _told(self, root: int) -> Iterator[QueryFacts]:
        """The queries of a root, which is forgotten. One whose scans are all another one's is a step of that."""
        family = self._family(root)
        numbers = {each.id: set(each.facts.scans) if each.facts is not None else set() for each in family}
        for each in family:
            mine = numbers[each.id]
            is_step = any(mine < numbers[other.id] for other in family)
            if not is_step and (found := self._facts(each)) is not None:
                yield found
        for each in family:
            for number in each.facts.asked_for if each.facts is not None else ():
                self._values.pop(number, None)
            del self._running[each.id]

    def _add_task(self, event: dict[str, Any]) -> None:
        info = event.get("Task Info")
        reason = event.get("Task End Reason")
        if not isinstance(info, dict) or (isinstance(reason, dict) and reason.get("Reason") != "Success"):
            return
        listed = info.get("Accumulables")
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, dict) and each.get("Metadata") == "sql" and each.get("Name") in (ROWS, SCAN_TIME):
                self._add(each.get("ID"), each.get("Update"))

    def _add_updates(self, updates: Any) -> None:
        """Of accumulators only the numbers stand here: those of no plan that is looked at are left out."""
        for each in updates if isinstance(updates, list) else ():
            number = whole_number(each[0]) if isinstance(each, list) and len(each) == 2 else None
            if number is not None and any(number in known for known in self._asked_for()):
                self._add(number, each[1])

    def _asked_for(self) -> Iterator[set[int]]:
        return (each.facts.asked_for for each in self._running.values() if each.facts is not None)

    def _add(self, number: Any, update: Any) -> None:
        known, more = whole_number(number), whole_number(update)
        if known is not None and more is not None:
            self._values[known] = self._values.get(known, 0) + more

    def _facts(self, running: _Running) -> QueryFacts | None:
        facts = running.facts
        if facts is None or not facts.scans:
            return None
        counted = Counted(facts, self._values, running.is_ended and not running.error)
        aggregation = aggregation_of(facts.top, facts.details, facts.attributes)
        return QueryFacts(
            id=running.id,
            root=running.root,
            description=running.description,
            ms=running.ended - running.begun if running.ended is not None and running.begun is not None else None,
            error=running.error,
            scans=counted.scans(),
            joins=counted.joins(),
            group_keys=tuple(map(counted.placed, aggregation.keys)),
            aggregates=aggregation.functions,
            plain=aggregation.plain,
            limit=_limit(facts.top),
            asked_above=tuple(map(counted.placed, asked_above(facts.top, facts.attributes))),
            partial=tuple(_partial(running, aggregation.is_cut)),
        )


def _cores(info: dict[str, Any]) -> int:
    return max(0, whole_number(info.get("Total Cores")) or 0)


def _partial(running: _Running, is_cut: bool) -> Iterator[str]:
    if not running.is_ended:
        yield NO_END
    if is_cut:
        yield "group keys or aggregates were cut"


def _limit(plan: PlanNode) -> int | None:
    for node in plan.below():
        if node.name in _LIMITS:
            digits = "".join(sign if sign.isdigit() else " " for sign in node.text).split()
            return int(digits[0]) if digits else None
        if len(node.children) != 1:
            return None
    return None
