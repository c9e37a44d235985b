"""The items of all tables: by trials where a table was tried, else by formulas or votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rtfilter.advice.packs.askings import Asking
from rtfilter.advice.packs.by_formulas import LEAST_GAIN, advised_by_packs, advised_by_votes
from rtfilter.advice.packs.item import Item
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.trials.trial import Trial
from rtfilter.advice.tried.by_trials import advised_by_trials
from rtfilter.advice.tried.tried_table import TriedTable

NOT_BUILT = ("row_index",)


@dataclass(slots=True)
class FoundItems:
    """The items, those that save the most time first; and by table and query what trials say of why there is none."""

    items: list[Item] = field(default_factory=list)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)


def items_of_tables(
    asked: Mapping[str, Sequence[Asking]],
    tables: Mapping[str, TableStatistics],
    budgets: Mapping[str, float],
    trials: Mapping[str, Trial],
    votes: Mapping[str, Mapping[str, float]] | None,
    days: int | None,
) -> FoundItems:
    """`budgets`: bytes by table; `votes`: those that items go by, None for packs; `days`: how many the log is long."""
    found = FoundItems()
    for name, queries in sorted(asked.items()):
        if name in trials:
            tried = advised_by_trials(TriedTable(queries, tables[name], trials[name], days), budgets[name])
            found.items += tried.items
            found.reasons |= {(name, query): reason for query, reason in tried.reasons.items()}
        elif votes is None:
            found.items += _within(budgets[name], advised_by_packs(queries, tables[name], LEAST_GAIN))
        else:
            found.items += _within(budgets[name], advised_by_votes(queries, tables[name], votes.get(name, {})))
    if votes is None:
        found.items.sort(key=_by_time_saved)
    return found


def _by_time_saved(item: Item) -> tuple[bool, float, float, str, str, tuple[str, ...]]:
    """What this version does not build stands last."""
    saved = -(item.gain_ms or 0.0), -(item.gain_bytes or 0.0)
    return item.kind in NOT_BUILT, *saved, item.table, item.kind, item.columns


def _within(budget: float, ranked: Sequence[Item]) -> list[Item]:
    """Items as they come, as far as the budget goes. A sorted copy is told with its bytes; the budget is for indexes."""
    left, found = budget, []
    for item in ranked:
        if item.kind == "cluster_by" or (item.cost_bytes or 0) <= left:
            left -= 0 if item.kind == "cluster_by" else item.cost_bytes or 0
            found.append(item)
    return found
