"""What to build, by trials: every kind of sketch on sampled packs, the best for its bytes first, as many as the budget allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.counted import counted
from rtfilter.advice.packs.askings import Asking
from rtfilter.advice.packs.by_formulas import LEAST_GAIN
from rtfilter.advice.packs.commands import create_command
from rtfilter.advice.packs.item import Item, path_of
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.trials.costs import build_seconds, refresh_seconds, sketch_bytes
from rtfilter.advice.trials.pack_sample import PackSample
from rtfilter.advice.trials.trial import Trial, try_table
from rtfilter.advice.tried.drops import idle_indexes
from rtfilter.advice.tried.not_yet import not_in_this_version
from rtfilter.advice.tried.orders import advised_order
from rtfilter.advice.tried.tried_table import TriedGain, TriedTable
from rtfilter.advice.tried.unserved import reasons_of
from rtfilter.advice.workload.predicates import leaves
from rtfilter.store.sketches.kinds import Sketch


def trial_of(asked: Sequence[Asking], table: TableStatistics, most_packs: int) -> Trial | None:
    """Sketches of the columns that are asked for, tried on a sample; None where nothing is known to weigh them by."""
    columns = sorted(
        {name for each in asked for leaf in leaves(each.use.predicate) for name in leaf.columns}
        | {name for each in asked for name in each.joined_by}
    )
    known = [column.name for name in columns if (column := table.column(name)) is not None]
    return try_table(table.name, table.path, known, most_packs) if table.path and table.has_bytes else None


@dataclass(frozen=True, slots=True)
class TriedAdvice:
    """The items of a table, and by query that none of them serves the reason."""

    items: list[Item]
    reasons: dict[str, str]


def advised_by_trials(tried: TriedTable, most_bytes: float) -> TriedAdvice:
    """The indexes that save the most within a budget, each with what it saves beside those before it; an order; indexes to drop."""
    indexes = [_item(sketch, gain, tried) for sketch, gain in best_sketches(tried, most_bytes)]
    items = [*indexes, *advised_order(tried), *idle_indexes(tried)]
    return TriedAdvice([*items, *not_in_this_version(tried, items)], reasons_of(tried, items))


def best_sketches(tried: TriedTable, most_bytes: float) -> list[tuple[Sketch, TriedGain]]:
    """Sketches that together save the most, of two ways of choosing; each with what it saves beside those before it."""
    trial = tried.trial
    costs = {sketch: cost_of(sketch, trial.sample) for sketch in tried.candidates()}
    ways = [_grown(tried, costs, most_bytes, by) for by in (lambda gain, cost: gain / cost, lambda gain, cost: gain)]
    return max(ways, key=lambda each: (round(math.fsum(gain.bytes for _, gain in each), 3), -sum(costs[one] for one, _ in each)))


def cost_of(sketch: Sketch, sample: PackSample) -> int:
    return max(1, sketch_bytes(sample, sketch))


def _grown(
    tried: TriedTable, costs: dict[Sketch, int], most_bytes: float, worth: Callable[[float, int], float]
) -> list[tuple[Sketch, TriedGain]]:
    """Sketches one after the other, that of the greatest worth first, while one is left that surely saves something."""
    built = tried.trial.existing
    left, candidates = most_bytes, list(costs)
    chosen: list[Sketch] = []
    while candidates:
        gains = [(tried.gain([sketch], built), sketch) for sketch in candidates if costs[sketch] <= left]
        sure = [each for each in gains if _pays(*each, tried)]
        # What saves nothing now may do so with others only in an OR; it is not looked at again, which saves most of the time.
        candidates = [sketch for gain, sketch in gains if gain.bytes > 0]
        if not sure:
            break
        _, best = min(sure, key=lambda each: (-round(worth(each[0].bytes, costs[each[1]]), 6), each[1].column, each[1].kind))
        candidates.remove(best)
        chosen.append(best)
        left -= costs[best]
        built = built | {best}
    return _with_gains(tried, _without_idle(tried, chosen))


def _pays(gain: TriedGain, sketch: Sketch, tried: TriedTable) -> bool:
    """Whether even the least that it may save is worth a line, and takes more time away than refreshing takes."""
    upkeep = tried.upkeep_ms(sketch)
    is_worth = gain.ms is None or upkeep is None or gain.ms * gain.low > upkeep
    return gain.bytes * gain.low > LEAST_GAIN * tried.read_today and is_worth


def _without_idle(tried: TriedTable, chosen: list[Sketch]) -> list[Sketch]:
    """Without those that save nothing any more beside those that came after them."""
    kept = list(chosen)
    for sketch in chosen:
        others = [each for each in kept if each != sketch]
        if tried.gain([sketch], tried.trial.existing | frozenset(others)).bytes <= LEAST_GAIN * tried.read_today:
            kept = others
    return kept


def _with_gains(tried: TriedTable, chosen: list[Sketch]) -> list[tuple[Sketch, TriedGain]]:
    there = tried.trial.existing
    return [(sketch, tried.gain([sketch], there | frozenset(chosen[:place]))) for place, sketch in enumerate(chosen)]


def _item(sketch: Sketch, gain: TriedGain, tried: TriedTable) -> Item:
    kind, sample = sketch.kind.replace("_", ""), tried.trial.sample
    share = gain.bytes / tried.read_today if tried.read_today else 0.0
    packs = f"{tried.trial.sampled} of {counted(tried.trial.packs, 'row group')}"
    reason = f"Tried on {packs}. {counted(len(gain.kept), 'kind', 'kinds')} of queries would read {share:.1%} less of the table."
    if any(sketch.column in {join.column for join in each.joins} for each in tried.asked):
        reason += " For keys of joins stand as many values of the column as the log counted."
    upkeep = tried.upkeep_ms(sketch) if gain.ms is not None else None
    net, bounds = gain.ms, (gain.low, gain.high)
    if gain.ms is not None and upkeep:
        net = gain.ms - upkeep
        bounds = ((gain.ms * gain.low - upkeep) / net, (gain.ms * gain.high - upkeep) / net)
        reason += f" Refreshing takes {upkeep:,.0f} ms of the time that it saves."
    return Item(
        kind=kind,
        table=tried.table.name,
        columns=(sketch.column,),
        queries=tuple(each.query for each in gain.kept),
        gain_bytes=gain.bytes,
        gain_ms=net,
        cost_bytes=cost_of(sketch, sample),
        reason=reason,
        command=create_command(kind, path_of(tried.table), sketch.column),
        bounds=bounds,
        build_s=build_seconds(sample, sketch),
        refresh=refresh_seconds(sample, sketch),
        kept=gain.kept,
        days=tried.days,
    )
