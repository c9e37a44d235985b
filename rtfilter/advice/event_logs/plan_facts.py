"""The plans of one query, its first one and all that adaptive execution made of it, merged into one set of scans and joins.

A scan is its accumulators. Other operators get new accumulators with each plan, and only those of the plan in which they ran are
counted up: an operator is told by its name and text, which carry the numbers of its attributes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rtfilter.advice.event_logs.attributes import Attributes
from rtfilter.advice.event_logs.conditions import condition_of
from rtfilter.advice.event_logs.plan_texts import Detail, attributes_in, bracketed, details_of, entries, is_cut, schema_of
from rtfilter.advice.event_logs.plan_tree import ROWS, SCAN_TIME, PlanNode
from rtfilter.advice.event_logs.queries import JoinFacts, JoinSide, Key, ScanFacts

_PATHS = re.compile(r"\w+\((\d+) paths\)\[(.*)\]", re.DOTALL)
_PLAN_ID = re.compile(r"plan_id=\d+")
BROADCAST = "BroadcastExchange"
FILES, BYTES = "number of files read", "size of files read"


@dataclass(slots=True)
class _Scan:
    """`is_told`: whether it stands outside of subqueries, whose scans count only where they ran."""

    node: PlanNode
    metrics: dict[str, int]
    is_cached: bool
    is_told: bool

    @property
    def twins(self) -> tuple[str, ...]:
        """What stays of a scan when adaptive execution plans it again with other accumulators: its columns, and where it reads."""
        columns = bracketed(self.node.text)[:1]
        return (self.node.name, self.node.metadata.get("Location", ""), *columns)


@dataclass(slots=True)
class PlanFacts:
    """`rows_of`: accumulators of "number of output rows" by an operator's name and text. `asked_for`: all whose values count."""

    top: PlanNode
    scans: dict[int, _Scan] = field(default_factory=dict)
    rows_of: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    repeated: set[tuple[str, str]] = field(default_factory=set)
    joins: dict[tuple[str, ...], list[PlanNode]] = field(default_factory=dict)
    attributes: Attributes = field(default_factory=Attributes)
    details: list[Detail] = field(default_factory=list)
    asked_for: set[int] = field(default_factory=set)

    def add(self, plan: PlanNode, description: str) -> None:
        """Takes a plan of the query."""
        new = details_of(description)
        self.attributes.add_details(new)
        if not self.details:
            self.details = new
        seen: dict[tuple[str, str], int] = {}
        for node, is_cached, is_subquery in _walk(plan):
            self.attributes.add_node(node)
            self.asked_for |= {number for name, number in node.metrics.items() if name in (ROWS, SCAN_TIME, FILES, BYTES)}
            if node.is_scan and ROWS in node.metrics and node.metadata:
                self._add_scan(node, is_cached, not is_subquery, new)
            if ROWS in node.metrics and not is_subquery:
                self._add_rows(identity_of(node), node.metrics[ROWS], seen)
            if node.is_join and not is_subquery and (identity := join_identity(node)) is not None:
                self.joins.setdefault(identity, []).append(node)

    def _add_scan(self, node: PlanNode, is_cached: bool, is_told: bool, details: list[Detail]) -> None:
        number = node.metrics[ROWS]
        if number not in self.scans:
            self.attributes.add_scan(number, node, details)
            self.scans[number] = _Scan(node, dict(node.metrics), is_cached, is_told)
        self.scans[number].is_cached &= is_cached
        self.scans[number].is_told |= is_told

    def _add_rows(self, what: tuple[str, str], number: int, seen: dict[tuple[str, str], int]) -> None:
        if seen.setdefault(what, number) != number:
            self.repeated.add(what)
        self.rows_of.setdefault(what, set()).add(number)


def _walk(plan: PlanNode) -> list[tuple[PlanNode, bool, bool]]:
    """All nodes in preorder, each with whether it is below a cached frame, and below a subquery."""
    found = []
    stack = [(plan, False, False)]
    while stack:
        node, is_cached, is_subquery = stack.pop()
        found.append((node, is_cached, is_subquery))
        below = (is_cached or node.name == "InMemoryTableScan", is_subquery or node.is_subquery)
        stack.extend((child, *below) for child in reversed(node.children))
    return found


