"""Whether a table file is still the one that was indexed: by its footer's digest, read once as long as it stays as it is."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import TypeAlias

from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.parquet.footer_digest import footer_digest, read_tail

MOST_KNOWN = 1_000_000
# The source of what was brought in this application.
_BRIDGE = ""

# Size, times in ns, inode and device: a file put in another's place differs in one of them, even with size and time as before.
_Signature: TypeAlias = tuple[int, int, int, int, int]


class FileTrust:
    """Footer digests of files; thread-safe. Local ones are looked at again whenever their status has changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[_Signature, bytes]] = OrderedDict()
        self._told: OrderedDict[tuple[str, FileIdentity], bytes] = OrderedDict()

    def tell(self, file: FileIdentity, tail: bytes) -> None:
        """Takes in the tail of a file that this process can't open; identity and digest are all that there is to go by."""
        self.tell_digest(file, footer_digest(tail), _BRIDGE)

    def tell_digest(self, file: FileIdentity, digest: bytes, source: str) -> None:
        """The digest of such a tail, as a cache directory (`source`) has kept it."""
        with self._lock:
            self._told[source, file] = digest
            self._told.move_to_end((source, file))
            while len(self._told) > MOST_KNOWN:
                self._told.popitem(last=False)

    def was_told(self, file: FileIdentity, digest: bytes, source: str) -> bool:
        """Whether the file had this digest when its tail was brought, now or as `source` has kept it; false when it was not."""
        with self._lock:
            return self._told.get((_BRIDGE, file), self._told.get((source, file))) == digest

    def is_unchanged(self, path: str, digest: bytes) -> bool:
        """Whether the file at a local path has this footer digest; false when it can't be read."""
        try:
            signature = _signature(os.stat(path))
            with self._lock:
                known = self._known.get(path)
            if known is not None and known[0] == signature:
                return known[1] == digest
            with open(path, "rb") as file:
                found = footer_digest(read_tail(file, os.fstat(file.fileno()).st_size))
                same_file = _signature(os.fstat(file.fileno())) == signature
        except (OSError, ValueError):
            return False
        if not same_file:
            return False
        with self._lock:
            self._known[path] = (signature, found)
            while len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
        return found == digest


def _signature(status: os.stat_result) -> _Signature:
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
