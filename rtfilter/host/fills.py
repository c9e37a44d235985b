"""The answer to a fill request: keys in, one verdict per scan and one decision per filter out (docs/protocol.md, "fill")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.decision.figures import DecideSettings, FilterDecision, FilterFigures
from planner.decision.key_first import limits_of
from planner.decision.shares import most_selective_first, share_passed
from planner.inputs.row_work import RowWork
from planner.inputs.table_hints import directive_of
from planner.plan.snapshot import parse_hints
from planner.plan.types import is_whole_number
from planner.questions import decide
from planner.static.decide import decide_static
from planner.static.index_remarks import remarked
from rtfilter.errors import ProtocolError
from rtfilter.host.frames import BodyWriter, Frame
from rtfilter.host.static_predicates import remarks_on_indexes, static_figures, with_static
from rtfilter.store.bounds.filters import BytesRangeFilter, BytesSetFilter, EmptyFilter, KeyFilter, RangesFilter, filter_of_keys
from rtfilter.store.pack_store import StoreVerdict
from rtfilter.store.sketches.bloom import is_filter
from rtfilter.store.tables.verdict import ColumnFilter

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FilledScan:
    """One scan of a request: its filters as asked, and for each the position of its pack verdict, None for a composite one.

    `cost`: what a hint says, None for the session's. `static`: what the query itself asks of the scan, as the request has it.
    """

    number: int
    filters: tuple[Message, ...]
    positions: tuple[int | None, ...]
    columns: tuple[ColumnFilter, ...]
    cost: str | None = None
    static: Message | None = None

    @property
    def predicate(self) -> Message | None:
        return None if self.static is None else self.static["predicate"]

    @property
    def tests_rows(self) -> bool:
        """Whether rows have anything ahead of them that a row test could spare."""
        works = [_row_work(asked) for asked in self.filters]
        return any(work.has_work_ahead or work.looks_up for work in works)


def parse_scan(frame: Frame, scan: Message) -> FilledScan:
    """The filters of one scan of a fill request, in the form that decides on packs.

    Raises:
        ProtocolError: a form that is not in docs/protocol.md.
    """
    positions: list[int | None] = []
    columns: list[ColumnFilter] = []
    for asked in scan["filters"]:
        if asked["form"] == "none":
            positions.append(None)
        else:
            positions.append(len(columns))
            columns.append(ColumnFilter(asked["columns"][0], asked["types"][0], _key_filter(frame, asked), _bloom(frame, asked)))
    cost = directive_of(parse_hints(scan, "the filled scan"), str(scan.get("table"))).cost
    return FilledScan(int(scan["scan"]), tuple(scan["filters"]), tuple(positions), tuple(columns), cost, scan.get("static"))


def _key_filter(frame: Frame, asked: Message) -> KeyFilter:
    form, nulls = asked["form"], bool(asked.get("keep_nulls", False))
    if form == "empty":
        return EmptyFilter(nulls)
    if form not in ("set", "ranges"):
        raise ProtocolError(f"a filter has the form {form!r}, which is none of empty, set, ranges, none")
    if "blob" in asked:
        offsets, blob = frame.int64(asked["offsets"]).astype(np.int64, copy=False), frame.raw(asked["blob"])
        if form == "set":
            return BytesSetFilter(offsets, np.frombuffer(blob, dtype=np.uint8), nulls)
        return BytesRangeFilter(bytes(blob[offsets[0] : offsets[1]]), bytes(blob[offsets[1] : offsets[2]]), nulls)
    if form == "set":
        return filter_of_keys(frame.int64(asked["keys"]).astype(np.int64, copy=False), nulls)
    lows, highs = frame.int64(asked["lows"]), frame.int64(asked["highs"])
    return RangesFilter(lows.astype(np.int64, copy=False), highs.astype(np.int64, copy=False), nulls)


def _bloom(frame: Frame, asked: Message) -> npt.NDArray[np.uint32] | None:
    if asked.get("bloom") is None:
        return None
    words = frame.raw(asked["bloom"])
    if not is_filter(len(words)):
        raise ProtocolError(f"a bloom filter of {len(words)} bytes: it has 32 bytes times a power of two")
    return np.frombuffer(words, dtype="<u4")


def answer_fill(
    scans: Sequence[tuple[FilledScan, StoreVerdict]], settings: DecideSettings, packs_enabled: bool = True
) -> tuple[Message, bytes]:
    """The answer's JSON and body. Filters of a scan come in the order in which their row tests are worth running.

    Without `packs_enabled` no filter rejects a pack.
    """
    answers: list[Message] = []
    filters, arrays = [], []
    for scan, found in scans:
        verdict = found.packs
        positions = scan.positions if packs_enabled else (None,) * len(scan.filters)
        figures = [_figures(asked, position, found) for asked, position in zip(scan.filters, positions, strict=True)]
        own = replace(settings, cost=scan.cost or settings.cost)
        decisions = decide(figures, own)
        applied = _applied_to_packs(scan, decisions) if packs_enabled else []
        static = None if scan.static is None else decide_static(static_figures(scan.static["id"], found), own.cost)
        keep = with_static(verdict.keep_all_of(applied), found, static)
        filters += [] if static is None else [static]
        remarks = remarks_on_indexes(found) if packs_enabled and own.cost != "never" else ()
        filters += [
            {
                **remarked(decisions[number].to_dict(), () if positions[number] is None else remarks),
                "passed_expected": share_passed(figures[number]),
            }
            for number in most_selective_first(figures)
        ]
        packs_kept = int(np.count_nonzero(keep))
        key_first = packs_enabled and any(decision.key_first for decision in decisions)
        arrays.append(verdict.for_reading(keep))
        answers.append(
            {
                "scan": scan.number,
                "apply": packs_kept < verdict.packs_total or key_first or (bool(applied) and own.cost == "always"),
                "key_first": limits_of(own.key_first).to_dict() if key_first else None,
                "packs_total": verdict.packs_total,
                "packs_kept": packs_kept,
                "rows_total": verdict.rows_total,
                "rows_kept": verdict.rows_kept(keep),
                "files_unknown": verdict.files_unknown,
            }
        )
    body = BodyWriter()
    # Wide arrays first: all slices of the body stay aligned.
    for name, position, type in (("starts", 1, np.int64), ("counts", 0, np.int32), ("keep", 2, np.uint8)):
        for answer, of_scan in zip(answers, arrays, strict=True):
            answer[name] = body.add(of_scan[position].astype(type, copy=False))
    return {"scans": answers, "filters": filters}, body.bytes()


def shares_passed(answer: Message) -> dict[str, float]:
    """By id, the share of a scan's rows that a filter of the answer is expected to let through: by its row tests, or by packs."""
    shares = {}
    for each in answer["filters"]:
        if each["decision"] == "applied" and "passed_expected" in each:
            by_packs = each["rows_kept"] / each["rows_total"] if each["rows_total"] else 1.0
            shares[each["id"]] = float(each["passed_expected"] if each["rows"] else by_packs)
    return shares


