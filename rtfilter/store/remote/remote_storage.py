"""An index on a filesystem that Python can't open: the log is made and read there, data files are copied to this machine."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterable

from rtfilter.errors import IndexStorageError
from rtfilter.store.index_files.local_cache import LocalCache, digest_name, discard
from rtfilter.store.index_files.storage import DATA, LARGEST_LOG_ENTRY_BYTES, LOG, SCRATCH, checked_name, proper_names
from rtfilter.store.remote.remote_steps import (
    ATOMIC_CREATE_SCHEMES,
    FileAccess,
    RemoteEntry,
    ask,
    checked,
    down_wish,
    list_folder,
    text_wish,
)


class RemoteStorage:
    """An index in a directory of any filesystem that Spark reaches and that has a create-if-absent.

    An entry of the log may be seen half written while its writer is at it, or for good when that one died: readers pass it
    over, and the next writer is told to cancel. Data files come in under another name and are renamed.
    """

    def __init__(self, place: str, access: FileAccess, cache: LocalCache, allowed: Iterable[str] = ()) -> None:
        """`allowed`: further schemes whose create-if-absent somebody vouches for (`rtfilter.store.schemes`)."""
        self._place, self._access, self._cache = place.rstrip("/"), access, cache
        self._allowed = frozenset(allowed)

    @property
    def place(self) -> str:
        return self._place

    @property
    def cache_directory(self) -> str:
        return self._cache.directory

    def names(self, folder: str) -> list[str]:
        return proper_names(folder, (each.name for each in self._list(folder) if not each.is_directory))

    def sizes(self, folder: str) -> dict[str, int]:
        found = {f"{folder}/{each.name}": each.size_bytes for each in self._list(folder)}
        return {name: found[name] for name in self.names(folder) if name in found}

    def read(self, name: str) -> bytes:
        path = self._path(name)
        content = str(ask(self._access, **text_wish(path))["text"]).encode()
        if len(content) > LARGEST_LOG_ENTRY_BYTES:
            raise IndexStorageError(f"{path} has more than {LARGEST_LOG_ENTRY_BYTES} bytes; no log entry is that large.")
        return content

    def create(self, name: str, content: bytes) -> bool:
        path = self._path(name)
        try:
            self._access.create(path, content, self._is_conditional(path))
        except IndexStorageError:
            # Either somebody was faster, or the answer got lost on the way, or it can't be written: what is there tells.
            if not self._is_there(name):
                raise
            return self._holds(name, content)
        return True

    def local_file(self, name: str) -> str:
        found = self._cache.find(name)
        if found is not None:
            return found
        scratch = self._cache.scratch()
        try:
            ask(self._access, **down_wish(self._path(name), scratch, self._cache.limit_bytes))
            return self._cache.admit(scratch, name)
        finally:
            discard(scratch)

    def scratch(self) -> str:
        return self._cache.scratch()

    def publish(self, scratch: str) -> str:
        try:
            name = digest_name(scratch)
            size = os.path.getsize(scratch)
        except OSError as error:
            raise IndexStorageError(f"can't read {scratch}: {error.strerror}.") from error
        if self.sizes(DATA).get(name) != size:
            self._upload(scratch, self._path(name))
        self._cache.admit(scratch, name)
        return name

    def delete(self, name: str) -> None:
        self._delete(self._path(name))

    def delete_scratch(self) -> None:
        for folder in (LOG, DATA):
            for each in self._list(folder):
                if each.name.startswith(SCRATCH):
                    self._delete(each.path)

    def _path(self, name: str) -> str:
        return f"{self._place}/{checked_name(name)}"

    def _list(self, folder: str) -> list[RemoteEntry]:
        return list_folder(self._access, f"{self._place}/{folder}")

    def _is_conditional(self, path: str) -> bool:
        """Whether a file is made by a conditional write; without one the scheme must be known to look and make in one step.

        Raises:
            IndexStorageError: there is no such thing on this filesystem.
        """
        known = ask(self._access, op="qualify", path=path)
        scheme = str(known["scheme"])
        if known["conditional"]:
            return True
        if scheme in ATOMIC_CREATE_SCHEMES or scheme in self._allowed:
            return False
        raise IndexStorageError(
            f"no index can be written to {self._place}: Hadoop's filesystem {scheme!r} does not say that it makes a file only if "
            "there is none, in one step, so that two writers could both win. Set rtfilter.store.location to a directory on "
            f"{', '.join(sorted(ATOMIC_CREATE_SCHEMES))}, S3A with conditional writes or a local disk; or, if you know that this "
            f"one does, add {scheme} to rtfilter.store.schemes."
        )

    def _delete(self, path: str) -> None:
        answer = self._access.steps([wish := {"op": "delete", "path": path}])[0]
        if not answer.get("missing"):
            checked(wish, answer)

    def _is_there(self, name: str) -> bool:
        return name in self.names(LOG)

    def _holds(self, name: str, content: bytes) -> bool:
        """Whether an entry is the one that this writer wanted to make; entries differ in their random token."""
        try:
            return hashlib.sha256(self.read(name)).digest() == hashlib.sha256(content).digest()
        except IndexStorageError:
            return False

    def _upload(self, scratch: str, path: str) -> None:
        """Under another name first: a name of a data file says that all of it is there."""
        halfway = f"{self._place}/{DATA}/{SCRATCH}{uuid.uuid4().hex}"
        ask(self._access, op="up", path=halfway, local=scratch)
        if ask(self._access, op="rename", path=halfway, to=path)["done"]:
            return
        # Some filesystems don't rename onto a file; one of this name and another size is damaged.
        self._delete(path)
        if not ask(self._access, op="rename", path=halfway, to=path)["done"]:
            raise IndexStorageError(f"can't write {path}: {halfway} can't be renamed to it.")
