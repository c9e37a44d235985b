"""Files on filesystems that Python can't open: single steps that somebody else carries out, and what they answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rtfilter.store.index_files.index_problems import INDEX_CORRUPT, INDEX_UNREACHABLE, IndexProblemError
from rtfilter.store.index_files.storage import LARGEST_LOG_ENTRY_BYTES
from rtfilter.store.index_files.tree_snapshot import is_index_name

MOST_INDEXES_IN_A_PLACE = 100

Wish = dict[str, Any]
Answer = Mapping[str, Any]

# Whose create(overwrite=false) looks and makes in one step, as Hadoop's filesystem specification asks: by the namenode (hdfs and
# its web forms, Ozone's manager), by If-None-Match (abfs), by a generation precondition (gs). S3A declares it as a path capability
# where the store has conditional writes. Hadoop's local and FTP filesystems look first and make then; viewfs may lead anywhere.
ATOMIC_CREATE_SCHEMES = frozenset({"hdfs", "webhdfs", "swebhdfs", "abfs", "abfss", "gs", "ofs", "o3fs"})


class FileAccess(Protocol):
    """Who can reach the files: the bridge, in a session's driver."""

    def steps(self, wishes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Carries out steps in order; an answer has `missing` or `error` when its step went wrong."""
        ...

    def create(self, path: str, content: bytes, conditional: bool) -> None:
        """Makes a file unless there is one. Raises IndexStorageError, also where it can't be told whether it was made."""
        ...

    def read(self, path: str, at: int, count: int) -> bytes:
        """Part of a file. Raises IndexStorageError."""
        ...


@dataclass(frozen=True, slots=True)
class RemoteEntry:
    """A file or directory of another filesystem; path as Hadoop's qualified text, time in ms."""

    path: str
    name: str
    is_directory: bool
    size_bytes: int
    mtime_ms: int


def list_wish(folder: str) -> Wish:
    return {"op": "list", "path": folder}


def text_wish(path: str) -> Wish:
    """For a log entry: one byte more than the largest has, so that a larger one shows."""
    return {"op": "text", "path": path, "most": LARGEST_LOG_ENTRY_BYTES + 1}


def down_wish(path: str, local: str, size_bytes: int) -> Wish:
    """Copies a file to this machine, of a larger one than expected only a byte more."""
    return {"op": "down", "path": path, "local": local, "most": size_bytes + 1}


def entry_of(answer: Answer) -> RemoteEntry:
    return RemoteEntry(answer["path"], answer["name"], answer["directory"], answer["bytes"], answer["mtime_ms"])


def entries_of(wish: Wish, answer: Answer) -> list[RemoteEntry]:
    """What a listing found; nothing for a folder that is not there. Raises IndexStorageError."""
    if answer.get("missing"):
        return []
    return [entry_of(each) for each in checked(wish, answer)["entries"]]


def proper_folders(entries: Iterable[RemoteEntry]) -> list[str]:
    """Of a place's listing the directories that may be indexes."""
    found = sorted(each.path for each in entries if each.is_directory and is_index_name(each.name))
    return found[:MOST_INDEXES_IN_A_PLACE]


def checked(wish: Wish, answer: Answer) -> Answer:
    """An answer without an error.

    Raises:
        IndexStorageError: the step went wrong.
    """
    if answer.get("missing"):
        raise IndexProblemError(INDEX_CORRUPT, f"can't {_VERBS[wish['op']]} {wish['path']}: it is not there.")
    if "error" in answer:
        raise IndexProblemError(INDEX_UNREACHABLE, f"can't {_VERBS[wish['op']]} {wish['path']}: {answer['error']}.")
    return answer


_VERBS = {
    "qualify": "use",
    "status": "look at",
    "list": "list",
    "text": "read",
    "down": "copy",
    "up": "write",
    "rename": "rename",
    "delete": "delete",
}


def ask(access: FileAccess, **wish: Any) -> Answer:
    """One step alone. Raises IndexStorageError."""
    return checked(wish, access.steps([wish])[0])


def list_folder(access: FileAccess, folder: str) -> list[RemoteEntry]:
    """The files and directories in a folder; none when it is not there. Raises IndexStorageError."""
    wish = list_wish(folder)
    return entries_of(wish, access.steps([wish])[0])


def qualified(access: FileAccess, path: str) -> str:
    """A path as Spark's listing writes it. Raises IndexStorageError: no filesystem of that scheme is known."""
    return str(ask(access, op="qualify", path=path)["path"]).rstrip("/")
