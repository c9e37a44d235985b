"""The state of a table's indexes in a word: another one when an index was made, refreshed or deleted."""

from __future__ import annotations

import os

from rtfilter.store.packindex.shelf import index_folders, store_places
from rtfilter.store.packindex.storage import LOG


def index_state(root: str, location: str) -> str:
    """The latest change of each index's log, empty without any.

    `root` is where the table is, as Hadoop's text; `location` is rtfilter.store.location. Indexes where this process can't look are
    none: for such tables the past is forgotten by age alone.
    """
    found = []
    # The root may be a file; then its folder is the table's.
    for place in store_places([root, f"{root}/-"], location):
        for folder in index_folders(place):
            try:
                found.append(f"{os.path.basename(folder)}:{os.stat(os.path.join(folder, LOG)).st_mtime_ns}")
            except OSError:
                continue
    return ",".join(found)
