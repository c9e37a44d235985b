"""Why nothing is advised for a query, as trials tell it."""

from __future__ import annotations

from rtfilter.advice.packs.by_formulas import WELL_PRUNED
from rtfilter.advice.packs.item import Item
from rtfilter.advice.trials.trial import NOTHING
from rtfilter.advice.tried.tried_table import TriedAsking, TriedTable

# Sketches that leave so much of what is kept without them serve nobody.
_ALL_BUT_NOTHING = 0.95


def reasons_of(tried: TriedTable, items: list[Item]) -> dict[str, str]:
    """By query of which no item of this table speaks, why that is so."""
    served = {query for item in items for query in item.queries}
    return {each.asking.fingerprint.id: _why(each, tried) for each in tried.asked if each.asking.fingerprint.id not in served}


def _why(each: TriedAsking, tried: TriedTable) -> str:
    trial = tried.trial
    if each.asking.use.predicate is None and each.joins:
        names = ", ".join(join.column for join in each.joins)
        best = float(each.kept(trial, trial.existing | frozenset(tried.candidates())).mean())
        return (
            f"of what runtime filters on {names} leave today every sketch would leave {best:.1%}: too little, or it fits no budget"
        )
    if each.asking.use.predicate is None:
        return "it has no condition of its own" + (": runtime filters may help its joins" if each.asking.use.join_keys else "")
    if not each.questions:
        return "its conditions are on columns that no sketch can hold, or on drawn rows that are NULL"
    plain, today = (float(each.kept(trial, built).mean()) for built in (NOTHING, trial.existing))
    if plain <= WELL_PRUNED:
        return f"the bounds in footers leave it {plain:.1%} of the row groups"
    if today < _ALL_BUT_NOTHING * plain:
        names = ", ".join(index.name for index in trial.indexes if index.is_whole)
        return f"the indexes that are there ({names}) leave it {today:.1%} of the row groups, and none better fits or pays"
    read = float(each.reads(trial, trial.existing).mean())
    if read <= WELL_PRUNED:
        return f"Spark itself finds in the dictionaries of its columns which row groups to read, and reads {read:.1%} of the bytes"
    best = float(each.kept(trial, trial.existing | frozenset(tried.candidates())).mean())
    if best > _ALL_BUT_NOTHING * today:
        return f"with every sketch of its columns it would still keep {best:.1%} of the row groups"
    return f"sketches could leave it {best:.1%} of the row groups, but save too little for the table or do not fit the budget"
