"""Rules of the planner host, each broken in one way. A broken rule gives wrong rows, not errors: the harness must see it.

`obey` runs inside the host's process, before each answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

from planner import legality, lineage
from planner.reasons import Refusal
from planner.snapshot import LEFT, RIGHT, Attribute, Expression, OtherExpression
from rtfilter.store import verdicts
from rtfilter.store.arrays import Bools, Levels
from rtfilter.store.filters import KeyFilter
from rtfilter.store.ordered_search import meets_a_range

NOTHING = "nothing"

_plain_column = lineage._plain_column
_might_match = verdicts.might_match


def _taking_for_columns(marks: tuple[str, ...]) -> Callable[[Expression], Attribute | Refusal]:
    """A trace that takes a computed key for the one column that it is computed from."""

    def plain_column(key: Expression) -> Attribute | Refusal:
        if isinstance(key, OtherExpression) and len(key.refs) == 1 and any(mark in key.text for mark in marks):
            return Attribute(key.refs[0], key.text, key.type, True)
        return _plain_column(key)

    return plain_column


def _without_keys_at_the_end(lows: Levels, highs: Levels, range_lows: Levels, range_highs: Levels) -> Bools:
    """The set's verdict with an end left out: a key equal to a pack's highest value is not seen."""
    seen = tuple(high - 1 for high in highs) if range_lows is range_highs else highs
    return meets_a_range(lows, seen, range_lows, range_highs)


def _open_range(lows: Levels, highs: Levels, range_lows: Levels, range_highs: Levels) -> Bools:
    """The range's verdict with its upper end left out."""
    seen = range_highs if range_lows is range_highs else tuple(high - 1 for high in range_highs)
    return meets_a_range(lows, highs, range_lows, seen)


def _unknown_means_no(packs: verdicts.PackBounds, keys: KeyFilter) -> Bools:
    return _might_match(packs, keys) & ~packs.unknown


@dataclass(frozen=True)
class Broken:
    """The patch that breaks a rule, and texts of which a query needs one to meet it (an empty one: any query may)."""

    patch: Callable[[], Any]
    needs: tuple[str, ...] = ("",)


def _legality(**sides: tuple[str, ...]) -> Callable[[], Any]:
    return lambda: mock.patch.dict(legality._FILTERABLE, sides)


def _lineage(*marks: str) -> Callable[[], Any]:
    return lambda: mock.patch.object(lineage, "_plain_column", _taking_for_columns(marks))


BROKEN: dict[str, Broken] = {
    "a left outer join loses rows of its left side": Broken(_legality(LeftOuter=(LEFT, RIGHT)), (" left join ",)),
    "an anti join loses rows without a partner": Broken(_legality(LeftAnti=(LEFT, RIGHT)), (" left anti join ", "not exists")),
    "<=> is taken for =": Broken(_lineage("coalesce("), ("<=>",)),
    "a computed key is taken for its column": Broken(_lineage(" + ", " - ", "date_add("), (" + 1)", "(0 - ")),
    "a set misses a key at the end of a pack": Broken(
        lambda: mock.patch.object(verdicts, "meets_a_range", _without_keys_at_the_end)
    ),
    "a range misses its last key": Broken(lambda: mock.patch.object(verdicts, "meets_a_range", _open_range)),
    # might_match is imported by name where it is used.
    "an unknown pack is rejected": Broken(lambda: mock.patch("rtfilter.store.tables.might_match", _unknown_means_no)),
}


class Obedience:
    """Keeps at most one rule broken. Requests come from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._broken = NOTHING
        self._patch: Any = None

    def obey(self, rule: str) -> None:
        """Mends what is broken and breaks `rule`."""
        with self._lock:
            if rule == self._broken:
                return
            if self._patch is not None:
                self._patch.stop()
            self._patch = None if rule == NOTHING else BROKEN[rule].patch()
            if self._patch is not None:
                self._patch.start()
            self._broken = rule
