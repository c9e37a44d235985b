"""What a filled filter saves and costs, by the formulas that judged it before it was filled."""

from __future__ import annotations

from dataclasses import dataclass

from planner.cost.formulas import (
    packs_gain_ms,
    row_test,
    row_test_gain_ns,
    row_test_pays,
    rows_gain_ms,
    share_let_through,
    ship_ms,
    verdicts_ms,
)
from planner.decision.figures import DecideSettings, FilterFigures
from planner.decision.shares import Left, share_in_kept_packs, share_passed


@dataclass(frozen=True, slots=True)
class Gains:
    """Of one filter, in ms: what its packs and its row test save, what sending it costs, what filling it has cost already, and what
    the wait for it has saved, whatever becomes of it.

    `rows_alone_ms` is what its row test would save if it got all rows of its packs. `row_ns` is what testing one row
    saves, also where no number of rows is known, and `row_pays` whether that is enough.
    """

    packs_ms: float
    rows_ms: float
    rows_alone_ms: float
    row_ns: float
    row_pays: bool
    ship_ms: float
    fill_ms: float
    wait_ms: float


def gains_of(figures: FilterFigures, left: Left, settings: DecideSettings) -> Gains:
    """By exact keys and verdicts, beside what the filters decided before have left."""
    machine, work, share = settings.machine, figures.ahead, share_passed(figures)
    test = row_test(work, figures.kind, figures.keys, figures.key_span)
    rows_in_kept_packs = figures.rows_total - figures.rows_rejected
    # Of the rows in kept packs more have a partner than of all; by how much, a share that nobody knows can't tell.
    kept = share_in_kept_packs(figures)
    guessed = bool(figures.keys) and not figures.value_span and work.kept is None
    share_in_kept = share if guessed else min(share / kept, 1.0) if kept else 1.0
    share_in_kept = 1.0 if left.holds_in_full(figures) else share_in_kept
    passed = share_let_through(figures.kind, share_in_kept, settings.bloom_fpp)
    return Gains(
        packs_ms=left.scanned * packs_gain_ms(machine, work, figures.rows_rejected, figures.packs_rejected, figures.files_rejected),
        rows_ms=rows_gain_ms(machine, test.work, test.kind, passed, rows_in_kept_packs * left.tested),
        rows_alone_ms=rows_gain_ms(machine, test.work, test.kind, passed, rows_in_kept_packs),
        row_ns=row_test_gain_ns(machine, test.work, test.kind, passed),
        row_pays=row_test_pays(machine, test.work, test.kind, passed),
        ship_ms=ship_ms(machine, figures.kind, figures.keys, figures.key_span),
        fill_ms=work.wait_ms + verdicts_ms(machine, figures.packs_total),
        wait_ms=machine.shared_ms(figures.rows_total * work.spared_ns),
    )
