"""The state of a table's indexes in a word: another one when an index was made, refreshed or deleted."""

from __future__ import annotations

import os

from rtfilter.errors import IndexStorageError
from rtfilter.store.index_facts import roots_of_tables
from rtfilter.store.index_files.storage import LOG
from rtfilter.store.open_indexes import index_folders, store_places
from rtfilter.store.parquet.paths import is_remote
from rtfilter.store.remote.remote_steps import MOST_INDEXES_IN_A_PLACE


def index_state(root: str, location: str) -> str | None:
    """The latest change of each index's log, empty without any; None where this process can't look.

    `root` is where the table is, as Hadoop's text, a line for each place; `location` is rtfilter.store.location.
    """
    found = []
    places = store_places([f"{each}/-" for each in roots_of_tables(root.splitlines())], location)
    if any(is_remote(place) for place in places):
        return None
    for place in places:
        try:
            folders = index_folders(place)[:MOST_INDEXES_IN_A_PLACE]
        except IndexStorageError:
            return None
        for folder in folders:
            try:
                found.append(f"{os.path.basename(folder)}:{os.stat(os.path.join(folder, LOG)).st_mtime_ns}")
            except OSError:
                continue
    return ",".join(found)
