"""Files that this package keeps where an option says: ordinary ones only, and none that somebody else has written."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def open_own(path: str | Path, begins: bytes, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a file that is empty or ours. A new one is for its owner alone.

    `begins` is how our file begins, with `#` for any digit. A file that was cut off before its end is ours too. When `begins` is
    empty, nothing may be in the file.

    `flags` as of os.open, with reading among them. Neither follows a link nor waits for the other end of a pipe.

    Raises:
        OSError: it can't be opened, is a link, a pipe, a device or a folder, or begins with something else.
    """
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link", str(path)) from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
        if not _fits(os.pread(descriptor, max(len(begins), 1), 0), begins):
            raise OSError(errno.EEXIST, "it is there already, with something else in it", str(path))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _fits(found: bytes, begins: bytes) -> bool:
    return len(found) <= len(begins) and all(
        one == wanted or (wanted == ord("#") and chr(one).isdecimal()) for one, wanted in zip(found, begins, strict=False)
    )


def check_own(path: str | Path, begins: bytes) -> None:
    """As `open_own`, for a file that will be replaced; one that is not there may be made. Raises OSError."""
    try:
        os.close(open_own(path, begins))
    except FileNotFoundError:
        return
