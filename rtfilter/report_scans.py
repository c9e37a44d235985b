"""A scan of a report: what was read of it, by Spark's own metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rtfilter.report_table import number_text, share_text

# The metrics of a scan, in the order of ScanReport.
_COUNTS = (
    *("packs_total", "packs_kept", "packs_read", "files_dropped", "rows_skipped", "numOutputRows"),
    *("packs_by_keys", "rows_wanted", "pages_total", "pages_kept", "key_first_stops"),
)


@dataclass(frozen=True)
class ScanReport:
    """One scan that was narrowed, by Spark's own metrics; None where Spark had none.

    `packs_kept`: what the fill left of its packs, by all its filters together; `packs_read`: what tasks have read of those, fewer
    where conditions of the query itself or what the reader knows besides (dictionaries, column indexes) reject some too.
    `rows_skipped`: rows of kept packs in batches that the reader left out, as none of them had a partner.

    Where keys were decoded first: `packs_by_keys`, packs of which only the keys were decoded, since none of them had a partner;
    `rows_wanted`, rows that had one; `pages_total` and `pages_kept`, the pages of packs with such a row, and those of them that
    were read; `key_first_stops`, executors in which it did not pay and was stopped.
    """

    table: str
    packs_total: int | None
    packs_kept: int | None
    packs_read: int | None
    files_dropped: int | None
    rows_skipped: int | None
    output_rows: int | None
    packs_by_keys: int | None = None
    rows_wanted: int | None = None
    pages_total: int | None = None
    pages_kept: int | None = None
    key_first_stops: int | None = None

    def sentence(self) -> str:
        packs = share_text(self.packs_read, self.packs_total) or "?"
        kept = f" ({self.packs_kept:,} kept)" if self.packs_kept not in (None, self.packs_read) else ""
        dropped, rows = number_text(self.files_dropped) or "?", number_text(self.output_rows) or "?"
        skipped = f", {self.rows_skipped:,} rows left out in batches" if self.rows_skipped else ""
        read = f"scan of {self.table}: {packs} packs read{kept}, {dropped} files not opened{skipped}, {rows} rows out"
        return f"{read}{self._by_keys()}"

    def _by_keys(self) -> str:
        """What decoding the keys first has brought; empty where it was not done."""
        if not self.packs_by_keys and not self.rows_wanted:
            return ""
        wanted = f"; keys first: {self.rows_wanted or 0:,} rows wanted, {self.packs_by_keys or 0:,} packs without a partner"
        pages = f", {self.pages_kept or 0:,} of {self.pages_total:,} pages read in the others" if self.pages_total else ""
        stopped = ", stopped where it did not pay" if self.key_first_stops else ""
        return f"{wanted}{pages}{stopped}"


def scan_report(scan: Mapping[str, Any]) -> ScanReport:
    counts = [scan.get(key) for key in _COUNTS]
    return ScanReport(str(scan.get("table") or "?"), *counts)