def _applied_to_packs(scan: FilledScan, decisions: Sequence[FilterDecision]) -> list[int]:
    pairs = zip(scan.positions, decisions, strict=True)
    return [position for position, decision in pairs if decision.applied and position is not None]


def _figures(asked: Message, position: int | None, found: StoreVerdict) -> FilterFigures:
    verdict = found.packs
    known = None if position is None else verdict.figures(position)
    low, high = _ends(asked)
    return FilterFigures(
        id=asked["id"],
        kind=asked["kind"],
        form=asked["form"],
        ahead=_row_work(asked),
        keys=int(asked["distinct"]),
        key_min=low,
        key_max=high,
        build_rows=int(asked["build_rows"]),
        packs_total=verdict.packs_total,
        packs_rejected=0 if known is None else known.packs_rejected,
        rows_total=verdict.rows_total,
        rows_rejected=0 if known is None else known.rows_rejected,
        value_span=known.value_span if known is not None and _counts_values(asked) else None,
        packs_bounded=0 if known is None else known.packs_bounded,
        files_unknown=verdict.files_unknown,
        footer_problem=verdict.problem,
        column_problem="" if known is None else known.column_problem,
        files_rejected=0 if position is None else verdict.files_rejected(position),
        rows_sure=_rows_sure(asked, position, found),
        tested_type=_tested_type(asked, position),
    )


def _row_work(asked: Message) -> RowWork:
    """What the planning sent along; the bridge hands it on as it is."""
    try:
        return RowWork(**asked["ahead"])
    except (KeyError, TypeError) as e:
        raise ProtocolError(f"a filter has ahead = {asked.get('ahead')!r:.80}, not what its placeholder had") from e


def _rows_sure(asked: Message, position: int | None, found: StoreVerdict) -> int:
    """Rows of the packs that pass whole. Ranges around the keys of a bloom filter say nothing of that."""
    exact = asked["kind"] == "range" or (asked["kind"] == "set" and asked["form"] == "set")
    if position is None or not exact or not found.sure:
        return 0
    return found.packs.rows_kept(found.sure[position] & found.packs.keep[position])


def _tested_type(asked: Message, position: int | None) -> str:
    """The type of its column where the Parquet reader can test it, else empty."""
    type_: str = asked["types"][0]
    return type_ if position is not None and is_whole_number(type_) and not asked.get("keep_nulls", False) else ""


def _counts_values(asked: Message) -> bool:
    """Whether a difference of two keys is a number of values: not so for sortable doubles."""
    return asked["types"][0] not in ("float", "double")


def _ends(asked: Message) -> tuple[int | None, int | None]:
    if not _counts_values(asked):
        return None, None
    low, high = asked.get("min"), asked.get("max")
    return (None if low is None else int(low)), (None if high is None else int(high))
