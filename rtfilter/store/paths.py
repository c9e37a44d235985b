"""Hadoop path texts: which name a file that this process can open."""

from __future__ import annotations

import re

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)


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
