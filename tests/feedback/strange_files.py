"""What an option may name that is no file of ours."""

from __future__ import annotations

import os
from pathlib import Path

STRANGE = (
    "text",
    "json",
    "another program's log",
    "another program's version",
    "pipe",
    "link to a file",
    "link to nothing",
    "folder",
)


def make_strange(path: Path, kind: str) -> None:
    """Makes one of STRANGE; what a link names lies beside it."""
    beside = path.with_name("notes")
    match kind:
        case "text":
            path.write_text("somebody's notes\n" * 100)
        case "json":
            path.write_text('{"of": "somebody else"}')
        case "another program's log":
            path.write_text('{"time":"2026-01-02T03:04:05.000+00:00","level":"INFO"}\n')
        case "another program's version":
            path.write_text('{"version":4,"packages":[]}')
        case "pipe":
            os.mkfifo(path)
        case "link to a file":
            beside.write_text("somebody's notes\n" * 100)
            path.symlink_to(beside)
        case "link to nothing":
            path.symlink_to(beside)
        case "folder":
            path.mkdir()


def state_of(folder: Path) -> dict[str, tuple[int, int, bytes | None]]:
    """Of everything in a folder: inode, mode and, of an ordinary file, what is in it."""
    found = {}
    for path in folder.iterdir():
        seen = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        found[path.name] = (seen.st_ino, seen.st_mode, content)
    return found
