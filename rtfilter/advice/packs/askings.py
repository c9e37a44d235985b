"""Who asks a table for what, and how much time and reading that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rtfilter.advice.packs.kept_share import read_bytes
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.workload.fingerprints import Calls, Exact, Fingerprint, TableUse
from rtfilter.advice.workload.literals import Literals


@dataclass(frozen=True, slots=True)
class Asking:
    """The queries of one kind, as far as one table goes. `ms`: of the time of all their calls this table's share.

    `samples`: the literals of some calls, leaf by leaf, with the weights of the calls. `joined`: by join key the share of packs
    that runtime filters on it have left, where the log has measured it. `joined_by`: of what they left the part that was left by
    filters of so many keys, by join key; less than all where the log does not say how many.
    """

    fingerprint: Fingerprint
    use: TableUse
    weight: float
    ms: float | None
    samples: Mapping[tuple[Literals | None, ...], float] = field(default_factory=dict)
    joined: Mapping[str, float] = field(default_factory=dict)
    joined_by: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    @property
    def joined_share(self) -> float:
        """What the joins' filters together leave, as if they had nothing to do with each other."""
        return math.prod(self.joined.values())


def askings(workload: Sequence[tuple[Fingerprint, Calls]], tables: Mapping[str, TableStatistics]) -> dict[str, list[Asking]]:
    """By table who asks it. The time of a query is shared out among its tables by the bytes that it reads of each."""
    found: dict[str, list[Asking]] = {}
    for fingerprint, calls in workload:
        sizes = [read_bytes(use, tables[use.table]) for use in fingerprint.uses]
        total = None if None in sizes else math.fsum(size or 0.0 for size in sizes)
        for place, (use, size) in enumerate(zip(fingerprint.uses, sizes, strict=True)):
            ms = None if calls.total_ms is None or not total else calls.total_ms * (size or 0.0) / total
            measured = {key: each for (table, key), each in sorted(calls.joined.items()) if table == use.table and each.total}
            joined = {key: each.share for key, each in measured.items()}
            parts = {
                key: {keys: kept / each.kept for keys, kept in sorted(each.by_keys.items())}
                for key, each in measured.items()
                if each.kept and each.by_keys
            }
            asking = Asking(fingerprint, use, float(calls.weight), ms, _samples_of_use(calls, place), joined, parts)
            found.setdefault(use.table, []).append(asking)
    return found


def _samples_of_use(calls: Calls, place: int) -> dict[tuple[Literals | None, ...], float]:
    found: dict[tuple[Literals | None, ...], Exact] = {}
    for sample, weight in calls.samples.items():
        if any(literals is not None for literals in sample[place]):
            found[sample[place]] = found.get(sample[place], 0) + weight
    return {literals: float(weight) for literals, weight in found.items()}