def identity_of(node: PlanNode) -> tuple[str, str]:
    """An operator by its name and text, without the number that each plan gives its exchanges.

    Broadcasts of different tables may have one text: they are told by what they broadcast.
    """
    text = _PLAN_ID.sub("", node.text)
    below = node
    while node.name == BROADCAST and len(below.children) == 1 and not any(attributes_in(below.text)):
        below = below.children[0]
    return node.name, text if below is node else f"{text} of {below.text}"


def join_identity(node: PlanNode) -> tuple[str, ...] | None:
    """A join by its keys and type, which stay when adaptive execution joins in another way; None where they can't be read."""
    parts = bracketed(node.text)
    return (parts[0], parts[1], join_type(node)) if len(parts) >= 2 else None


def join_type(node: PlanNode) -> str:
    behind = node.text.rpartition("]")[2] if node.text.count("]") == 2 else node.text.split("]", 2)[-1]
    return behind.strip(", ").partition(",")[0].strip()


class Counted:
    """The facts of merged plans with the values of accumulators in place. `has_ended`: whether the query ended without an error."""

    def __init__(self, facts: PlanFacts, values: Mapping[int, int], has_ended: bool) -> None:
        self.facts, self.values = facts, values
        # What counted nothing has no value. That is zero only where something of the query has been counted by tasks.
        ran = any(number in values for numbers in facts.rows_of.values() for number in numbers)
        self.absent = 0 if has_ended and ran else None
        self.places = self._places()
        self._best = self._best_of_twins()

    def _places(self) -> dict[int, int]:
        """The place of each scan among those that are told of. A scan that was planned twice and ran once has one."""
        ran = {number for number, scan in self.facts.scans.items() if self._any(scan.metrics)}
        twins = {self.facts.scans[number].twins: number for number in sorted(ran, reverse=True)}
        found: dict[int, int] = {}
        for number, scan in self.facts.scans.items():
            meant = number if number in ran else twins.get(scan.twins, number)
            # A cached frame's plan stands again in later queries, without values.
            if meant in ran or (scan.is_told and not scan.is_cached):
                found[number] = found.setdefault(meant, len(set(found.values())))
        return found

    def scans(self) -> tuple[ScanFacts, ...]:
        return tuple(self._scan(self.facts.scans[self._best[place]]) for place in sorted(self._best))

    def _best_of_twins(self) -> dict[int, int]:
        """By place the scan that ran, which stands for its twins."""
        best: dict[int, int] = {}
        for number, place in self.places.items():
            if place not in best or self._any(self.facts.scans[number].metrics):
                best[place] = number
        return best

    def joins(self) -> tuple[JoinFacts, ...]:
        return tuple(self._join(nodes) for nodes in self.facts.joins.values())

    def key(self, text: str) -> Key:
        return self.placed(self.facts.attributes.key(text))

    def placed(self, key: Key) -> Key:
        """A key whose scan is told by its place among the query's."""
        return Key(None if key.scan is None else self.places.get(key.scan), key.column)

    def rows(self, node: PlanNode) -> int | None:
        """What a node returned; None where the log does not say."""
        what = identity_of(node)
        if what in self.facts.repeated or what not in self.facts.rows_of:
            return None
        known = [self.values[number] for number in self.facts.rows_of[what] if number in self.values]
        if known:
            return sum(known)
        # Where a scan below has counted nothing at all, another one's exchange was taken in its place.
        below = [scan for each in node.below() if each.is_scan and (scan := self.facts.scans.get(each.metrics.get(ROWS, -1)))]
        return self.absent if all(self._any(self._ran_as(scan).metrics) for scan in below) else None

    def _ran_as(self, scan: _Scan) -> _Scan:
        """The twin of a scan that ran, or itself."""
        place = self.places.get(scan.metrics[ROWS])
        return scan if place is None else self.facts.scans[self._best[place]]

    def _any(self, metrics: Mapping[str, int]) -> bool:
        return any(number in self.values for number in metrics.values())

    def _scan(self, scan: _Scan) -> ScanFacts:
        metadata = scan.node.metadata
        types = schema_of(metadata.get("ReadSchema", ""))
        filters = [metadata.get("DataFilters", ""), metadata.get("PartitionFilters", "")]
        pushed = metadata.get("PushedFilters", "")
        condition = condition_of(filters, pushed, {name.lower(): type_ for name, type_ in types.items()})
        location = _PATHS.fullmatch(metadata.get("Location", ""))
        paths = tuple(path for path in location[2].split(", ") if path != "...") if location is not None else ()
        return ScanFacts(
            table=scan.node.name.partition(" ")[2].partition(" ")[2].strip() or None,
            format=metadata.get("Format", "").lower(),
            paths=paths,
            has_all_paths=location is not None and len(paths) == int(location[1]),
            columns=tuple(types.items()),
            predicate=condition.predicate,
            partial=condition.partial,
            filters=pushed,
            rows=self.values.get(scan.metrics[ROWS], self.absent if not scan.is_cached and self._any(scan.metrics) else None),
            ms=self._value(scan, SCAN_TIME),
            files=self._value(scan, FILES),
            bytes=self._value(scan, BYTES),
            is_cached=scan.is_cached,
        )

    def _value(self, scan: _Scan, metric: str) -> int | None:
        return self.values.get(scan.metrics.get(metric, -1))

    def _join(self, nodes: list[PlanNode]) -> JoinFacts:
        # The first plan has the whole tree below the join, later ones may know better how it was carried out.
        first = nodes[0]
        ran = next((node for node in nodes if node.metrics.get(ROWS) in self.values), nodes[-1])
        rows = [self.values[node.metrics[ROWS]] for node in _distinct(nodes) if node.metrics.get(ROWS) in self.values]
        lists = self._keys(first)
        return JoinFacts(
            operator=ran.name,
            type=join_type(ran),
            build=1 if "BuildRight" in ran.text else 0 if "BuildLeft" in ran.text else None,
            sides=(self._side(first, 0, lists[0]), self._side(first, 1, lists[1])),
            rows=sum(rows) if rows else self.absent,
            has_condition=_has_condition(ran),
        )

    def _keys(self, node: PlanNode) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Both sides' keys, from the text of the plan where the node's own is cut."""
        left, right = (entries(text) for text in bracketed(node.text)[:2])
        if not (is_cut(node.text)):
            return left, right
        for detail in self.facts.details:
            whole = (detail.list_of("Left keys"), detail.list_of("Right keys"))
            if detail.operator.startswith(node.name) and whole[0] and whole[1] and whole[0][0] == left[0]:
                return whole[0], whole[1]
        return tuple(each for each in left if not is_cut(each)), tuple(each for each in right if not is_cut(each))

    def _side(self, join: PlanNode, side: int, keys: tuple[str, ...]) -> JoinSide:
        if side >= len(join.children):
            return JoinSide(tuple(map(self.key, keys)), None, (), ())
        child = join.children[side]
        below = [node for node, _, is_subquery in _walk(child) if node.is_scan and not is_subquery]
        scans = tuple(dict.fromkeys(self.places[each.metrics[ROWS]] for each in below if each.metrics.get(ROWS) in self.places))
        found = tuple(map(self.key, keys))
        first = next((key.scan for key in found if key.scan is not None), None)
        others = any(not each.metadata for each in below)
        return JoinSide(found, self._rows_into(child), scans, tuple(self._between(child, first)), others)

    def _rows_into(self, node: PlanNode) -> int | None:
        """What a node hands on: its own count, or that of the nearest one below it that has one and changes nothing on the way."""
        while True:
            known = self.rows(node)
            if known is None and node.name == "Union":
                arms = [self._rows_into(child) for child in node.children]
                return None if None in arms else sum(arm or 0 for arm in arms)
            if known is not None or len(node.children) != 1 or ROWS in node.metrics:
                return known
            node = node.children[0]

    def _between(self, node: PlanNode, scan: int | None) -> list[str]:
        """The operators on the way down to a scan."""
        path: list[str] = []
        stack: list[tuple[PlanNode, list[str]]] = [(node, path)]
        while stack:
            at, above = stack.pop()
            if at.is_scan:
                if scan is not None and self.places.get(at.metrics.get(ROWS, -1)) == scan:
                    return above
                continue
            if not at.is_subquery:
                named = f"{at.name} {join_type(at)}" if at.is_join else at.name
                stack.extend(
                    (child, [*above, f"{named}/{place}" if at.is_join else named]) for place, child in enumerate(at.children)
                )
        return path


def _distinct(nodes: list[PlanNode]) -> list[PlanNode]:
    return list({node.metrics.get(ROWS): node for node in nodes}.values())


def _has_condition(node: PlanNode) -> bool:
    return any(attributes_in(node.text.split("]", 2)[-1]))
