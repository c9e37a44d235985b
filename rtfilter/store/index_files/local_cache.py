"""Copies of data files of indexes on this machine: named by their content, which is checked, and in a folder of this user alone."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from rtfilter.errors import IndexStorageError
from rtfilter.folders import cache_directory
from rtfilter.private_folders import check_own_file, check_own_folder, own_folder_in, own_name
from rtfilter.store.index_files.index_problems import INDEX_CACHE, IndexProblemError
from rtfilter.store.index_files.storage import DATA, SCRATCH, checked_name, content_name, proper_names

DEFAULT_CACHE_BYTES = 2 << 30
# A scratch file of this age belongs to a process that is gone.
_SCRATCH_KEPT_S = 3600.0
_SCRATCH_NAME = re.compile(re.escape(SCRATCH) + "[0-9a-f]{32}")
_READ_BYTES = 1 << 20
# Copies of which this process remembers that it has checked them.
_MOST_CHECKED = 65_536


def cache_directory_of(chosen: str) -> str:
    """The directory that `rtfilter.store.cacheDirectory` names: where that is empty, one in this user's cache."""
    return chosen or str(cache_directory() / "indexes")


class _Checked:
    """The copies whose content this process has compared with their names, as they were then; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[int, int, int, int]] = OrderedDict()

    def has(self, path: str, status: os.stat_result) -> bool:
        with self._lock:
            return self._known.get(path) == _signature(status)

    def forget(self, path: str) -> None:
        with self._lock:
            self._known.pop(path, None)

    def add(self, path: str, status: os.stat_result) -> None:
        with self._lock:
            self._known[path] = _signature(status)
            self._known.move_to_end(path)
            while len(self._known) > _MOST_CHECKED:
                self._known.popitem(last=False)


def _signature(status: os.stat_result) -> tuple[int, int, int, int]:
    # Without the time of change: a use is one.
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


_checked = _Checked()


@dataclass(frozen=True, slots=True)
class LocalCache:
    """Copies in a folder of this user in `directory`, which other users and any number of processes may share.

    A file is there whole or not at all, and never changes. The content of one that is found is compared with its name when this
    process first meets it. What was not used for the longest time goes first. A file that is open stays readable when it goes.
    Files of other names than copies have are somebody else's: they are neither counted nor removed.
    """

    directory: str
    limit_bytes: int = DEFAULT_CACHE_BYTES

    @property
    def folder(self) -> str:
        """Where the copies are."""
        return os.path.join(self.directory, own_name())

    def find(self, name: str) -> str | None:
        """The copy of a data file, None when there is none; counts as a use. One whose content is another one's is removed.

        Raises:
            IndexProblemError: others could have put something into the directory, or it can't be looked at.
        """
        path = self._path(name)
        try:
            check_own_folder(self.directory, self.folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable(f"can't be used ({_reason(error, self.folder)})") from error
        status = _status_of_sound(path, name)
        try:
            if status is not None:
                # When it was last used; what this process knows of it goes by the other time.
                os.utime(path, ns=(time.time_ns(), status.st_mtime_ns))
        except OSError:
            return None
        return None if status is None else path

    def scratch(self) -> str:
        """A new, empty file that is to be filled. Raises IndexStorageError: none can be made here."""
        path = os.path.join(self.folder, f"{SCRATCH}{uuid.uuid4().hex}")
        try:
            own_folder_in(self.directory, own_name())
            # Whoever fills it may be another process, whose error would not tell on which side it happened.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as error:
            raise self._unusable(f"can't be written ({_reason(error, self.folder)})") from error
        return path

    def check_room(self, needed_bytes: int) -> None:
        """Raises IndexStorageError: the disk has not as much room as is needed."""
        try:
            free = shutil.disk_usage(own_folder_in(self.directory, own_name())).free
        except OSError as error:
            raise self._unusable(f"can't be used ({_reason(error, self.folder)})") from error
        if free < needed_bytes:
            raise self._unusable(f"has room for {free} bytes, where {needed_bytes} are needed")

    def discard_damaged(self, names: Iterable[str]) -> None:
        """Removes copies whose content is another than their name says."""
        for name in names:
            _checked.forget(path := self._path(name))
            _status_of_sound(path, name)

    def admit(self, scratch: str, name: str) -> str:
        """Takes in a finished file; gives its path.

        Raises:
            IndexStorageError: its content is not the one that the name says, or it can't be kept.
        """
        path = self._path(name)
        try:
            check_own_folder(self.directory, self.folder)
            # Whoever has filled it may have made it anew.
            os.chmod(scratch, 0o600)
            if digest_name(scratch) != name:
                raise IndexStorageError(f"{name} of the index is damaged: its content is another than its name says.")
            _checked.add(path, os.stat(scratch))
            os.replace(scratch, path)
            self._shrink()
        except OSError as error:
            raise self._unusable(f"can't be written ({_reason(error, self.folder)})") from error
        finally:
            discard(scratch)
        return path

    def _unusable(self, why: str) -> IndexProblemError:
        return IndexProblemError(
            INDEX_CACHE, f"the cache directory {self.directory} {why}; set rtfilter.store.cacheDirectory to another."
        )

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, os.path.basename(checked_name(name)))

    def _shrink(self) -> None:
        """Removes the longest unused files until the bound holds; another process may do the same at the same time."""
        now, files, used = time.time(), [], 0
        with os.scandir(self.folder) as entries:
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if not stat.S_ISREG(status.st_mode):
                    continue
                if proper_names(DATA, [entry.name]):
                    files.append((status.st_atime_ns, status.st_size, entry.path))
                    used += status.st_size
                elif _SCRATCH_NAME.fullmatch(entry.name) and now - status.st_mtime > _SCRATCH_KEPT_S:
                    discard(entry.path)
        for _, size, path in sorted(files):
            if used <= self.limit_bytes:
                break
            discard(path)
            used -= size


def _status_of_sound(path: str, name: str) -> os.stat_result | None:
    """The status of a copy with the content that its name says. Whatever else is in its place is removed, and None."""
    try:
        status = check_own_file(path)
        if _checked.has(path, status):
            return status
        if digest_name(path) == name:
            _checked.add(path, status)
            return status
    except FileNotFoundError:
        return None
    except OSError as error:
        # A link or a file of somebody else's goes; one that can't be read just now stays.
        if error.errno not in (errno.EINVAL, errno.EPERM):
            return None
    with suppress(OSError):
        discard(path)
    return None


def _reason(error: OSError, folder: str) -> str:
    """Why a cache can't be used, with what it is about where that is not its folder."""
    about = "" if error.filename in (None, folder) or os.path.dirname(error.filename) == folder else f": {error.filename}"
    return f"{error.strerror}{about}"


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
