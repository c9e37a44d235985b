"""The folder of kept footers: its user's alone, its files there whole or not at all. Only files with our own names are touched."""

from __future__ import annotations

import os
import re
import stat
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from rtfilter.private_folders import check_own_file, check_own_folder, own_folder_in, own_name

FOLDER = "footers"
# Of the bound of index files' copies (rtfilter.store.cacheBytes); kept footers come beside these.
SHARE_OF_CACHE = 0.25
# The root of the files, when it was written (ns), the header's digest.
NAME = re.compile(r"([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{32})\.footers")
# A scratch file of this age belongs to a process that is gone.
SCRATCH_KEPT_S = 3600.0
_SCRATCH = re.compile(r"\.rtfilter-[0-9a-f]{32}\.tmp")


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file of the folder: its name, its size, and when it was last used."""

    name: str
    size_bytes: int
    used_ns: int


@dataclass(frozen=True, slots=True)
class KeptFolder:
    """`footers` in this user's folder in a cache directory, which several processes may use at a time."""

    directory: str

    @property
    def path(self) -> str:
        return os.path.join(self.directory, own_name(), FOLDER)

    def check(self) -> None:
        """Raises FileNotFoundError: it is not there. OSError: others could have put something into it."""
        above = os.path.dirname(self.path)
        check_own_folder(self.directory, above)
        check_own_folder(above, self.path)

    def make(self) -> None:
        """Makes it where it is not there. Raises OSError as check does, or where it can't be made."""
        own_folder_in(own_folder_in(self.directory, own_name()), FOLDER)

    def files(self) -> list[KeptFile]:
        """What is in it; scratch files of processes that are gone are removed. Raises OSError."""
        found = []
        with os.scandir(self.path) as entries:
            for entry in entries:
                is_scratch = _SCRATCH.fullmatch(entry.name) is not None
                if not is_scratch and NAME.fullmatch(entry.name) is None:
                    continue
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if not stat.S_ISREG(status.st_mode):
                        continue
                    if not is_scratch:
                        found.append(KeptFile(entry.name, status.st_size, status.st_mtime_ns))
                    elif time.time() - status.st_mtime > SCRATCH_KEPT_S:
                        self.remove(entry.name)
        return found

    def opened(self, name: str) -> BinaryIO:
        """A file for reading; that counts as a use of it. Raises OSError: it can't be read, or others could have written it."""
        path = self._path(name)
        check_own_file(path)
        with suppress(OSError):
            os.utime(path)
        return open(path, "rb")

    def put(self, name: str, parts: Sequence[bytes]) -> None:
        """Writes a file whole. Raises OSError."""
        scratch = f".rtfilter-{uuid.uuid4().hex}.tmp"
        descriptor = os.open(self._path(scratch), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.writelines(parts)
            os.replace(self._path(scratch), self._path(name))
        except BaseException:
            self.remove(scratch)
            raise

    def remove(self, name: str) -> None:
        """Removes a file, unless it is gone already. Raises OSError."""
        with suppress(FileNotFoundError):
            os.unlink(self._path(name))

    def hold_bound(self, limit_bytes: int) -> None:
        """Removes what was not used for the longest time until the bound holds. Raises OSError."""
        files = self.files()
        used = sum(each.size_bytes for each in files)
        for each in sorted(files, key=lambda file: file.used_ns):
            if used <= limit_bytes:
                break
            self.remove(each.name)
            used -= each.size_bytes

    def _path(self, name: str) -> str:
        return os.path.join(self.path, name)


@dataclass(frozen=True, slots=True)
class KeptIn:
    """A cache directory for kept footers, and how much of it they may take."""

    directory: str
    limit_bytes: int

    @property
    def folder(self) -> KeptFolder:
        return KeptFolder(self.directory)


def kept_in(cache_directory: str, cache_bytes: int) -> KeptIn:
    """Where footers are kept by these options (`rtfilter.store.cacheDirectory`, `rtfilter.store.cacheBytes`)."""
    return KeptIn(cache_directory, int(cache_bytes * SHARE_OF_CACHE))
