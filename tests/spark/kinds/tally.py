"""What the cases of a run amount to."""

from __future__ import annotations

import threading
from collections import Counter

from tests.spark.kinds.case import Case
from tests.spark.kinds.run import Outcome


class Tally:
    """Counts of cases by what happened in them; several threads may count. `seconds` is wall time."""

    def __init__(self) -> None:
        self.seconds = self.showing_s = 0.0
        self.counts: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.applied: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, case: Case, outcome: Outcome) -> None:
        rejected = outcome.packs_total - outcome.packs_read
        with self._lock:
            self.showing_s += outcome.showing_s
            self.kinds[case.kind] += 1
            self.applied[case.kind] += outcome.applied
            self.counts["cases"] += 1
            self.counts["applied"] += outcome.applied
            self.counts["rejecting"] += rejected > 0
            self.counts["packs rejected"] += rejected
            self.counts["returning"] += outcome.rows > 0
            self.counts["raising"] += bool(outcome.error)
            self.errors[outcome.error] += bool(outcome.error)
            self.counts["invalid"] += outcome.invalid
            self.counts["unsteady"] += outcome.unsteady
            self.counts["found"] += bool(outcome.finding)

    def share(self, name: str) -> float:
        return self.counts[name] / max(1, self.counts["cases"])

    def __str__(self) -> str:
        counts = self.counts
        by_kind = ", ".join(f"{kind} {self.applied[kind]} of {number}" for kind, number in sorted(self.kinds.items()))
        errors = ", ".join(f"{name} {number}" for name, number in self.errors.most_common() if number)
        rejected = f"packs were rejected in {counts['rejecting']} ({counts['packs rejected']} packs)"
        return (
            f"{counts['cases']} cases in {self.seconds:.0f} s ({self.showing_s:.0f} s for tables): "
            f"a filter was applied in {counts['applied']}, {rejected}, "
            f"rows came back in {counts['returning']}, {counts['raising']} raised in both ({errors}), "
            f"{counts['invalid']} were no valid queries, Spark itself was unsteady in {counts['unsteady']}, "
            f"{counts['found']} findings; applied: {by_kind}"
        )
