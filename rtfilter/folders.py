"""Where rtfilter keeps what it can make again: compiled jars, copies of index files."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "RTFILTER_CACHE"


def cache_directory() -> Path:
    """`RTFILTER_CACHE`, else `rtfilter` in the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rtfilter"
