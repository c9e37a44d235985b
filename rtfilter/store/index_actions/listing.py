"""The files of a table in a local or mounted directory, as Spark would list them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from rtfilter.errors import IndexDefinitionError, IndexStorageError
from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.index_files.sketching import TableFile
from rtfilter.store.index_reading.found_index import OF_FILE
from rtfilter.store.index_reading.reader import STORE_FOLDER
from rtfilter.store.parquet.paths import absolute, local_path


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table and its files now. `root`: its directory (Hadoop's text on other filesystems); `name`: as the user called it."""

    name: str
    root: str
    files: tuple[TableFile, ...]

    @property
    def bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


def list_directory(path: str) -> ListedTable:
    """A table by its directory, or by its only file.

    Raises:
        IndexDefinitionError: there is no such directory, or no file in it.
        IndexStorageError: it can't be listed.
    """
    local = local_path(path) if ":" in path else os.path.abspath(path)
    if local is None:
        raise IndexStorageError(f"{path!r} is on a filesystem that Python can't open; use a session made with rtfilter.configure.")
    if os.path.isfile(local):
        return ListedTable(path, os.path.dirname(local), tuple(table_files([local])))
    if not os.path.isdir(local):
        raise IndexDefinitionError(f"there is no table in {path!r}: neither a directory nor a file is there.")
    found = sorted(_walk(local))
    files = tuple(table_files(found))
    if not files:
        raise IndexDefinitionError(f"the directory {path!r} holds no table file; write the table first, then index it.")
    return ListedTable(path, local.rstrip("/"), files)


def table_files(paths: Iterable[str]) -> Iterable[TableFile]:
    """Local paths with size and time; empty files, which have no packs, are left out.

    Raises:
        IndexStorageError: a file can't be looked at.
    """
    for path in paths:
        try:
            status = os.stat(path)
        except OSError as error:
            raise IndexStorageError(f"the table file {path} can't be looked at: {error.strerror}.") from error
        if status.st_size:
            yield TableFile(f"file:{path}", status.st_size, status.st_mtime_ns // 1_000_000, path)


def identities(files: Iterable[TableFile]) -> list[FileIdentity]:
    return [FileIdentity(file.path, file.size_bytes, file.mtime_ms) for file in files]


def is_hidden(name: str) -> bool:
    """Whether Spark's listing passes over a file or directory of this name (partition directories may begin with an underscore)."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def index_place(location: str, root: str, name: str, file: str | None = None) -> str:
    """The directory of an index: below `location` if one is set, else below `_rtfilter` in the table's root.

    `file`: the name of the table's only file, when it is a file and not a directory. Files side by side are tables of their own.

    Raises:
        IndexDefinitionError: the name can't be one of a directory.
    """
    if not name or not all(each.isalnum() or each in "_-." for each in name) or name.startswith("."):
        raise IndexDefinitionError(f"{name!r} can't be the name of an index: use letters, digits, '_', '-' and '.'.")
    folder = name if file is None else f"{name}{OF_FILE}{file}"
    if not location:
        return os.path.join(root, STORE_FOLDER, folder)
    return f"{absolute(location)}/{folder}"


def _walk(folder: str) -> Iterable[str]:
    def fail(error: OSError) -> None:
        raise IndexStorageError(f"the directory {error.filename} can't be listed: {error.strerror}.") from error

    for parent, folders, names in os.walk(folder, onerror=fail, followlinks=True):
        folders[:] = sorted(each for each in folders if not is_hidden(each))
        yield from (os.path.join(parent, name) for name in names if not is_hidden(name))
