"""What the queries of a run amount to."""

from __future__ import annotations

import threading

from tests.spark.differential.run import Outcome


class Tally:
    """Counts of queries by what happened in them; several threads may count. `seconds` is wall time."""

    def __init__(self, first_seed: int) -> None:
        self.first_seed = first_seed
        self.seconds = 0.0
        self.queries = self.rejecting = self.dropping = self.skipping = 0
        self.waiting = self.returning = self.hanging = self.too_large = 0
        self.packs_total = self.packs_read = 0
        self._lock = threading.Lock()

    def count(self, outcome: Outcome) -> None:
        with self._lock:
            self.queries += 1
            self.rejecting += outcome.packs_rejected > 0
            self.dropping += outcome.rows_dropped > 0
            self.skipping += outcome.rows_skipped > 0
            self.waiting += outcome.gates > 0
            self.returning += outcome.rows > 0
            self.hanging += outcome.hangs
            self.too_large += outcome.too_large
            self.packs_total += outcome.packs_total
            self.packs_read += outcome.packs_read

    def __str__(self) -> str:
        rejected = f"{self.packs_total - self.packs_read} of {self.packs_total} packs of narrowed scans"
        return (
            f"{self.queries} queries from seed {self.first_seed} on in {self.seconds:.1f} s: {self.rejecting} had packs rejected "
            f"({rejected}), {self.dropping} had rows dropped, {self.skipping} had batches skipped, "
            f"{self.waiting} had filters that a scan waited for, {self.returning} returned rows, {self.hanging} hung, "
            f"{self.too_large} had too many rows to collect"
        )
