"""Which indexes are being read right now, in a file: a process that ends meanwhile leaves to the next one what it was at."""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rtfilter.private_folders import check_own_file, own_folder_in, own_name

_DIGEST_BYTES = 32
# Indexes that are read at a time; of more nobody takes notes.
_SLOTS = 64
_NOTHING = bytes(_DIGEST_BYTES)
_NAME = re.compile(r"reading-(\d+)-\d+")


class ReadingJournal:
    """Thread-safe. Notes stand in a mapped file: they cost no system call, and stay when the process is killed.

    `left_behind` are the digests of the indexes that an earlier process was reading when it ended.
    """

    def __init__(self, path: str) -> None:
        """Raises OSError: the file can't be made, or is not this user's own."""
        self._path, self._lock = path, threading.Lock()
        with suppress(FileNotFoundError):
            check_own_file(path)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(descriptor, _SLOTS * _DIGEST_BYTES)
            self._slots = mmap.mmap(descriptor, _SLOTS * _DIGEST_BYTES)
        finally:
            os.close(descriptor)
        self.left_behind = frozenset(each for slot in range(_SLOTS) if (each := self._slots[_part(slot)]) != _NOTHING)
        self._slots[:] = bytes(len(self._slots))
        self._free = list(range(_SLOTS))

    @contextmanager
    def reading(self, folder: str) -> Iterator[None]:
        """While the index in this directory is read."""
        with self._lock:
            slot = self._free.pop() if self._free else None
        if slot is None:
            yield
            return
        self._slots[_part(slot)] = digest_of(folder)
        try:
            yield
        finally:
            self._slots[_part(slot)] = _NOTHING
            with self._lock:
                self._free.append(slot)

    def close(self) -> None:
        """Nobody comes after this process."""
        with suppress(OSError):
            os.unlink(self._path)


def _part(slot: int) -> slice:
    return slice(slot * _DIGEST_BYTES, (slot + 1) * _DIGEST_BYTES)


def digest_of(folder: str) -> bytes:
    """What stands in a journal for the index in this directory."""
    return hashlib.sha256(os.fsencode(folder)).digest()


def journal_of_parent() -> ReadingJournal | None:
    """The journal of the processes that one parent starts, one after the other; None where none can be kept.

    It is in this user's folder for temporary files. Those of parents that are no more are removed.
    """
    try:
        folder = own_folder_in(tempfile.gettempdir(), own_name())
        for name in os.listdir(folder):
            found = _NAME.fullmatch(name)
            if found is not None and not os.path.exists(f"/proc/{found[1]}"):
                os.unlink(os.path.join(folder, name))
        parent = os.getppid()
        return ReadingJournal(os.path.join(folder, f"reading-{parent}-{_started(parent)}"))
    except (OSError, ValueError, IndexError):
        return None


def _started(process: int) -> int:
    """When a process was started, in ticks of this machine: numbers of processes are given again.

    Raises:
        OSError, ValueError, IndexError: there is no such process, or no way to tell.
    """
    with open(f"/proc/{process}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])
