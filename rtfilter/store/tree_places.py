"""Where the star-trees of a table are: a directory each, beside its indexes."""

from __future__ import annotations

import os
from collections.abc import Iterable

from rtfilter.store.index_actions.listing import index_place
from rtfilter.store.index_files.tree_snapshot import TREES_FOLDER
from rtfilter.store.index_reading.reader import STORE_FOLDER
from rtfilter.store.open_indexes import index_folders
from rtfilter.store.parquet.paths import absolute, is_remote
from rtfilter.store.remote.remote_steps import FileAccess, list_folder, proper_folders


def trees_folder(store: str) -> str:
    """The directory for star-trees of a store: of `_rtfilter` in a table's root, or of `rtfilter.store.location`."""
    return f"{store.rstrip('/')}/{TREES_FOLDER}"


def tree_places(stores: Iterable[str], access: FileAccess | None = None) -> list[str]:
    """The directories of all star-trees in these stores (`store_places`), in order; none of a store that is not there.

    Args:
        access: Lists stores that Python can't. Without it there are no trees in them.

    Raises:
        IndexStorageError: a store can't be listed.
    """
    found: list[str] = []
    for folder in map(trees_folder, stores):
        if not is_remote(folder):
            found += index_folders(folder)
        elif access is not None:
            found += proper_folders(list_folder(access, folder))
    return found


def tree_place(location: str, root: str, name: str, file: str | None = None) -> str:
    """The directory of a star-tree: below `location` if one is set, else in the table's root. Else as `index_place`."""
    store = absolute(location) if location else os.path.join(root, STORE_FOLDER)
    return index_place(trees_folder(store), root, name, file)


def store_of_tree(place: str) -> str:
    """The store that a star-tree's directory is in."""
    return os.path.dirname(os.path.dirname(absolute(place)))


def tree_root(place: str, root: str | None) -> str:
    """Where the table of a star-tree is: what its definition says (`root`), or around `_rtfilter`."""
    return os.path.dirname(store_of_tree(place)) if root is None else root
