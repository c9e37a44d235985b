"""Rules of the planner host, each broken in one way. A broken rule gives wrong rows, not errors: the harness must see it.

`obey` runs inside the host's process, before each answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from planner.legality import joins
from planner.placement.answer import Placeholder
from planner.plan import columns
from planner.plan.expressions import CoalesceDefault, Expression, OtherExpression, innermost
from planner.plan.nodes import LEFT, RIGHT
from planner.plan.shifts import UNMOVED
from planner.reasons import Refusal
from rtfilter.store.bounds import table_bounds, verdicts
from rtfilter.store.bounds.filters import KeyFilter
from rtfilter.store.bounds.ordered_search import meets_a_range
from rtfilter.store.parquet.arrays import Bools, Levels

NOTHING = "nothing"

_source_column = columns.source_column
_might_match = table_bounds.table_might_match
_placeholder_fields = Placeholder.to_dict


def _dropping_nulls(key: Expression, above: columns.KeyColumn | None = None) -> columns.KeyColumn | Refusal:
    """A trace that forgets that a null may equal a null."""
    return _source_column(key.child if isinstance(key, CoalesceDefault) else key, above)


def _unmoved(key: Expression, above: columns.KeyColumn | None = None) -> columns.KeyColumn | Refusal:
    """A trace that takes `k + 1` for `k`."""
    found = _source_column(key, above)
    return replace(found, shift=UNMOVED) if isinstance(found, columns.KeyColumn) else found


def _any_column(key: Expression, above: columns.KeyColumn | None = None) -> columns.KeyColumn | Refusal:
    """A trace that takes whatever is made of one column for the column."""
    inner = innermost(key)
    if isinstance(inner, OtherExpression) and len(set(inner.refs)) == 1:
        return columns.KeyColumn(inner.refs[0], inner.text)
    return _source_column(key, above)


@contextmanager
def _computed_keys_are_columns() -> Iterator[None]:
    """Both rules that refuse a computed key: it may raise, and it is no column."""
    with (
        mock.patch.object(columns, "source_column", _any_column),
        mock.patch("planner.legality.lineage.raises_past_its_type_only", lambda _: True),
        mock.patch("planner.legality.keys.raises_past_its_type_only", lambda _: True),
    ):
        yield


def _without_keys_at_the_end(lows: Levels, highs: Levels, range_lows: Levels, range_highs: Levels) -> Bools:
    """The set's verdict with an end left out: a key equal to a pack's highest value is not seen."""
    seen = tuple(high - 1 for high in highs) if range_lows is range_highs else highs
    return meets_a_range(lows, seen, range_lows, range_highs)


def _open_range(lows: Levels, highs: Levels, range_lows: Levels, range_highs: Levels) -> Bools:
    """The range's verdict with its upper end left out."""
    seen = range_highs if range_lows is range_highs else tuple(high - 1 for high in range_highs)
    return meets_a_range(lows, highs, range_lows, seen)


def _unknown_means_no(packs: table_bounds.TableBounds, keys: KeyFilter) -> Bools:
    return _might_match(packs, keys) & ~packs.unknown


def _without_nulls(placeholder: Placeholder) -> dict[str, object]:
    return {**_placeholder_fields(placeholder), "keep_nulls": False}


def _with_nulls(packs: table_bounds.TableBounds, keys: KeyFilter) -> Bools:
    return _might_match(packs, replace(keys, keep_nulls=True))


@contextmanager
def _rows_without_nulls() -> Iterator[None]:
    """Rows are tested as if a null never equalled a null; packs with nulls are kept."""
    with (
        mock.patch.object(Placeholder, "to_dict", _without_nulls),
        mock.patch("rtfilter.store.tables.footer_store.table_might_match", _with_nulls),
    ):
        yield


def _swapped(placeholder: Placeholder) -> dict[str, object]:
    return {**_placeholder_fields(placeholder), "columns": list(reversed(placeholder.columns))}


class _Entered:
    """A context manager with the two calls of a patch."""

    def __init__(self, broken: AbstractContextManager[None]) -> None:
        self._broken = broken

    def start(self) -> None:
        self._broken.__enter__()

    def stop(self) -> None:
        self._broken.__exit__(None, None, None)


@dataclass(frozen=True)
class Broken:
    """The patch that breaks a rule, and texts of which a query or its tables need one to meet it (an empty one: any case may).

    `found_by`: seeds that met the rule before, tried first to save time; any other seed will do when the generator has changed.
    """

    patch: Callable[[], Any]
    needs: tuple[str, ...] = ("",)
    found_by: tuple[int, ...] = ()


MOVED = ("as bigint) + 1", "0 - cast(", "try_add", "try_subtract", "as int) + 7", "date_add(")
COMPUTED = (" || ", "coalesce(", "(not ", "try_cast(", "as double) =")


def _legality(**sides: tuple[str, ...]) -> Callable[[], Any]:
    return lambda: mock.patch.dict(joins._FILTERABLE, sides)


BROKEN: dict[str, Broken] = {
    "a left outer join loses rows of its left side": Broken(_legality(LeftOuter=(LEFT, RIGHT)), (" left join ",)),
    "an anti join loses rows without a partner": Broken(_legality(LeftAnti=(LEFT, RIGHT)), (" left anti join ", "not exists")),
    "<=> is taken for =": Broken(lambda: mock.patch.object(columns, "source_column", _dropping_nulls), ("<=>",), found_by=(55,)),
    "a shifted key is taken for its column": Broken(
        lambda: mock.patch.object(columns, "source_column", _unmoved), MOVED, found_by=(220,)
    ),
    "a computed key is taken for the column in it": Broken(
        lambda: _Entered(_computed_keys_are_columns()), COMPUTED, found_by=(135,)
    ),
    "a set misses a key at the end of a pack": Broken(
        lambda: mock.patch.object(verdicts, "meets_a_range", _without_keys_at_the_end), found_by=(48,)
    ),
    "a range misses its last key": Broken(lambda: mock.patch.object(verdicts, "meets_a_range", _open_range), found_by=(50,)),
    "a full outer join waits and loses rows of both sides": Broken(_legality(FullOuter=(LEFT, RIGHT)), (" full join ",)),
    "a right outer join loses rows of its right side": Broken(_legality(RightOuter=(LEFT, RIGHT)), (" right join ",)),
    "a row with a null that <=> would match is dropped": Broken(lambda: _Entered(_rows_without_nulls()), ("<=>",), found_by=(55,)),
    "a filter of two columns takes them in the wrong order": Broken(
        lambda: mock.patch.object(Placeholder, "to_dict", _swapped), (" and r0.",), found_by=(48,)
    ),
    # table_might_match is imported by name where it is used.
    "an unknown pack is rejected": Broken(
        lambda: mock.patch("rtfilter.store.tables.footer_store.table_might_match", _unknown_means_no), found_by=(9,)
    ),
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
