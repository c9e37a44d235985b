"""Does the reader decode the keys first, and of the other columns only pages that hold a row with a partner?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.counted import counted
from planner.decision.figures import DecideSettings, FilterFigures
from planner.decision.shares import share_in_kept_packs, share_passed
from planner.plan.widths import value_bytes

ALWAYS, NEVER = "always", "never"
# A row group is read by ranges of rows where the pages with a wanted row have at most this share of its bytes. Measured outside of
# Spark with pages of 20,000 rows: where every page is touched, ranges take up to 18 % more than the whole row group.
MOST_SHARE = 0.8
# After so many row groups the reader goes on only where it has spared more bytes than it has decoded twice.
TRIED_GROUPS, WORTH = 3, 1.0
# Wanted rows that lie together are in few pages, which no figure tells before. So it is tried unless more than this share is
# wanted, or so few row groups are left that the trial would be a large part of the scan.
MOST_WANTED, LEAST_PACKS = 0.1, 8
# Rows of a page by most writers (parquet-java, pyarrow).
PAGE_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class KeyFirst:
    """Whether a filter's column is decoded first, and why."""

    starts: bool
    detail: str


@dataclass(frozen=True, slots=True)
class KeyFirstLimits:
    """The numbers that the reader goes by (docs/protocol.md)."""

    most_share: float
    groups: int
    worth: float

    def to_dict(self) -> dict[str, float | int]:
        return {"most_share": self.most_share, "groups": self.groups, "worth": self.worth}


def limits_of(key_first: str) -> KeyFirstLimits:
    """Where it is always wanted it never stops. Which pages are read is still chosen for each row group."""
    return KeyFirstLimits(MOST_SHARE, TRIED_GROUPS, 0.0 if key_first == ALWAYS else WORTH)


def judge_key_first(figures: FilterFigures, settings: DecideSettings) -> KeyFirst:
    """Whether the reader decodes this filter's column first. The reader stops by itself where that does not pay."""
    if settings.cost == NEVER or settings.key_first == NEVER:
        return KeyFirst(False, "Keys are not decoded first: rtfilter.cost or rtfilter.keyFirst is never.")
    if not figures.tested_type:
        return KeyFirst(False, "Keys are not decoded first: the reader tests one column of whole numbers or dates.")
    packs = figures.packs_total - figures.packs_rejected
    if packs <= 0:
        return KeyFirst(False, "Keys are not decoded first: there is no pack that is known and kept.")
    if settings.key_first == ALWAYS:
        return KeyFirst(True, "Keys are decoded first, for rtfilter.keyFirst is always.")
    key_bytes = value_bytes(figures.tested_type)
    if figures.ahead.scan_bytes < 2 * key_bytes:
        return KeyFirst(False, "Keys are not decoded first: the other columns are no larger than the key.")
    kept = share_in_kept_packs(figures)
    wanted = min(share_passed(figures) / kept, 1.0) if kept else 1.0
    if wanted > MOST_WANTED:
        return KeyFirst(False, f"Keys are not decoded first: about {wanted:.0%} of the rows have a partner.")
    if packs < LEAST_PACKS and not surely_pays(figures, packs, wanted, key_bytes / figures.ahead.scan_bytes):
        return KeyFirst(False, f"Keys are not decoded first: {counted(packs, 'pack')} are too few to try it.")
    return KeyFirst(True, "Keys are decoded first, and of the other columns the pages that hold a row with a partner.")


def surely_pays(figures: FilterFigures, packs: int, wanted: float, key_share: float) -> bool:
    """Whether it would pay also if the wanted rows lay at random: m of them among P pages touch P * (1 - (1 - 1/P)^m)."""
    rows = (figures.rows_total - figures.rows_rejected) / packs
    pages, rows_wanted = max(math.ceil(rows / PAGE_ROWS), 1), rows * wanted
    untouched = (1.0 - 1.0 / pages) ** rows_wanted if pages > 1 else math.exp(-rows_wanted)
    return untouched * (1.0 - key_share) > WORTH * key_share
