"""The log of an index or a star-tree: numbered entries, each made once and never changed.

An action begins with a transient entry and ends with a stable one; whoever makes an entry first has won. Readers use the latest
stable entry, so that an action under way, or one that died, shows nothing of itself.
"""

from __future__ import annotations

import json
import os
import socket
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rtfilter.errors import IndexStateError, IndexStorageError
from rtfilter.store.index_files.open_limits import UNLIMITED, Allowance
from rtfilter.store.index_files.snapshot import MOST_SEGMENTS, Snapshot, snapshot_from_dict
from rtfilter.store.index_files.storage import LARGEST_LOG_ENTRY_BYTES, LOG, IndexFiles, IndexStorage
from rtfilter.store.index_files.tree_snapshot import TREES_FOLDER, TreeSnapshot, is_tree, tree_snapshot_from_dict

FORMAT = 1
ACTIVE, DELETED, DOES_NOT_EXIST = "ACTIVE", "DELETED", "DOES_NOT_EXIST"
STABLE = (ACTIVE, DELETED, DOES_NOT_EXIST)
CANCELLING = "CANCELLING"
UNREADABLE = "UNREADABLE"
# Longer than any action takes: a writer that is still at work must find the numbers after its own taken, not freed.
KEPT_S = 86_400.0
OTHER_VERSION = "OTHER_VERSION"
# Lists and objects, and commas, of one entry: as the largest has them.
MOST_PARTS = 150_000
MOST_VALUES = 500_000
_LONGEST_WHY = 300


@dataclass(frozen=True, slots=True)
class Action:
    """What can be done to an index: its transient state, and the states that it may start from."""

    name: str
    transient: str
    starts: tuple[str, ...]


CREATE = Action("create", "CREATING", (DOES_NOT_EXIST,))
REFRESH = Action("refresh", "REFRESHING", (ACTIVE,))
OPTIMIZE = Action("optimize", "OPTIMIZING", (ACTIVE,))
DELETE = Action("delete", "DELETING", (ACTIVE,))
RESTORE = Action("restore", "RESTORING", (DELETED,))
VACUUM = Action("vacuum", "VACUUMING", (ACTIVE, DELETED))
_TRANSIENT = (CANCELLING, *(each.transient for each in (CREATE, REFRESH, OPTIMIZE, DELETE, RESTORE, VACUUM)))

