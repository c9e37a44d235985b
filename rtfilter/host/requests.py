"""What the host answers to each request of docs/protocol.md: planner and store put together."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from planner.decide import DecideSettings, FilterDecision, FilterFigures, choose_kind, decide_filters
from planner.generate import PlanSettings, plan_filters
from planner.snapshot import parse_snapshot
from rtfilter.errors import ProtocolError
from rtfilter.host.frames import PROTOCOL, BodyWriter, Frame
from rtfilter.options import Options, defaults
from rtfilter.store.filters import EmptyFilter, KeyFilter, filter_of_keys, filter_of_range
from rtfilter.store.pack_store import PackStore
from rtfilter.store.tables import ColumnFilter, Verdict
from rtfilter.version import __version__

Message = dict[str, Any]


@functools.lru_cache(maxsize=64)
def _options(entries: tuple[tuple[str, str], ...]) -> Options:
    return Options.from_conf(dict(entries))


def options_of(frame: Frame) -> Options:
    """The session's options; the same session asks over and over, so they are parsed once.

    Raises:
        OptionError: an unknown option or a value that does not fit.
    """
    conf: Mapping[str, str] = frame.json.get("conf") or {}
    return _options(tuple(sorted(conf.items())))


class Requests:
    """The handlers, one for each `op`, and the pack store that they share. Called from several threads."""

    def __init__(self) -> None:
        self.packs = PackStore()
        self.store = self.packs.footers
        self._handlers: dict[str, Callable[[Frame], tuple[Message, bytes]]] = {
            "hello": self._hello,
            "plan": self._plan,
            "files": self._files,
            "file_list": self._file_list,
            "footers": self._footers,
            "fill": self._fill,
        }

    def answer(self, frame: Frame) -> tuple[Message, bytes]:
        """The answer to one request: its JSON and its body.

        Raises:
            OptionError: the session's options are wrong.
            ProtocolError: an op that does not exist.
        """
        handler = self._handlers.get(str(frame.json.get("op")))
        if handler is None:
            raise ProtocolError(f"there is no request {frame.json.get('op')!r}")
        return handler(frame)

    def _hello(self, frame: Frame) -> tuple[Message, bytes]:
        return {"protocol": PROTOCOL, "version": __version__, "defaults": defaults()}, b""

    def _plan(self, frame: Frame) -> tuple[Message, bytes]:
        options = options_of(frame)
        if not options.enabled:
            return {"placeholders": [], "candidates": []}, b""
        spark = frame.json.get("spark") or {}
        settings = PlanSettings(
            decision=str(frame.json["decision"]),
            kinds=options.kinds,
            cost=options.cost,
            max_keys=options.set_max_keys,
            adaptive=bool(spark.get("adaptive", True)),
            field_id_read=bool(spark.get("field_id_read", False)),
        )
        return dict(plan_filters(parse_snapshot(frame.json["nodes"]), settings).to_dict()), b""

    def _files(self, frame: Frame) -> tuple[Message, bytes]:
        digest, columns = frame.json["digest"], frame.json["columns"]
        known = self.store.knows(digest, columns)
        if known:
            self.store.prefetch(digest, columns)
        return {"known": known}, b""

    def _file_list(self, frame: Frame) -> tuple[Message, bytes]:
        message = frame.json
        self.store.limit_cache(options_of(frame).footers_cache_bytes)
        self.packs.add_list(message["digest"], message["paths"], message["sizes"], message["mtimes"])
        self.store.prefetch(message["digest"], message["columns"])
        return {"read": self.store.needs_bridge(message["digest"], message["columns"])}, b""

    def _footers(self, frame: Frame) -> tuple[Message, bytes]:
        digest = frame.json["digest"]
        for item in frame.json["items"]:
            if "error" in item:
                self.store.put_footer_error(digest, item["index"], item["error"])
            else:
                self.store.put_footer_bytes(digest, item["index"], frame.raw(item))
        return {}, b""

    def _fill(self, frame: Frame) -> tuple[Message, bytes]:
        options = options_of(frame)
        spark = frame.json.get("spark") or {}
        settings = DecideSettings(cost=options.cost, cores=int(spark.get("cores") or 1))
        unknown, verdicts = [], []
        for scan in frame.json["scans"]:
            columns = [ColumnFilter(f["column"], f["type"], _key_filter(frame, f)) for f in scan["filters"]]
            self.store.prefetch(scan["files"], {column.column for column in columns})
            case_sensitive, wait_s = bool(spark.get("case_sensitive", False)), options.footers_wait_ms / 1000
            verdict = self.packs.verdict(scan["files"], columns, case_sensitive, wait_s, options.store_location)
            if verdict is None:
                unknown.append(scan["files"])
            else:
                verdicts.append((scan, verdict.packs))
        if unknown:
            return {"unknown_digests": unknown}, b""
        return _answer_fill(verdicts, settings)


def _key_filter(frame: Frame, asked: Message) -> KeyFilter:
    """The filter of a request's keys, in the form that decides on packs."""
    if not asked["distinct"]:
        return EmptyFilter()
    if choose_kind(str(asked["kinds"]).split(","), bool(asked["complete"])) == "set":
        return filter_of_keys(frame.int64(asked["keys"]).astype(np.int64, copy=False))
    return filter_of_range(int(asked["min"]), int(asked["max"]))


def _answer_fill(verdicts: Sequence[tuple[Message, Verdict]], settings: DecideSettings) -> tuple[Message, bytes]:
    body = BodyWriter()
    # Wide arrays first: all slices of the body stay aligned.
    starts = [body.add(verdict.starts) for _, verdict in verdicts]
    counts = [body.add(verdict.counts) for _, verdict in verdicts]
    scans, filters = [], []
    for (scan, verdict), starts_part, counts_part in zip(verdicts, starts, counts, strict=True):
        decisions = _decide(scan, verdict, settings)
        applied = [number for number, decision in enumerate(decisions) if decision.applied]
        keep = verdict.keep_all_of(applied)
        filters += [decision.to_dict() for decision in decisions]
        scans.append(
            {
                "scan": scan["scan"],
                "apply": bool(applied),
                "counts": counts_part,
                "starts": starts_part,
                "keep": body.add(keep.astype(np.uint8)),
                "packs_total": verdict.packs_total,
                "packs_kept": int(np.count_nonzero(keep)),
                "rows_total": verdict.rows_total,
                "rows_kept": verdict.rows_kept(keep),
                "files_unknown": verdict.files_unknown,
            }
        )
    return {"scans": scans, "filters": filters}, body.bytes()


def _decide(scan: Message, verdict: Verdict, settings: DecideSettings) -> tuple[FilterDecision, ...]:
    asked = []
    for number, each in enumerate(scan["filters"]):
        known = verdict.figures(number)
        asked.append(
            FilterFigures(
                id=each["id"],
                kinds=tuple(str(each["kinds"]).split(",")),
                complete=bool(each["complete"]),
                keys=int(each["distinct"]),
                key_min=each["min"],
                key_max=each["max"],
                build_rows=int(each["build_rows"]),
                packs_total=known.packs_total,
                packs_rejected=known.packs_rejected,
                rows_total=known.rows_total,
                rows_rejected=known.rows_rejected,
                value_span=known.value_span,
                files_unknown=verdict.files_unknown,
            )
        )
    return decide_filters(asked, settings)
