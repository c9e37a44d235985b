"""Hadoop path texts: which name a file that this process can open."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable

# The same few tables are asked about in query after query.
MOST_REMEMBERED = 4096
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)


@functools.lru_cache(MOST_REMEMBERED)
def local_path(hadoop_path: str) -> str | None:
    """The local file of a Hadoop path text, None for any other filesystem.

    Hadoop's texts are literal: `%20` in one is three characters of the file's name.
    """
    match = _SCHEME.fullmatch(hadoop_path)
    if match is not None and match.group(1).lower() != "file":
        return None
    path = hadoop_path if match is None else match.group(2)
    if path.startswith("//"):
        # `//host/path` names another machine, `///path` nobody but this one.
        path = path[2:]
    return path if path.startswith("/") and not path.startswith("//") else None


def local_paths(hadoop_paths: Iterable[str]) -> list[str | None]:
    """The local file of each of many path texts: by their directories, of which there are fewer."""
    directories: dict[str, str | None] = {}
    found: list[str | None] = []
    for path in hadoop_paths:
        *directory, name = path.rpartition("/")
        above = "".join(directory)
        if above not in directories:
            local = local_path(path)
            directories[above] = None if local is None else local[: len(local) - len(name)]
        begin = directories[above]
        found.append(None if begin is None else begin + name)
    return found


@functools.lru_cache(MOST_REMEMBERED)
def is_remote(path: str) -> bool:
    """Whether a path text names a filesystem that this process can't open."""
    return _SCHEME.fullmatch(path) is not None and local_path(path) is None


def scheme_of(path: str) -> str:
    """The scheme of a path text, `file` where there is none."""
    match = _SCHEME.fullmatch(path)
    return "file" if match is None else match.group(1).lower()


def absolute(path: str) -> str:
    """A local path made absolute; Hadoop's text of another filesystem as it is, without a slash at its end."""
    if is_remote(path):
        return path.rstrip("/")
    return os.path.abspath((local_path(path) if ":" in path else None) or path)


def below(path: str, root: str) -> str | None:
    """The rest of a path text below a root, which is a local path or the text of another filesystem; None outside it."""
    text = path if is_remote(path) else local_path(path)
    return text[len(root) + 1 :] if text is not None and text.startswith(root + "/") else None
