"""Which column of which scan an attribute of a plan is, over the aliases on the way."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rtfilter.advice.event_logs.plan_texts import Detail, alias, attribute, attributes_in, bracketed, entries, split
from rtfilter.advice.event_logs.plan_tree import PlanNode
from rtfilter.advice.event_logs.queries import Key

# What Spark wraps around a key and that leaves its values apart.
_WRAPPED = re.compile(
    r"(?:cast\((.+) as [a-z]+(?:\([\d,]+\))?\)|knownfloatingpointnormalized\(normalizenanandzero\((.+)\)\))", re.DOTALL
)
MOST_ALIASES = 50


class Attributes:
    """The attributes of one query, collected from its plans."""

    def __init__(self) -> None:
        # By the number of an attribute: the scan, and the column's name there.
        self._columns: dict[int, tuple[int, str]] = {}
        self._aliases: dict[int, str] = {}

    def add_node(self, node: PlanNode) -> None:
        """Takes the aliases that a node makes."""
        if node.name == "Project" or node.is_aggregate:
            for text in bracketed(node.text):
                self._add_aliases(entries(text))

    def add_details(self, details: Iterable[Detail]) -> None:
        """Takes the aliases out of a plan's text, where lists are whole."""
        for detail in details:
            for field in ("Output", "Results"):
                self._add_aliases(detail.list_of(field) or ())

    def add_scan(self, scan: int, node: PlanNode, details: Iterable[Detail]) -> None:
        """Takes what a scan returns: from its own text, and where that is cut from the plan's."""
        listed = bracketed(node.text)
        shown = [found for each in split(listed[0], ",") if (found := attribute(each)) is not None] if listed else []
        ids = {each.id for each in shown}
        for detail in details:
            if detail.operator.startswith(node.name.strip()) and "Output" in detail.fields:
                whole = [found for each in detail.list_of("Output") or () if (found := attribute(each)) is not None]
                if ids and ids <= {each.id for each in whole}:
                    shown = whole
        for each in shown:
            self._columns.setdefault(each.id, (scan, each.name))

    def key(self, text: str) -> Key:
        """What an expression is: a plain column of a scan, or something else by its name or text."""
        name = text
        for _ in range(MOST_ALIASES):
            found = attribute(text)
            if found is None:
                match = _WRAPPED.fullmatch(text)
                if match is None:
                    break
                text = match[1] or match[2]
                continue
            name = found.name
            if found.id in self._columns:
                return Key(*self._columns[found.id])
            if found.id not in self._aliases:
                break
            text = self._aliases[found.id]
        return Key(None, name)

    def origins(self, text: str) -> tuple[Key, ...]:
        """The columns of scans that an expression is computed from, sorted."""
        found: set[tuple[int, str]] = set()
        seen: set[int] = set()
        texts = [text]
        while texts:
            whole = attribute(texts[-1])
            for each in [whole] if whole is not None else [*attributes_in(texts[-1])]:
                if each.id in self._columns:
                    found.add(self._columns[each.id])
                elif each.id in self._aliases and each.id not in seen:
                    seen.add(each.id)
                    texts.insert(0, self._aliases[each.id])
            texts.pop()
        return tuple(Key(*each) for each in sorted(found))

    def _add_aliases(self, listed: Iterable[str]) -> None:
        for entry in listed:
            found = alias(entry)
            if found is not None:
                self._aliases.setdefault(found[1].id, found[0])
