"""What became of the star-trees of a query's tables: an entry for each aggregate and tree that was considered for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from planner.counted import counted
from rtfilter.report_table import number_text

Json = Mapping[str, Any]


@dataclass(frozen=True)
class TreeReport:
    """One star-tree that was considered for one aggregate of a query.

    `aggregate` is what was asked, for people: `sum(price) by store`. `reason` is a code, `USED` where the tree answers, and
    `detail` its sentence: of the first check that fails. `lacking`: columns of the table that a tree would need as dimensions, by
    that check. `change` is the smallest change that would let the tree answer, empty where none is known.
    `rows_read`: rows of the tree that were chosen for the query, in place of the `base_rows` that the tree stands for. `raw_files`:
    files that it does not cover, which are read beside it. `rows_decoded`: rows that Spark's scans of the tree put out, in whole
    pages; None where it was not used, or nothing has run. Other counts are None where the check before had failed. `computed`:
    `aggregate` holds expressions, in which literals of the query may stand.
    """

    name: str
    table: str
    aggregate: str
    used: bool
    reason: str
    detail: str
    change: str = ""
    rows_read: int | None = None
    rows_decoded: int | None = None
    base_rows: int | None = None
    raw_files: int | None = None
    lacking: tuple[str, ...] = ()
    computed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and texts, ready for JSON."""
        fields = asdict(self)
        del fields["computed"]
        return {**fields, "lacking": list(self.lacking)}

    def sentence(self) -> str:
        asked = f" for {self.aggregate}" if self.aggregate else ""
        decoded = "" if self.rows_decoded is None else f" Scans of it put out {counted(self.rows_decoded, 'row')}."
        change = f" It would answer with {self.change}." if self.change else ""
        return f"star-tree {self.name} of {self.table}{asked}: {self.reason}: {self.detail}{decoded}{change}"


def tree_reports(answers: Iterable[Json], rows_decoded: Mapping[str, int] | None = None) -> tuple[TreeReport, ...]:
    """Out of the planner's answers, in their order; `rows_decoded` is by decision.

    Spark may plan an aggregate of a subquery several times and run it once: then the entry of the one that ran is the only one.
    """
    decoded = rows_decoded or {}
    found = [
        _tree_report(entry, decoded.get(str(answer.get("decision"))))
        for answer in answers
        for entry in answer.get("star_trees") or ()
    ]
    have_run = {replace(each, rows_decoded=None) for each in found if each.rows_decoded is not None}
    others = dict.fromkeys(each for each in found if each.rows_decoded is None and each not in have_run)
    return tuple(each for each in found if each.rows_decoded is not None or others.pop(each, 0) is None)


def used_tree(trees: Iterable[TreeReport]) -> bool:
    return any(each.used for each in trees)


def trees_text(trees: Iterable[TreeReport]) -> str:
    """`2 of 3 star-trees used`; empty where none was considered."""
    found = list(trees)
    return f"{number_text(sum(each.used for each in found))} of {counted(len(found), 'star-tree')} used" if found else ""


def _tree_report(entry: Json, rows_decoded: int | None) -> TreeReport:
    texts = ("name", "table", "aggregate", "reason", "detail", "change")
    is_used = entry.get("used") is True
    return TreeReport(
        **{name: str(entry.get(name) or "") for name in texts},
        used=is_used,
        computed=entry.get("computed") is not False,
        rows_read=entry.get("rows_read"),
        rows_decoded=rows_decoded if is_used else None,
        base_rows=entry.get("base_rows"),
        raw_files=entry.get("raw_files"),
        lacking=tuple(str(name) for name in entry.get("lacking") or ()),
    )
