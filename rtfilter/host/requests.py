"""What the host answers to each request of docs/protocol.md: planner and store put together."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from planner.cost.filters_at_work import with_filters_at_work
from planner.cost.rows_left import rows_left, rows_to_see, with_rows_left
from planner.decision.figures import DecideSettings
from planner.inputs.row_work import RowWork
from planner.inputs.settings import PlanSettings
from planner.placement.wait_credit import waits_of
from planner.plan.snapshot import parse_snapshot
from planner.questions import place, static
from planner.static.answer import with_statics
from planner.static.index_remarks import with_index_remarks
from rtfilter.errors import ProtocolError
from rtfilter.feedback.bounded_memory import Memory, OfExecution
from rtfilter.feedback.final_plans import FinalPlans
from rtfilter.feedback.history_file import FeedbackStore
from rtfilter.folders import cache_directory
from rtfilter.host.ended_queries import Accounts
from rtfilter.host.fills import Message, answer_fill, parse_scan, shares_passed
from rtfilter.host.filter_history import FilterHistory
from rtfilter.host.frames import PROTOCOL, Frame
from rtfilter.host.input_pipe import widened_input_pipe_bytes
from rtfilter.host.machine_constants import machine_of
from rtfilter.host.star_trees import answer_star
from rtfilter.host.static_predicates import indexes_of_scans, indexes_of_targets
from rtfilter.host.table_facts import with_table_facts
from rtfilter.host.tasks import answer_tasks
from rtfilter.options import Options, defaults
from rtfilter.star_tree.opened_trees import OpenedTrees
from rtfilter.store.footer_cache.kept_folder import kept_in
from rtfilter.store.index_files.local_cache import LocalCache, cache_directory_of
from rtfilter.store.index_reading.reading_journal import ReadingJournal
from rtfilter.store.pack_store import PackStore
from rtfilter.version import __version__

FEEDBACK_FILE = "feedback.json"
# Of the time that the bridge waits for an answer (rtfilter.planner.timeoutMs): what may go into waiting for footers and indexes of
# all scans of a stage.
ANSWER_SHARE = 0.6
# Longest wait for the last kept footers to be written.
FLUSH_S = 0.6


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

    def __init__(self, journal: ReadingJournal | None = None) -> None:
        self._journal = journal
        self.packs = PackStore(journal=journal)
        self.store = self.packs.footers
        self.trees = OpenedTrees()
        self.feedback = FeedbackStore(cache_directory() / FEEDBACK_FILE)
        self._seen_rows: Memory[int] = Memory()
        self._final_plans = FinalPlans()
        self._shares: Memory[float] = Memory()
        self._waits: Memory[RowWork] = Memory()
        self._placed: Memory[bool] = Memory()
        self._accounts = Accounts(self.feedback)
        self._handlers: dict[str, Callable[[Frame], tuple[Message, bytes]]] = {
            "hello": self._hello,
            "plan": self._plan,
            "files": self._files,
            "file_list": self._file_list,
            "footers": self._footers,
            "index_files": self._index_files,
            "fill": self._fill,
            "tasks": self._tasks,
            "star": self._star,
            "executed": self._executed,
        }

    def close(self) -> None:
        """No request comes any more."""
        self.store.kept.flush(FLUSH_S)
        if self._journal is not None:
            self._journal.close()
        self._accounts.close()

    def answer(self, frame: Frame) -> tuple[Message, bytes]:
        """The answer to one request: its JSON and its body.

        Raises:
            OptionError: the session's options are wrong.
            ProtocolError: an op that does not exist.
            QueryLogError: the query log can't be written.
        """
        handler = self._handlers.get(str(frame.json.get("op")))
        if handler is None:
            raise ProtocolError(f"there is no request {frame.json.get('op')!r}")
        return handler(frame)

    def _hello(self, frame: Frame) -> tuple[Message, bytes]:
        # Without waiting: a cache directory that hangs would look like a host that hangs.
        self._accounts.begin_refresh()
        return {"protocol": PROTOCOL, "version": __version__, "defaults": defaults(), "pipe_bytes": widened_input_pipe_bytes()}, b""

    def _plan(self, frame: Frame) -> tuple[Message, bytes]:
        options = options_of(frame)
        if not options.enabled:
            return {"placeholders": [], "candidates": [], "unsettled": []}, b""
        spark = frame.json.get("spark") or {}
        execution = frame.json.get("execution")
        waits, placed = OfExecution(self._waits, execution), OfExecution(self._placed, execution)
        settings = PlanSettings(
            decision=str(frame.json["decision"]),
            kinds=options.kinds,
            cost=options.cost,
            max_keys=options.set_max_keys,
            bloom_fpp=options.bloom_fpp,
            bloom_max_bytes=options.bloom_max_bytes,
            job_from_rows=options.keys_job_from_rows,
            # Without reuse a build side that is waited for runs once for its keys and once for the join.
            gate_enabled=options.gate_enabled and (bool(spark.get("reuse", True)) or options.cost == "always"),
            packs_enabled=options.packs_enabled,
            adaptive=bool(spark.get("adaptive", True)) and not frame.json.get("static_only", False),
            field_id_read=bool(spark.get("field_id_read", False)),
            goes_on=bool(frame.json.get("goes_on", False)),
            machine=machine_of(spark),
            waited=waits.get,
            placed_before=lambda key_id: placed.get(key_id) is not None,
        )
        plan = with_table_facts(parse_snapshot(frame.json["nodes"]), self.packs.seen)
        plan = with_filters_at_work(plan, self._shares.get)
        if options.feedback_enabled:
            self._seen_rows.tell(rows_left(plan))
            plan = with_rows_left(plan, self._seen_rows.get)
        indexes = indexes_of_scans(self.packs, plan, bool(spark.get("case_sensitive")), options)
        statics = static(plan, settings, indexes) if options.packs_enabled else ()
        history = FilterHistory(self._accounts.feedback_of(options), options.store_location) if options.feedback_enabled else None
        planned = place(plan, settings if history is None else history.recalled(settings))
        waits.tell(waits_of(planned))
        placed.tell({each.key_id: True for each in planned.candidates if each.placeholder is not None})
        answer: dict[str, Any] = planned.to_dict() if history is None else history.named(planned)
        if history is not None and execution is not None and self._final_plans.wanted(rows_to_see(plan)):
            answer = {**answer, "wants_end": True}
        if options.packs_enabled:
            scans = (placeholder["scan"] for placeholder in answer["placeholders"])
            targets = indexes_of_targets(self.packs, plan, scans, bool(spark.get("case_sensitive")), options)
            answer = with_index_remarks(answer, plan, targets)
        return with_statics(answer, statics), b""

    def _star(self, frame: Frame) -> tuple[Message, bytes]:
        return answer_star(self.packs, self.trees, frame.json, options_of(frame)), b""

    def _files(self, frame: Frame) -> tuple[Message, bytes]:
        digest, columns = frame.json["digest"], frame.json["columns"]
        recalled = self._recall(frame, digest, columns)
        known = self.store.knows(digest, columns)
        if known and recalled:
            self.store.prefetch(digest, columns)
            self._lay_out(frame)
        return {"known": known, "indexes": known and self._has_remote_indexes(frame)}, b""

    def _file_list(self, frame: Frame) -> tuple[Message, bytes]:
        message = frame.json
        digest = message["digest"]
        self.store.limit_cache(options_of(frame).footers_cache_bytes)
        self.packs.shelf.limit_memory(options_of(frame).footers_cache_bytes)
        self.packs.add_list(digest, message["paths"], message["sizes"], message["mtimes"])
        read: list[int] = []
        if self._recall(frame, digest, message["columns"]):
            self.store.prefetch(digest, message["columns"])
            read = self.store.needs_bridge(digest, message["columns"])
            self._lay_out(frame)
        return {"read": read, "indexes": self._has_remote_indexes(frame)}, b""

    def _recall(self, frame: Frame, digest: str, columns: Iterable[str], wait_s: float | None = None) -> bool:
        """Finds what earlier applications have read of a list's footers. False while that is coming: to read files would only
        hold it up."""
        options = options_of(frame)
        place = kept_in(cache_directory_of(options.store_cache_directory), options.store_cache_bytes)
        longest_s = ANSWER_SHARE * options.planner_timeout_ms / 1000
        return self.packs.recall(digest, place, columns, longest_s if wait_s is None else wait_s)

    def _lay_out(self, frame: Frame) -> None:
        """Spares the fill that comes the work that needs no keys."""
        spark = frame.json.get("spark") or {}
        types: Mapping[str, str] = frame.json.get("types") or {}
        self.store.lay_out(frame.json["digest"], types, bool(spark.get("case_sensitive", False)))

    def _has_remote_indexes(self, frame: Frame) -> bool:
        """Whether indexes may be where only the bridge can look."""
        return bool(self.packs.remote_places(frame.json["digest"], options_of(frame).store_location))

    def _index_files(self, frame: Frame) -> tuple[Message, bytes]:
        message, options, mirror = frame.json, options_of(frame), self.packs.shelf.mirror
        if message.get("look") is not None:
            look, wants = mirror.go_on(message["look"], message["answers"])
        else:
            places = self.packs.remote_places(message["digest"], options.store_location)
            cache = LocalCache(cache_directory_of(options.store_cache_directory), options.store_cache_bytes)
            look, wants = mirror.look(places, message["columns"], cache)
        return {"look": look, "wants": wants}, b""

    def _footers(self, frame: Frame) -> tuple[Message, bytes]:
        digest = frame.json["digest"]
        for item in frame.json["items"]:
            if "error" in item:
                self.store.put_footer_error(digest, item["index"], item["error"])
            else:
                self.packs.put_footer_bytes(digest, item["index"], frame.raw(item))
        return {}, b""

    def _executed(self, frame: Frame) -> tuple[Message, bytes]:
        options = options_of(frame)
        try:
            if options.feedback_enabled:
                for nodes in frame.json["plans"]:
                    self._seen_rows.tell(rows_left(parse_snapshot(nodes)))
        finally:
            record = dict(frame.json["record"])
            record.update((key, frame.json[key]) for key in ("asked", "again", "ms", "failed") if key in frame.json)
            self._accounts.add(record, options)
        return {}, b""

    def _tasks(self, frame: Frame) -> tuple[Message, bytes]:
        return answer_tasks(frame), b""

    def _fill(self, frame: Frame) -> tuple[Message, bytes]:
        options = options_of(frame)
        spark = frame.json.get("spark") or {}
        settings = DecideSettings(options.cost, machine_of(spark), options.bloom_fpp, options.key_first)
        unknown, verdicts = [], []
        deadline_s = time.monotonic() + ANSWER_SHARE * options.planner_timeout_ms / 1000
        for asked in frame.json["scans"]:
            scan = parse_scan(frame, asked)
            digest, columns = asked["files"], {column.column for column in scan.columns}
            wait_s = options.footers_wait_ms / 1000
            if self._recall(frame, digest, columns, min(wait_s, max(deadline_s - time.monotonic(), 0.0))):
                self.store.prefetch(digest, columns)
            case_sensitive = bool(spark.get("case_sensitive", False))
            verdict = self.packs.verdict(
                digest,
                scan.columns,
                case_sensitive,
                wait_s,
                options.store_location,
                options.store_cache_directory,
                predicate=scan.predicate,
                deadline_s=deadline_s,
                max_stale=options.index_max_stale,
                accepts=scan.tests_rows,
            )
            if verdict is None:
                unknown.append(asked["files"])
            else:
                verdicts.append((scan, verdict))
        if unknown:
            return {"unknown_digests": unknown}, b""
        answer, body = answer_fill(verdicts, settings, options.packs_enabled)
        self._shares.tell(shares_passed(answer))
        return {**answer, "footers": {"read": self.store.footers_read, "kept": self.store.footers_recalled}}, body
