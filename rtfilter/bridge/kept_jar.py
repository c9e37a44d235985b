"""Whether a jar that is found again is the one that was compiled, and nobody else can have put it there."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from rtfilter.private_folders import check_own_file

_SUFFIX = ".sha256"
# Whatever the umask says. An image may let other users read what root has compiled.
_READABLE = 0o644


def kept_jar(path: Path) -> Path | None:
    """`path`, or None where no jar is there, or it is not as it was compiled.

    Raises:
        OSError: what is there is no ordinary file, or others own it or can write to it.
    """
    try:
        check_own_file(path)
        check_own_file(_note(path))
    except FileNotFoundError:
        return None
    return path if _note(path).read_bytes() == _digest(path) else None


def keep_digest(path: Path) -> None:
    """Notes a jar's content beside it, and lets nobody else write to either; to be called once the jar is whole."""
    path.chmod(_READABLE)
    scratch = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        scratch.write_bytes(_digest(path))
        scratch.chmod(_READABLE)
        os.replace(scratch, _note(path))
    finally:
        with suppress(OSError):
            scratch.unlink()


def _note(path: Path) -> Path:
    return path.with_name(path.name + _SUFFIX)


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest().encode()