# What a stable entry holds: an index, or a star-tree.
Held: TypeAlias = Snapshot | TreeSnapshot


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry. `at_s`: seconds since 1970, for people. Stable entries but DOES_NOT_EXIST have a snapshot, or a tree.

    `token`: no two entries have the same, not even those of one number in an index that was removed and made again. `why`: of an
    UNREADABLE one, what is the matter with it.
    """

    number: int
    state: str
    at_s: float
    writer: str
    snapshot: Snapshot | None
    token: str = ""
    why: str = ""
    tree: TreeSnapshot | None = None

    @property
    def held(self) -> Held | None:
        """Its snapshot, of whichever kind."""
        return self.snapshot or self.tree

    @property
    def version(self) -> str:
        """What tells a snapshot from every other one that its directory ever had."""
        return f"{self.number}:{self.token}"

    @property
    def is_stable(self) -> bool:
        return self.state in STABLE


@dataclass(frozen=True, slots=True)
class LogView:
    """The end of a log: its latest entry (None: empty log) and its latest stable one."""

    latest: LogEntry | None
    stable: LogEntry | None

    @property
    def number(self) -> int:
        return 0 if self.latest is None else self.latest.number

    @property
    def state(self) -> str:
        """The state that readers see."""
        return DOES_NOT_EXIST if self.stable is None else self.stable.state

    @property
    def under_way(self) -> LogEntry | None:
        """The action that has begun and not ended."""
        return None if self.latest is None or self.latest.is_stable else self.latest

    @property
    def snapshot(self) -> Snapshot | None:
        """The index; None also where a star-tree is."""
        return None if self.stable is None else self.stable.snapshot

    @property
    def tree(self) -> TreeSnapshot | None:
        """The star-tree; None also where an index is."""
        return None if self.stable is None else self.stable.tree

    @property
    def held(self) -> Held | None:
        """Either of both."""
        return None if self.stable is None else self.stable.held


def read_log(storage: IndexFiles, allowance: Allowance = UNLIMITED) -> LogView:
    """The end of an index's log; an entry that can't be read counts as an action that died.

    Raises:
        IndexStorageError: the place can't be listed, or more is allowed than it takes.
    """
    latest: LogEntry | None = None
    for name in reversed(storage.names(LOG)):
        allowance.check()
        entry = _read_entry(storage, name)
        latest = latest or entry
        if entry.is_stable:
            return LogView(latest, entry)
    return LogView(latest, None)


def _number_of(name: str) -> int:
    return int(name.removeprefix(f"{LOG}/").removesuffix(".json"))


def _read_entry(storage: IndexFiles, name: str) -> LogEntry:
    number = _number_of(name)
    try:
        content = _parsed(storage.read(name))
        if isinstance(content, Mapping) and type(content.get("format")) is int and content["format"] != FORMAT:
            return LogEntry(number, OTHER_VERSION, 0.0, "", None)
        return _entry_from_dict(number, content)
    except (IndexStorageError, ValueError, RecursionError) as error:
        return _unreadable(number, error)


def _unreadable(number: int, error: Exception) -> LogEntry:
    why = " ".join(str(error).split()).rstrip(".")
    return LogEntry(number, UNREADABLE, 0.0, "", None, why=f"{why[:_LONGEST_WHY]} …" if len(why) > _LONGEST_WHY else why)


def _parsed(text: bytes) -> Any:
    """An entry's JSON, unless it is much more than any entry has: an empty list is 2 bytes here and 56 in memory.

    Raises:
        ValueError, RecursionError: it is, or it is no JSON.
    """
    parts, values = text.count(b"{") + text.count(b"["), text.count(b",")
    if parts > MOST_PARTS or values > MOST_VALUES:
        raise ValueError(f"{parts} lists and objects and {values} commas are more than any entry has")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON, {error.msg} at character {error.pos}") from error


def _entry_from_dict(number: int, content: Any) -> LogEntry:
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise ValueError("not an entry of this format")
    state, at_s, writer = content.get("state"), content.get("at_s"), str(content.get("writer"))
    if state not in STABLE and state not in _TRANSIENT:
        raise ValueError(f"an unknown state {state!r:.40}")
    token, when_s = str(content.get("token", "")), float(at_s) if isinstance(at_s, int | float) else 0.0
    if state not in (ACTIVE, DELETED):
        return LogEntry(number, str(state), when_s, writer, None, token)
    if "snapshot" not in content:
        raise ValueError("a stable entry without a snapshot")
    if is_tree(content["snapshot"]):
        return LogEntry(number, state, when_s, writer, None, token, tree=tree_snapshot_from_dict(content["snapshot"]))
    return LogEntry(number, state, when_s, writer, snapshot_from_dict(content["snapshot"]), token)


class MovedOnError(IndexStateError):
    """Another action has ended since the table was listed for this one."""


def begin(storage: IndexStorage, action: Action, listed_at: int | None = None) -> LogView:
    """Begins an action: from now on nobody else can, until it ends or is cancelled. Gives the log as it was before.

    `listed_at`: the number of the log's latest entry when the table was listed, so that no older list replaces a newer one.

    Raises:
        MovedOnError: the log has moved on since the table was listed.
        IndexStateError: the index is in a state that the action can't start from, another action is under way, or one was faster.
        IndexStorageError: the place can't be used.
    """
    view = require_startable(storage, action)
    if listed_at is not None and view.number != listed_at:
        raise MovedOnError(f"{action.name} of {named(storage)}: another writer was faster; start it again.")
    if not _append(storage, view.number + 1, action.transient, None):
        raise IndexStateError(f"{action.name} of {named(storage)}: another writer has just begun; try again after it.")
    return view


def require_startable(storage: IndexFiles, action: Action) -> LogView:
    """The log, if the action may begin now.

    Raises:
        IndexStateError: the state is one that it can't start from, or another action is under way.
        IndexStorageError: the place can't be used.
    """
    view = read_log(storage)
    if view.under_way is not None:
        raise IndexStateError(_busy(storage, action, view.under_way))
    if view.state not in action.starts:
        raise IndexStateError(_wrong_state(storage, action, view.state))
    return view


def end(storage: IndexStorage, action: Action, before: LogView, state: str, held: Held | None) -> None:
    """Ends an action that began when the log was as `before`.

    Raises:
        IndexStateError: the action was cancelled meanwhile; nothing of it counts.
        IndexStorageError: the place can't be used.
    """
    if not _append(storage, before.number + 2, state, held):
        raise IndexStateError(
            f"{action.name} of {named(storage)} was cancelled by somebody else before it ended: nothing of it counts. "
            "Start it again."
        )


def replaced_lately(storage: IndexStorage, before: LogView, seconds: float) -> set[str]:
    """The data files of snapshots that an action ended in the last so many seconds: queries that began before may read them still.

    Raises:
        IndexStorageError: the place can't be used.
    """
    found: set[str] = set()
    replaced_s, since_s = time.time(), time.time() - seconds
    for name in reversed(storage.names(LOG)):
        entry = _read_entry(storage, name)
        if before.stable is None or entry.number > before.stable.number or not entry.is_stable:
            continue
        if replaced_s < since_s:
            break
        found.update(file.name for file in (() if entry.held is None else entry.held.data_files))
        replaced_s = entry.at_s
    return found


def drop_old_entries(storage: IndexStorage, before: LogView) -> None:
    """Removes the entries in front of the stable one that an action began with, once they are a day old: nobody reads so far.

    Each stable entry repeats the whole snapshot, so that a log without end grows with the square of its refreshes.

    Raises:
        IndexStorageError: the place can't be used.
    """
    stable, young_s = 0 if before.stable is None else before.stable.number, time.time() - KEPT_S
    for name in storage.names(LOG):
        if _number_of(name) >= stable or _read_entry(storage, name).at_s > young_s:
            return
        storage.delete(name)


def cancel(storage: IndexStorage) -> LogView:
    """Ends an action that died, or is to stop, in the state before it. Nothing under way: nothing happens.

    Raises:
        IndexStateError: the action ended, or somebody else cancelled it, at the same moment.
        IndexStorageError: the place can't be used.
    """
    view = read_log(storage)
    if view.under_way is None:
        return view
    for number, state, held in ((view.number + 1, CANCELLING, None), (view.number + 2, view.state, view.held)):
        if not _append(storage, number, state, held):
            raise IndexStateError(f"cancel of {named(storage)}: another writer was faster; look at its state again.")
    return read_log(storage)


def _append(storage: IndexStorage, number: int, state: str, held: Held | None) -> bool:
    # No two entries are equal, so that a writer knows its own again when the answer to its request got lost.
    at_s, token = round(time.time(), 3), uuid.uuid4().hex
    entry: dict[str, Any] = {"format": FORMAT, "state": state, "at_s": at_s, "writer": _writer(), "token": token}
    if held is not None:
        entry["snapshot"] = held.to_dict()
    content = json.dumps(entry, separators=(",", ":")).encode()
    if held is not None and (len(content) > LARGEST_LOG_ENTRY_BYTES or len(held.segments) > MOST_SEGMENTS):
        raise IndexStorageError(too_many_segments(storage, len(held.segments)))
    return storage.create(f"{LOG}/{number:020d}.json", content)


def named(storage: IndexFiles) -> str:
    """What a place holds, for messages."""
    is_of_tree = os.path.basename(os.path.dirname(storage.place)) == TREES_FOLDER
    return f"the {'star-tree' if is_of_tree else 'index'} in {storage.place}"


def too_many_segments(storage: IndexStorage, segments: int) -> str:
    """What a writer says that would make an entry which no reader takes."""
    return (
        f"{named(storage)} would have {segments} segments, more than an entry of its log may hold "
        f"({MOST_SEGMENTS} segments and {LARGEST_LOG_ENTRY_BYTES >> 20} MiB); use optimize, which merges them."
    )


def _writer() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def _busy(storage: IndexFiles, action: Action, other: LogEntry) -> str:
    since = "" if not other.at_s else f" since {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(other.at_s))}"
    return (
        f"{action.name} of {named(storage)}: it is {other.state}{since} (writer {other.writer or 'unknown'}). Wait for "
        "that, or, if that writer is dead, run cancel."
    )


def _wrong_state(storage: IndexFiles, action: Action, state: str) -> str:
    ways = {
        (CREATE.name, ACTIVE): "it exists already; use refresh, or another name",
        (CREATE.name, DELETED): "it was deleted; use restore, or vacuum and then create",
        (RESTORE.name, ACTIVE): "it is not deleted",
        (DELETE.name, DELETED): "it is deleted already",
    }
    default = "it was deleted; use restore first" if state == DELETED else "there is none; use create first"
    return f"{action.name} of {named(storage)}: {ways.get((action.name, state), default)} (state {state})."
