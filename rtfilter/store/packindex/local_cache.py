"""Copies of data files of indexes on this machine: named by their content, checked when they come in, bounded."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from rtfilter.errors import IndexStorageError
from rtfilter.folders import cache_directory
from rtfilter.store.index_use import INDEX_CACHE, IndexProblemError
from rtfilter.store.packindex.storage import DATA, SCRATCH, checked_name, content_name, proper_names

DEFAULT_CACHE_BYTES = 2 << 30
# A scratch file of this age belongs to a process that is gone.
_SCRATCH_KEPT_S = 3600.0
_SCRATCH_NAME = re.compile(re.escape(SCRATCH) + "[0-9a-f]{32}")
_READ_BYTES = 1 << 20


def default_directory() -> str:
    """The cache of this user (`rtfilter.store.cacheDirectory` when that is empty)."""
    return str(cache_directory() / "indexes")


@dataclass(frozen=True, slots=True)
class LocalCache:
    """A directory that any number of processes may share: a file is there whole or not at all, and never changes.

    What was not used for the longest time goes first. A file that is open stays readable when it goes. Files of other names than
    copies have are somebody else's: they are neither counted nor removed.
    """

    directory: str
    limit_bytes: int = DEFAULT_CACHE_BYTES

    def find(self, name: str) -> str | None:
        """The copy of a data file, None when there is none; counts as a use."""
        path = self._path(name)
        try:
            os.utime(path)
        except OSError:
            return None
        return path

    def scratch(self) -> str:
        """A new, empty file that is to be filled. Raises IndexStorageError: none can be made here."""
        path = os.path.join(self.directory, f"{SCRATCH}{uuid.uuid4().hex}")
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            # Whoever fills it may be another process, whose error would not tell on which side it happened.
            open(path, "xb").close()
        except OSError as error:
            raise self._unusable(f"can't be written ({error.strerror})") from error
        return path

    def check_room(self, needed_bytes: int) -> None:
        """Raises IndexStorageError: the disk has not as much room as is needed."""
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            free = shutil.disk_usage(self.directory).free
        except OSError as error:
            raise self._unusable(f"can't be used ({error.strerror})") from error
        if free < needed_bytes:
            raise self._unusable(f"has room for {free} bytes, where {needed_bytes} are needed")

    def discard_damaged(self, names: Iterable[str]) -> None:
        """Removes copies whose content is another than their name says."""
        for name in names:
            path = self._path(name)
            try:
                is_damaged = digest_name(path) != name
            except OSError:
                continue
            if is_damaged:
                discard(path)

    def admit(self, scratch: str, name: str) -> str:
        """Takes in a finished file; gives its path.

        Raises:
            IndexStorageError: its content is not the one that the name says, or it can't be kept.
        """
        path = self._path(name)
        try:
            if digest_name(scratch) != name:
                raise IndexStorageError(f"{name} of the index is damaged: its content is another than its name says.")
            os.replace(scratch, path)
            self._shrink()
        except OSError as error:
            raise self._unusable(f"can't be written ({error.strerror})") from error
        finally:
            discard(scratch)
        return path

    def _unusable(self, why: str) -> IndexProblemError:
        return IndexProblemError(
            INDEX_CACHE, f"the cache directory {self.directory} {why}; set rtfilter.store.cacheDirectory to another."
        )

    def _path(self, name: str) -> str:
        return os.path.join(self.directory, os.path.basename(checked_name(name)))

    def _shrink(self) -> None:
        """Removes the longest unused files until the bound holds; another process may do the same at the same time."""
        now, files, used = time.time(), [], 0
        with os.scandir(self.directory) as entries:
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if not stat.S_ISREG(status.st_mode):
                    continue
                if proper_names(DATA, [entry.name]):
                    files.append((status.st_mtime_ns, status.st_size, entry.path))
                    used += status.st_size
                elif _SCRATCH_NAME.fullmatch(entry.name) and now - status.st_mtime > _SCRATCH_KEPT_S:
                    discard(entry.path)
        for _, size, path in sorted(files):
            if used <= self.limit_bytes:
                break
            discard(path)
            used -= size


def digest_name(path: str) -> str:
    """The name that a data file with this content has. Raises OSError."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(_READ_BYTES):
            digest.update(part)
    return content_name(digest.hexdigest())


def discard(path: str) -> None:
    """Removes a file, unless it is gone already."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
