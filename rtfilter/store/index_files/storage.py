"""Where the files of one index are: a handful of operations, and their form for a local or mounted directory."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import BinaryIO, Protocol

from rtfilter.errors import IndexStorageError
from rtfilter.store.index_files.index_problems import INDEX_TOO_LARGE, INDEX_UNREACHABLE, IndexProblemError

LOG = "log"
DATA = "data"
# Some ten thousand segments of one sketch. Read, it takes up to ten times as much memory.
LARGEST_LOG_ENTRY_BYTES = 8 << 20
# The only names that an index has. Whatever else a log or a directory says is never opened.
_NAME = re.compile(r"log/\d{20}\.json|data/[0-9a-f]{64}\.parquet")
SCRATCH = ".scratch-"
_READ_BYTES = 1 << 20


class IndexFiles(Protocol):
    """The files of one index as readers need them, by the names that docs/index-format.md gives them."""

    @property
    def place(self) -> str:
        """The index's directory, for messages."""
        ...

    @property
    def cache_directory(self) -> str:
        """The cache directory that its data files come from; empty for an index that is opened where it is."""
        ...

    def names(self, folder: str) -> list[str]:
        """The files of `log` or `data` that have a proper name; none when there is no such folder."""
        ...

    def read(self, name: str) -> bytes:
        """A whole file of the log. Raises IndexStorageError."""
        ...

    def local_file(self, name: str) -> str:
        """A path of this machine that has the file's content. Raises IndexStorageError."""
        ...


class IndexStorage(IndexFiles, Protocol):
    """The files of one index, for writers."""

    def sizes(self, folder: str) -> dict[str, int]:
        """The names of a folder with the size of each file in bytes."""
        ...

    def create(self, name: str, content: bytes) -> bool:
        """Makes a file with all of its content at once, unless it exists (False). Raises IndexStorageError."""
        ...

    def scratch(self) -> str:
        """A new path of this machine for a file that is to be published. Raises IndexStorageError."""
        ...

    def publish(self, scratch: str) -> str:
        """Moves a finished file in under the digest of its content, which is its name from now on. Raises IndexStorageError."""
        ...

    def delete(self, name: str) -> None:
        """Removes a file; one that is not there is no error. Raises IndexStorageError."""
        ...

    def delete_scratch(self) -> None:
        """Removes what writers that died have left."""
        ...


def checked_name(name: str) -> str:
    """The name, if it is one that an index has.

    Raises:
        IndexStorageError: it is not.
    """
    if _NAME.fullmatch(name) is None:
        raise IndexStorageError(f"{name!r} is no name of a file of an index; the log of this index is damaged or not ours.")
    return name


def content_name(sha256: str) -> str:
    """The name of the data file whose content has this digest (64 hex digits)."""
    return f"{DATA}/{sha256}.parquet"


def proper_names(folder: str, found: Iterable[str]) -> list[str]:
    """Of what is in a folder of an index, the files that have a name as an index gives it, in order."""
    return sorted(name for each in found if _NAME.fullmatch(name := f"{folder}/{each}"))


class LocalStorage:
    """An index in a directory of this machine or of a mounted filesystem.

    Its folders are its own: one that is a link could have anybody's files in it, and is refused. Create-if-absent is a hard link of
    a finished file: it appears whole or not at all, and the second one fails. Of a folder with more than `most_names` files nothing
    is listed.
    """

    def __init__(self, place: str, most_names: int | None = None) -> None:
        self._place, self._most_names = place, most_names

    @property
    def place(self) -> str:
        return self._place

    @property
    def cache_directory(self) -> str:
        return ""

    def names(self, folder: str) -> list[str]:
        try:
            with os.scandir(self._folder(folder)) as entries:
                found = [entry.name for entry in islice(entries, None if self._most_names is None else self._most_names + 1)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise IndexProblemError(INDEX_UNREACHABLE, f"can't list {self._place}/{folder}: {error.strerror}.") from error
        if self._most_names is not None and len(found) > self._most_names:
            raise IndexProblemError(INDEX_TOO_LARGE, f"{self._place}/{folder} holds more than {self._most_names} files; vacuum it.")
        return proper_names(folder, found)

    def sizes(self, folder: str) -> dict[str, int]:
        return {name: os.path.getsize(os.path.join(self._place, name)) for name in self.names(folder)}

    def read(self, name: str) -> bytes:
        path = self.local_file(name)
        with _told(f"can't read {path}"), open_ordinary(path) as file:
            content = file.read(LARGEST_LOG_ENTRY_BYTES + 1)
        if len(content) > LARGEST_LOG_ENTRY_BYTES:
            raise IndexStorageError(f"{path} has more than {LARGEST_LOG_ENTRY_BYTES} bytes; no log entry is that large.")
        return content

    def create(self, name: str, content: bytes) -> bool:
        path = self._path(name)
        with _told(f"can't write {path}"):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            scratch = os.path.join(os.path.dirname(path), f"{SCRATCH}{uuid.uuid4().hex}")
            try:
                _write_durably(scratch, content)
                return _linked(scratch, path)
            finally:
                _removed(scratch)

    def local_file(self, name: str) -> str:
        path = self._path(name)
        with _told(f"can't open {path}"):
            # A link could lead anywhere.
            if not stat.S_ISREG(os.lstat(path).st_mode):
                raise IndexStorageError(f"{path} is no ordinary file; an index has no others.")
        return path

    def scratch(self) -> str:
        folder = self._folder(DATA)
        with _told(f"can't write to {folder}"):
            os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, f"{SCRATCH}{uuid.uuid4().hex}")

    def publish(self, scratch: str) -> str:
        with _told(f"can't write {scratch}"):
            digest = hashlib.sha256()
            with open(scratch, "rb") as file:
                while part := file.read(_READ_BYTES):
                    digest.update(part)
                os.fsync(file.fileno())
            name = content_name(digest.hexdigest())
            os.replace(scratch, self._path(name))
        return name

    def delete(self, name: str) -> None:
        path = self._path(name)
        with _told(f"can't delete {path}"):
            _removed(path)

    def delete_scratch(self) -> None:
        for folder in (LOG, DATA):
            path = self._folder(folder)
            for each in os.listdir(path) if os.path.isdir(path) else ():
                if each.startswith(SCRATCH):
                    _removed(os.path.join(path, each))

    def _path(self, name: str) -> str:
        folder, _, file = checked_name(name).partition("/")
        return os.path.join(self._folder(folder), file)

    def _folder(self, folder: str) -> str:
        path = os.path.join(self._place, folder)
        if os.path.islink(path) and os.path.isdir(path):
            raise IndexStorageError(
                f"{path} is a link; an index keeps its files in folders of its own. Put the folder itself there."
            )
        return path


def open_ordinary(path: str) -> BinaryIO:
    """An ordinary file for reading; follows no link, and does not wait for the other end of a pipe. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no ordinary file", path)
    return os.fdopen(descriptor, "rb")


@contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise IndexStorageError(f"{what}: {error.strerror or error}.") from error


def _linked(scratch: str, path: str) -> bool:
    try:
        os.link(scratch, path)
    except FileExistsError:
        # On NFS that may be one's own link, made when the first answer got lost.
        if not _is_same_file(scratch, path):
            return False
    except OSError as error:
        raise IndexStorageError(
            f"the filesystem of {path} has no hard links ({error.strerror}), and without them no way to make a file whole and only "
            "once; set rtfilter.store.location to a directory that has."
        ) from error
    _sync_folder(os.path.dirname(path))
    return True


def _is_same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _write_durably(path: str, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: str) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _removed(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        # Gone already, which is all that was wanted.
        return
