"""The indexes that a table has: what they hold, and whether they know all of its files as they are."""

from __future__ import annotations

import os
from dataclasses import dataclass

from rtfilter.errors import RtFilterError
from rtfilter.store.index_actions.actions import bytes_by_sketch
from rtfilter.store.index_actions.listing import ListedTable, identities
from rtfilter.store.index_files.storage import LocalStorage
from rtfilter.store.index_reading.found_index import file_of_index
from rtfilter.store.index_reading.reader import STORE_FOLDER, open_index
from rtfilter.store.open_indexes import index_folders
from rtfilter.store.sketches.kinds import Sketch


@dataclass(frozen=True, slots=True)
class ExistingIndex:
    """An index beside the table. `is_whole`: it knows every file of the table as it is now. `bytes`: of all its sketches."""

    name: str
    sketches: tuple[Sketch, ...]
    is_whole: bool
    bytes: int


def existing_indexes(table: ListedTable) -> tuple[ExistingIndex, ...]:
    """The indexes in the table's own folder, by name; those that can't be opened are left out, as queries leave them out."""
    only_file = os.path.basename(table.files[0].local) if table.files and os.path.isfile(table.name) else None
    found = []
    try:
        folders = index_folders(os.path.join(table.root, STORE_FOLDER))
    except RtFilterError:
        return ()
    for folder in folders:
        if file_of_index(folder) != only_file:
            continue
        try:
            index = open_index(LocalStorage(folder))
        except RtFilterError:
            continue
        if index is None:
            continue
        counts = index.catalog().locate(identities(table.files)).counts
        definition = index.snapshot.definition
        size = sum(bytes_by_sketch(index.snapshot).values())
        found.append(ExistingIndex(definition.name, definition.sketches, bool((counts >= 0).all()), size))
    return tuple(found)


def covers(one: ExistingIndex, other: ExistingIndex) -> bool:
    """Whether an index tells all that another one does: the same sketches or better ones of the same columns, of all files."""
    return one.is_whole and all(any(_is_as_good(mine, each) for mine in one.sketches) for each in other.sketches)


def _is_as_good(one: Sketch, other: Sketch) -> bool:
    if (one.kind, one.column) != (other.kind, other.column):
        return False
    return getattr(one, "fpp", 0.0) <= getattr(other, "fpp", 0.0) and getattr(one, "max", 0) >= getattr(other, "max", 0)
