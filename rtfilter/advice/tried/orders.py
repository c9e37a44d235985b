"""The order of a table, tried on sampled rows. A table has one order, so every query of the log is judged in the new one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.counted import counted
from rtfilter.advice.packs.by_formulas import LEAST_GAIN, MOST_LOSS
from rtfilter.advice.packs.commands import sort_command
from rtfilter.advice.packs.item import Item, KeptBefore, path_of
from rtfilter.advice.sampled.intervals import interval
from rtfilter.advice.trials.sorted_sample import SortedSample, ends_of, sample_rows, sorted_by
from rtfilter.advice.tried.tried_table import TriedAsking, TriedTable
from rtfilter.advice.workload.predicates import EQUALITIES, Operator, leaves

# Columns that are tried as an order: those in whose queries most is read.
MOST_ORDERS = 8


def advised_order(tried: TriedTable) -> list[Item]:
    """The order that saves the most, if one does and not too many lose by it."""
    types = tried.trial.sample.table.types
    candidates = _candidates(tried.asked, list(types))
    rows = sample_rows(tried.trial.sample, list(types)) if candidates else None
    if rows is None:
        return []
    ends = ends_of(rows, types, tried.trial.packs)
    orders = ((column, sorted_by(rows, column, types, tried.trial.packs, ends)) for column in candidates)
    found = [item for column, order in orders if (item := _judged(column, order, tried)) is not None]
    return sorted(found, key=lambda item: (-round(item.gain_bytes or 0.0, 3), item.columns))[:1]


def _candidates(asked: Sequence[TriedAsking], known: Sequence[str]) -> list[str]:
    read: dict[str, list[float]] = {}
    for each in asked:
        names = {leaf.column for leaf in leaves(each.asking.use.predicate) if leaf.operator in EQUALITIES | {Operator.RANGE}}
        for name in names & set(known):
            read.setdefault(name, []).append(each.read)
    return sorted(read, key=lambda name: (-math.fsum(read[name]), name))[:MOST_ORDERS]


def _kept_in(order: SortedSample, column: str, each: TriedAsking) -> float:
    """What a kind of query keeps of the packs in a new order, as a share of what it reads without conditions of its own.

    What runtime filters reject may be due to today's order: in a new one it is lost, but on the key that this sorts by.
    """
    others = math.prod(share for key, share in each.asking.joined.items() if key.lower() != column.lower())
    return order.kept_share(each.questions) / (others or 1.0)


def _judged(column: str, order: SortedSample, tried: TriedTable) -> Item | None:
    """The item for an order; None where it saves too little, or loses too much for others."""
    changes: list[float] = []
    least: list[float] = []
    most: list[float] = []
    times: list[float] = []
    kept: list[KeptBefore] = []
    speed = math.fsum(each.asking.ms or 0.0 for each in tried.asked) / tried.read_today if tried.read_today else 0.0
    for each in tried.asked:
        packs, before = (float(get(tried.trial, tried.trial.existing).mean()) for get in (each.kept, each.reads))
        after = _kept_in(order, column, each)
        low, high = (interval(min(1.0, after), order.packs, tried.trial.packs)) if after <= 1 else (after, after)
        if column not in each.columns and packs:
            # What Spark leaves out by itself by conditions on other columns it leaves out in any order.
            low, after, high = (share * before / packs for share in (low, after, high))
        changes.append(each.read * (before - after))
        least.append(each.read * (before - high))
        most.append(each.read * (before - low))
        if each.asking.ms is not None:
            # Who gains saves a share of the own time. Who loses reads more, at the speed of all.
            is_better = after < before
            times.append((tried.saved_ms(each, before, after) or 0.0) if is_better else each.read * (before - after) * speed)
        if after < before:
            kept.append(KeptBefore(each.asking.fingerprint.id, before, after, low, high))
    saved, lost = math.fsum(changes), -math.fsum(change for change in changes if change < 0)
    if saved <= LEAST_GAIN * tried.read_today or math.fsum(least) <= 0 or lost > MOST_LOSS * tried.read_today or sum(times) < 0:
        return None
    share = f"All queries together would read {saved / tried.read_today:.1%} less of the table"
    losers = f", some of them {lost / tried.read_today:.1%} more." if lost else ", and none reads more."
    return Item(
        kind="cluster_by",
        table=tried.table.name,
        columns=(column,),
        queries=tuple(each.query for each in kept),
        gain_bytes=saved,
        gain_ms=math.fsum(times) if times else None,
        cost_bytes=tried.table.bytes,
        reason=f"Tried on sorted rows of {counted(tried.trial.sampled, 'row group')}. {share}{losers}",
        command=sort_command(path_of(tried.table), column),
        bounds=(math.fsum(least) / saved, math.fsum(most) / saved),
        kept=tuple(kept),
        days=tried.days,
    )
