"""Tables on filesystems that Python can't open: their files, as Spark would list them, and the bytes of these."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, cast

from rtfilter.errors import IndexDefinitionError, IndexStorageError
from rtfilter.store.index_actions.listing import ListedTable, is_hidden
from rtfilter.store.index_files.file_parts import PartsOfFile
from rtfilter.store.index_files.sketching import Portion, PortionSketches, TableFile, sketch_opened, unreadable
from rtfilter.store.remote.remote_steps import FileAccess, RemoteEntry, ask, entries_of, entry_of, list_wish
from rtfilter.store.sketches.kinds import Sketch


def list_remote_table(access: FileAccess, path: str) -> ListedTable:
    """A table by its directory, or by its only file.

    Raises:
        IndexDefinitionError: there is no such directory, or no file in it.
        IndexStorageError: it can't be listed.
    """
    answer = access.steps([{"op": "status", "path": path}])[0]
    if answer.get("missing"):
        raise IndexDefinitionError(f"there is no table in {path!r}: neither a directory nor a file is there.")
    if "error" in answer:
        raise IndexStorageError(f"the table {path!r} can't be looked at: {answer['error']}.")
    top = entry_of(answer)
    if not top.is_directory:
        return ListedTable(path, os.path.dirname(top.path), (_table_file(top),))
    files = tuple(_table_file(each) for each in sorted(_walk(access, top.path), key=lambda each: each.path) if each.size_bytes)
    if not files:
        raise IndexDefinitionError(f"the directory {path!r} holds no table file; write the table first, then index it.")
    return ListedTable(path, top.path.rstrip("/"), files)


def remote_table_files(access: FileAccess, paths: Iterable[str]) -> list[TableFile]:
    """These files with size and time; empty ones are left out. Raises IndexStorageError: one is gone, or can't be looked at."""
    wanted = sorted(set(paths))
    found = {each.path: each for each in _listed(access, sorted({os.path.dirname(path) for path in wanted}))}
    gone = next((path for path in wanted if path not in found), None)
    if gone is not None:
        raise IndexStorageError(f"the table file {gone} can't be looked at: it is not there.")
    return [_table_file(found[path]) for path in wanted if found[path].size_bytes]


def _walk(access: FileAccess, folder: str) -> Iterable[RemoteEntry]:
    """All files below a folder; the folders of one depth are listed together."""
    folders = [folder]
    while folders:
        found = [each for each in _listed(access, folders) if not is_hidden(each.name)]
        yield from (each for each in found if not each.is_directory)
        folders = [each.path for each in found if each.is_directory]


def _listed(access: FileAccess, folders: Sequence[str]) -> list[RemoteEntry]:
    wishes = [list_wish(folder) for folder in folders]
    return [entry for wish, answer in zip(wishes, access.steps(wishes), strict=True) for entry in entries_of(wish, answer)]


def _table_file(entry: RemoteEntry) -> TableFile:
    return TableFile(entry.path, entry.size_bytes, entry.mtime_ms, entry.path)


class RemoteFile(PartsOfFile):
    """A file of another filesystem, read part by part."""

    def __init__(self, access: FileAccess, path: str, size_bytes: int) -> None:
        super().__init__(size_bytes)
        self._access, self._path = access, path

    def bytes_at(self, at: int, count: int) -> bytes:
        return self._access.read(self._path, at, count)


@dataclass(frozen=True, slots=True)
class RemoteSketching:
    """Reads a portion through the driver's session: for tables that take seconds."""

    access: FileAccess

    def __call__(self, portion: Portion, sketches: Sequence[Sketch], types: Mapping[str, str]) -> PortionSketches:
        """As `sketch_portion`: nothing is raised."""
        file = portion.file
        try:
            opened = cast(BinaryIO, RemoteFile(self.access, file.path, file.size_bytes))
            return sketch_opened(opened, lambda: self._check_unchanged(file), portion, sketches, types)
        except Exception as error:  # pyarrow raises many kinds, and one bad file must not end the build
            return unreadable(f"{type(error).__name__}: {error}")

    def _check_unchanged(self, file: TableFile) -> None:
        now = entry_of(ask(self.access, op="status", path=file.path))
        if (now.size_bytes, now.mtime_ms) != (file.size_bytes, file.mtime_ms):
            raise ValueError("the file has changed since it was listed")
