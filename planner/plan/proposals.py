"""What there is to say of each key of a join and each scan that it reaches: a filter that would be right, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from planner.plan.columns import ProbeColumn
from planner.plan.shifts import UNMOVED, Shift
from planner.plan.tree import Plan
from planner.reasons import Refusal


@dataclass(frozen=True, slots=True)
class Proposal:
    """A filter that would be right: keys `keys` of `join`, read off `source`, filter `columns`, all of one scan.

    `across`: the join over whose equality the filter reaches the scan, if it does. `shift`: how the key is made of the column.
    `keep_splits`: the scan must keep Spark's own splits and the order of its rows.
    """

    join: int
    keys: tuple[int, ...]
    build_side: str
    source: int
    columns: tuple[ProbeColumn, ...]
    keep_nulls: bool
    gate: bool
    ahead: str | None
    across: int | None = None
    shift: Shift = UNMOVED
    keep_splits: bool = False

    @property
    def scan(self) -> int:
        return self.columns[0].scan

    @property
    def shows_in(self) -> int:
        """The join whose result has no row less by the filter: what it drops, that join drops anyway."""
        return self.join if self.across is None else self.across


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the answer: a proposal, or why there is none.

    `pair` names both keys, `target` what would be filtered (empty where no scan was reached); neither changes at a re-plan.
    """

    pair: str
    target: str
    join: int
    keys: tuple[int, ...]
    build: str
    probe: str
    scan: int | None
    proposal: Proposal | None
    refusal: Refusal | None

    def key_id(self, join_type: str) -> str:
        """What names it at every re-plan: left before right, without strategy and build side, which a re-plan may change."""
        return "|".join(part for part in (join_type.lower(), self.pair, self.target) if part)

    def refused(self, refusal: Refusal) -> Entry:
        """The same without its filter."""
        return replace(self, proposal=None, refusal=refusal)


def checked(entries: Iterable[Entry], rule: Callable[[Proposal], Refusal | None]) -> list[Entry]:
    """The entries, those whose filters break a rule with its reason. What is refused already keeps its first reason."""
    found = []
    for entry in entries:
        refusal = None if entry.proposal is None else rule(entry.proposal)
        found.append(entry if refusal is None else entry.refused(refusal))
    return found


def target_of(columns: tuple[ProbeColumn, ...]) -> str:
    """What is filtered, by names and expression ids: neither changes at a re-plan."""
    return ",".join(f"{column.table}.{column.name}#{column.column}" for column in columns)


def feeds(plan: Plan, feeder: Proposal, source: int) -> bool:
    """Whether a filter reduces what a build side's `source` puts out; a join of the build side itself does so without any."""
    return plan.is_below(feeder.scan, source) and not plan.is_below(feeder.shows_in, source)
