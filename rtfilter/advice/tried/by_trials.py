"""What to build, by trials on sampled packs: the items of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.counted import counted
from rtfilter.advice.packs.askings import Asking
from rtfilter.advice.packs.commands import create_command
from rtfilter.advice.packs.item import Item, path_of
from rtfilter.advice.sampled.costs import build_seconds, refresh_seconds
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.trials.trial import Trial, try_table
from rtfilter.advice.tried.best_sketches import best_sketches, cost_of
from rtfilter.advice.tried.drops import idle_indexes
from rtfilter.advice.tried.not_yet import not_in_this_version
from rtfilter.advice.tried.orders import advised_order
from rtfilter.advice.tried.star_trees import advised_tree
from rtfilter.advice.tried.tried_table import TriedGain, TriedTable
from rtfilter.advice.tried.unserved import reasons_of
from rtfilter.advice.workload.predicates import leaves
from rtfilter.store.sketches.kinds import Bloom, Sketch


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
    later = not_in_this_version(tried, items)
    return TriedAdvice([*items, *advised_tree(tried), *later], reasons_of(tried, items))


def _item(sketch: Sketch, gain: TriedGain, tried: TriedTable) -> Item:
    kind, sample = sketch.kind.replace("_", ""), tried.trial.sample
    fpp = sketch.fpp if isinstance(sketch, Bloom) and sketch != Bloom(sketch.column) else None
    share = gain.bytes / tried.read_today if tried.read_today else 0.0
    packs = f"{tried.trial.sampled} of {counted(tried.trial.packs, 'row group')}"
    reason = f"Tried on {packs}. {counted(len(gain.kept), 'kind', 'kinds')} of queries would read {share:.1%} less of the table."
    if any(sketch.column in {join.column for join in each.joins} for each in tried.asked):
        reason += " For keys of joins stand as many values of the column as the log counted."
    if fpp is not None:
        reason += f" To fit the budget it is a small one: of row groups without a value {fpp:.0%} are read all the same."
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
        command=create_command(kind, path_of(tried.table), sketch.column, fpp),
        fpp=fpp,
        bounds=bounds,
        build_s=build_seconds(sample, sketch),
        refresh=refresh_seconds(sample, sketch),
        kept=gain.kept,
        days=tried.days,
    )
