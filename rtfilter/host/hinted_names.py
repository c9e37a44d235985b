"""Names in the hints `use(NAME)` and `skip(NAME)` that are none of what their tables have."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from planner.inputs.table_hints import TableHint, stored_of, stored_warnings
from planner.plan.snapshot import parse_hints
from planner.star_tree.fragment import Filter, Fragment, Join, Node, Opaque, Project, relations
from rtfilter.errors import IndexStorageError
from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.index_reading.found_index import OF_FILE
from rtfilter.store.open_indexes import index_folders, store_places


def hint_remarks(
    fragment: Fragment, trees: Iterable[str], lists: Mapping[int, Sequence[FileIdentity]], location: str
) -> tuple[str, ...]:
    """Sentences for the hints above an aggregate's tables; `trees`: names of their star-trees, `lists`: their files."""
    tables = list(relations(fragment.child))
    hints: list[TableHint] = []
    for table in tables:
        hints += [each for each in parse_hints({"hints": list(table.hints)}, "a table") if _names_something(each)]
    if not hints:
        return ()
    names = [*trees, *(name for files in lists.values() for name in _indexes(files, location))]
    labels = ", ".join(dict.fromkeys(table.label for table in tables))
    return stored_warnings(hints, labels, names, only_near=_has_others(fragment.child))


def _names_something(hint: TableHint) -> bool:
    stored = stored_of([hint])
    return bool(stored.use or stored.skip)


def _indexes(files: Sequence[FileIdentity], location: str) -> list[str]:
    """The names of the indexes in the places of a table; none of places that can't be listed."""
    found: list[str] = []
    for place in store_places([file.path for file in files], location):
        try:
            found += [os.path.basename(folder).partition(OF_FILE)[0] for folder in index_folders(place)]
        except IndexStorageError:
            continue
    return found


def _has_others(node: Node) -> bool:
    """Whether something else gives rows too."""
    if isinstance(node, Join):
        return _has_others(node.left) or _has_others(node.right)
    if isinstance(node, Project | Filter):
        return _has_others(node.child)
    return isinstance(node, Opaque)
