"""The queries of a log, each kind once: what one asks of each table, how often it came, and what it took."""

from __future__ import annotations

import hashlib
import math
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from rtfilter.advice.workload.literals import Sample
from rtfilter.advice.workload.predicates import Predicate, leaves

# Of each kind of query the literals of so many different calls are kept: those whose digests are the smallest, in whatever order.
MOST_SAMPLES = 32

# Whole numbers and fractions: sums of them do not depend on the order of the log, as sums of floats would.
Exact = int | Fraction


@dataclass(frozen=True, slots=True)
class TableUse:
    """What a query asks of one table.

    `columns`: all that it names, None for a star. `is_partial`: more is asked of the rows than stands in `predicate`, such as a
    condition on several tables. `strangers`: columns in conditions that the table does not have.
    """

    table: str
    predicate: Predicate | None = None
    columns: tuple[str, ...] | None = None
    is_partial: bool = False
    strangers: tuple[str, ...] = ()
    join_keys: tuple[str, ...] = ()
    group_keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.table}: {self.predicate or 'no condition'}{' and more' if self.is_partial else ''}"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A query without its literals. `aggregates`: as (function, columns), `plain`: whether something else than group keys and
    aggregates is selected. `limit`: its LIMIT. `unknown_tables`: tables that the statistics lack."""

    uses: tuple[TableUse, ...] = ()
    aggregates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    plain: bool = True
    limit: int | None = None
    unknown_tables: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Twelve digits that stay the same for the same kind of query."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]

    @property
    def literals(self) -> Sample:
        """What the statement that this was made of compares with."""
        return tuple(tuple(leaf.literals for leaf in leaves(use.predicate)) for use in self.uses)

    def __str__(self) -> str:
        unknown = f"tables without statistics: {', '.join(self.unknown_tables)}" if self.unknown_tables else ""
        return "; ".join(map(str, self.uses)) or unknown


def digest_of(sample: Sample) -> bytes:
    """Eight bytes, the same for the same literals."""
    return hashlib.blake2b(repr(sample).encode(), digest_size=8).digest()


def about(count: int) -> int:
    """A number of keys within a fifth: what differs by less is counted together."""
    return round(2 ** (round(2 * math.log2(count)) / 2))


@dataclass(slots=True)
class PackShare:
    """How many packs scans had when runtime filters of a join looked at them, and how many were left: sums over all calls.

    `by_keys`: what was left by filters of so many keys, rounded (`about`), where that is known.
    """

    kept: int = 0
    total: int = 0
    by_keys: Counter[int] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        return self.kept / self.total


@dataclass(slots=True)
class Calls:
    """How often a fingerprint came (`weight`; `lines` is the number of log lines), and its measured times and scanned entries.

    `entries` counts weights by scanned entries, None where the log does not say. `joined`: by table and join key what runtime
    filters on that key left of the packs, where our own query log has measured it: the names are those of the statistics, as in
    `TableUse.join_keys`. `samples`: literals of calls, with their weights.
    `days`: the weights of calls by day, counted from 1970, of those whose lines have a time.
    """

    lines: int = 0
    weight: Exact = 0
    ms: Exact = 0
    timed: Exact = 0
    entries: Counter[int | None] = field(default_factory=Counter)
    samples: dict[Sample, Exact] = field(default_factory=dict)
    joined: dict[tuple[str, str], PackShare] = field(default_factory=dict)
    days: Counter[int] = field(default_factory=Counter)
    _digests: list[tuple[bytes, Sample]] = field(default_factory=list)

    def add_joined(self, table: str, key: str, kept: int, total: int, keys: int | None = None) -> None:
        found = self.joined.setdefault((table, key), PackShare())
        found.kept += kept
        found.total += total
        if keys:
            found.by_keys[about(keys)] += kept

    def add(self, weight: Exact, ms: Exact | None, entries: int | None, sample: Sample = (), day: int | None = None) -> None:
        self.lines += 1
        self.weight += weight
        if ms is not None:
            self.ms += ms if weight == 1 else ms * weight
            self.timed += weight
        # Counter's own type says int; a Fraction adds up as well.
        self.entries[entries] += weight  # type: ignore[assignment]
        if day is not None:
            self.days[day] += weight  # type: ignore[assignment]
        if any(literals is not None for use in sample for literals in use):
            self._keep(sample, weight)

    def _keep(self, sample: Sample, weight: Exact) -> None:
        """A sample that is among the smallest at the end has been so since it came first: its weight is whole."""
        if sample in self.samples:
            self.samples[sample] += weight
            return
        digest = digest_of(sample)
        if len(self._digests) == MOST_SAMPLES:
            if digest >= self._digests[-1][0]:
                return
            del self.samples[self._digests.pop()[1]]
        insort(self._digests, (digest, sample), key=lambda each: each[0])
        self.samples[sample] = weight

    @property
    def total_ms(self) -> float | None:
        """Time of all calls; calls without a time count with the mean of the others. None without any."""
        return float(self.ms * self.weight / self.timed) if self.timed else None


Workload = Mapping[Fingerprint, Calls]


def in_order(workload: Workload) -> list[tuple[Fingerprint, Calls]]:
    """The fingerprints in an order of their own, whatever the log's."""
    return sorted(workload.items(), key=lambda item: item[0].id)


def days_of(workload: Iterable[Calls]) -> int | None:
    """Over how many days the calls of a log are spread, the first and the last one counted; None where lines have no times."""
    days = {day for calls in workload for day in calls.days}
    return max(days) - min(days) + 1 if days else None


def scanned(calls: Calls) -> Exact:
    """The weight of the calls that scanned anything: those that are known to have scanned nothing don't count."""
    return sum((weight for entries, weight in calls.entries.items() if entries is None or entries > 0), 0)
