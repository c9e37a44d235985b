"""What there is to say of a table's indexes, told with the filters on its scans: they do without an index that does not work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.plan.tree import Plan
from planner.reasons import Refusal

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ScanIndex:
    """An index of a scan's table. `covers`: names of columns that it can judge; `refusal`: why it can't be used at all.

    `mistyped`: names of columns that it has, made for a type whose values are not those that the query reads.

    `remarks`: what there is to say of one that is used all the same.
    """

    name: str
    covers: frozenset[str]
    refusal: Refusal | None = None
    remarks: tuple[Refusal, ...] = ()
    mistyped: frozenset[str] = frozenset()

    @property
    def said(self) -> tuple[Refusal, ...]:
        """All that is the matter with it."""
        return self.remarks if self.refusal is None else (self.refusal, *self.remarks)


def codes_of(remarks: Iterable[Refusal]) -> list[str]:
    """The codes of remarks, each once."""
    return list(dict.fromkeys(remark.reason for remark in remarks))


def remarked(entry: Entry, remarks: Sequence[Refusal]) -> dict[str, Any]:
    """An entry of an answer with remarks: their sentences behind its `detail`, their codes as `index_reasons`."""
    if not remarks:
        return dict(entry)
    sentences = dict.fromkeys(remark.detail for remark in remarks)
    return {**entry, "detail": " ".join(part for part in (entry["detail"], *sentences) if part), "index_reasons": codes_of(remarks)}


def with_index_remarks(answer: Mapping[str, Any], plan: Plan, indexes: Mapping[int, Sequence[ScanIndex]]) -> dict[str, Any]:
    """The answer to a plan; its candidates that are placed with what there is to say of the indexes of their scans (by number)."""
    columns = {placeholder["id"]: placeholder["columns"] for placeholder in answer["placeholders"]}
    candidates = [
        remarked(entry, _remarks(plan, entry["scan"], columns[entry["placeholder"]], indexes)) if entry["placeholder"] else entry
        for entry in answer["candidates"]
    ]
    return {**answer, "candidates": candidates}


def _remarks(plan: Plan, number: int, ids: Sequence[int], indexes: Mapping[int, Sequence[ScanIndex]]) -> list[Refusal]:
    names = {column.name for column in plan.scan(number).columns if column.id in ids}
    return [said for index in indexes.get(number, ()) if index.refusal is not None or names & index.covers for said in index.said]
