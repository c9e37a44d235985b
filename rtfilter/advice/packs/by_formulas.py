"""What to build, by formulas on the statistics: Bloom filters and an order, each with what it saves for which queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.counted import counted
from rtfilter.advice.packs.askings import Asking
from rtfilter.advice.packs.commands import create_command, sort_command
from rtfilter.advice.packs.formula_gains import FormulaGains, Gain, all_by_dictionaries
from rtfilter.advice.packs.item import Item, path_of
from rtfilter.advice.packs.kept_share import AS_IT_IS, Layout, bloom_bytes, pack_shares
from rtfilter.advice.statistics.tables import ColumnStatistics, TableStatistics
from rtfilter.advice.workload.fingerprints import TableUse
from rtfilter.advice.workload.predicates import BY_VALUE, EQUALITIES, Leaf, Operator, leaves
from rtfilter.store.sketches.domain import domain_of

# Sorting by one column may make other queries read more, but not by more than this share of what all read.
MOST_LOSS = 0.1
# An item that saves less of what its table's queries read is not worth a line.
LEAST_GAIN = 0.01
# A gain that may be less by less than this factor is told as it is.
OF_NO_MATTER = 1.05
# Filters below this share of packs are as good as they get.
WELL_PRUNED = 0.1
NO_DICTIONARIES = (
    "The statistics do not say where Spark leaves out packs by their dictionaries: then an index saves less."
    " `rtfilter stats` makes them anew."
)


def advised_by_packs(asked: Sequence[Asking], table: TableStatistics, least: float) -> list[Item]:
    """Items by the packs that they save: Bloom filters one after the other, and the best order of the table."""
    gains_of, least_of = FormulaGains(asked, table), FormulaGains(asked, all_by_dictionaries(table))
    found, built = [], AS_IT_IS
    candidates = [column for column in _asked_for(asked, table, EQUALITIES) if _can_have_bloom(column)]
    while candidates:
        gains = [(gains_of.gain(Layout(built.bloom | {each.name}), built), each) for each in candidates]
        best, column = min(((each, column) for each, column in gains if each), key=_by_gain, default=(None, None))
        if best is None or column is None or best.share <= least:
            break
        after = Layout(built.bloom | {column.name})
        found.append(_bloom_item(best, column, table, least=least_of.gain(after, built)))
        built = after
        candidates.remove(column)
    columns = _asked_for(asked, table, EQUALITIES | {Operator.RANGE})
    orders = [(gains_of.gain(Layout(sorted_by=each.name)), each) for each in columns]
    fair = [(each, column) for each, column in orders if each and each.share > least and each.lost_share <= MOST_LOSS]
    if fair:
        saved, column = min(fair, key=_by_gain)
        found.append(_order_item(saved, least_of.gain(Layout(sorted_by=column.name)), column, table))
    return found


def advised_by_votes(asked: Sequence[Asking], table: TableStatistics, votes: Mapping[str, float]) -> list[Item]:
    """A Bloom filter for each column with votes, the most votes first, with the gain that the packs promise."""
    gains_of, least_of = FormulaGains(asked, table), FormulaGains(asked, all_by_dictionaries(table))
    found = []
    for name, vote in sorted(votes.items(), key=lambda each: (-each[1], each[0])):
        column = table.column(name)
        if column is not None and _can_have_bloom(column):
            layout = Layout(frozenset((name,)))
            saved = gains_of.gain(layout)
            promise = "What it saves is not known without packs and bytes." if saved is None else _share(saved)
            found.append(_bloom_item(saved, column, table, f"Votes: {vote:g}. {promise}", least_of.gain(layout)))
    return found


def _by_gain(each: tuple[Gain, ColumnStatistics]) -> tuple[float, int, str]:
    return -round(each[0].bytes, 3), each[1].bytes or 0, each[1].name


def _asked_for(asked: Sequence[Asking], table: TableStatistics, operators: frozenset[Operator]) -> list[ColumnStatistics]:
    names = {leaf.column for each in asked for leaf in leaves(each.use.predicate) if leaf.operator in operators}
    return [column for name in sorted(names) if (column := table.column(name)) is not None]


def _can_have_bloom(column: ColumnStatistics) -> bool:
    return column.type is None or domain_of(column.type.lower()) is not None


def _share(saved: Gain) -> str:
    return f"Queries on the table would read {saved.share:.1%} less."


def _bloom_item(
    saved: Gain | None, column: ColumnStatistics, table: TableStatistics, reason: str = "", least: Gain | None = None
) -> Item:
    """`least`: what it saves if Spark itself leaves out all that it could by dictionaries."""
    if saved is not None and not reason:
        reason = f"{counted(len(saved.queries), 'kind', 'kinds')} of queries ask for values that few packs hold. {_share(saved)}"
    bounds = _bounds(saved, least)
    return Item(
        kind="bloom",
        table=table.name,
        columns=(column.name,),
        queries=saved.queries if saved else (),
        gain_bytes=saved.bytes if saved else None,
        gain_ms=saved.ms if saved else None,
        cost_bytes=bloom_bytes(column, table),
        reason=reason if bounds is None else f"{reason} {NO_DICTIONARIES}",
        command=create_command("bloom", path_of(table), column.name),
        bounds=bounds,
        is_tried=False,
    )


def _bounds(saved: Gain | None, least: Gain | None) -> tuple[float, float] | None:
    """How much of the gain is sure; None where the statistics say what Spark leaves out by itself, or it does not matter."""
    if saved is None or least is None or not saved.bytes > max(0.0, least.bytes) * OF_NO_MATTER:
        return None
    return max(0.0, least.bytes) / saved.bytes, 1.0


def _order_item(saved: Gain, least: Gain | None, column: ColumnStatistics, table: TableStatistics) -> Item:
    bounds = _bounds(saved, least)
    reason = f"Sorted by it, bounds in the footers leave fewer packs to a condition on it. {_share(saved)}"
    return Item(
        kind="cluster_by",
        table=table.name,
        columns=(column.name,),
        queries=saved.queries,
        gain_bytes=saved.bytes,
        gain_ms=saved.ms,
        cost_bytes=table.bytes,
        reason=reason if bounds is None else f"{reason} {NO_DICTIONARIES}",
        command=sort_command(path_of(table), column.name),
        bounds=bounds,
        is_tried=False,
    )


def why_nothing_helps(use: TableUse, table: TableStatistics) -> str:
    """Why no item is for a query on a table."""
    found = list(leaves(use.predicate))
    if use.predicate is None:
        return "it has no condition of its own" + (": runtime filters may help its joins" if use.join_keys else "")
    if not table.packs or not table.rows or not table.has_bytes:
        return "the statistics lack rows, packs or bytes"
    packs = pack_shares(use.predicate, table)
    if packs.left <= WELL_PRUNED or any(_is_in_order(leaf, table) for leaf in found):
        return "the table's order and the bounds in its footers serve it already"
    if packs.kept <= WELL_PRUNED:
        return f"Spark itself finds in the dictionaries of its columns which row groups to read, about {packs.kept:.1%}"
    if not any(leaf.operator in BY_VALUE or leaf.operator is Operator.RANGE for leaf in found):
        return "its conditions are on functions, patterns or NULL only"
    if not any(leaf.operator in EQUALITIES for leaf in found):
        return "its conditions are ranges or exclude values: only an order could help, and none pays for the table"
    return "nearly every pack holds a row that passes"


def _is_in_order(leaf: Leaf, table: TableStatistics) -> bool:
    """Whether a condition is on a column by which the table is about sorted."""
    column = table.column(leaf.column) if leaf.operator in EQUALITIES | {Operator.RANGE} else None
    return column is not None and column.depth is not None and column.depth <= max(1.0, WELL_PRUNED * (table.packs or 0))
