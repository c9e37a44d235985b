"""What there is to say of a star-tree: state, sizes, coverage."""

from __future__ import annotations

from typing import Any

from rtfilter.errors import IndexStorageError
from rtfilter.index.stats import StoredStats, bytes_to_vacuum, heading
from rtfilter.star_tree.tree_files import covered_files
from rtfilter.store.index_actions.actions import files_of
from rtfilter.store.index_actions.listing import ListedTable
from rtfilter.store.index_files import log
from rtfilter.store.index_files.catalog import stored_path
from rtfilter.store.index_files.storage import IndexStorage
from rtfilter.store.index_files.tree_snapshot import TreeSnapshot


class TreeStats(StoredStats):
    """The stats of a star-tree."""

    KIND = "star-tree"


def tree_stats(storage: IndexStorage, name: str, table_name: str, table: ListedTable | None) -> TreeStats:
    """The stats of a star-tree as JSON; sizes in bytes. `table` None: it can't be listed now, so nothing is said of coverage.

    Raises:
        IndexStorageError: the tree's place can't be listed.
    """
    view = log.read_log(storage)
    said = heading(storage, view, name, table_name)
    if view.tree is not None:
        said |= _sizes(storage, view.tree) | _coverage(storage, view.tree, table)
    return TreeStats(said)


def _sizes(storage: IndexStorage, snapshot: TreeSnapshot) -> dict[str, Any]:
    definition = snapshot.definition
    return {
        "dimensions": list(definition.dimensions),
        "measures": list(definition.measures),
        "max_leaf": definition.max_leaf,
        "no_star": list(definition.no_star),
        "segments": len(snapshot.segments),
        "rows": sum(segment.tree_rows for segment in snapshot.segments),
        "table_rows": sum(segment.table_rows for segment in snapshot.segments),
        "bytes": sum(file.bytes for file in files_of(snapshot)),
        "bytes_to_vacuum": bytes_to_vacuum(storage, snapshot),
    }


def _coverage(storage: IndexStorage, snapshot: TreeSnapshot, table: ListedTable | None) -> dict[str, Any]:
    """How many files of the table are in segments that can be used: those whose files are all as they were."""
    if table is None:
        return {}
    listed = {stored_path(file.path, table.root): (file.size_bytes, file.mtime_ms) for file in table.files}
    covered: set[str] = set()
    changed: set[str] = set()
    known: set[str] = set()
    try:
        for segment in snapshot.segments:
            files = covered_files(storage, segment)
            others = {each.path for each in files if listed.get(each.path) != (each.size_bytes, each.mtime_ms)}
            known |= {each.path for each in files}
            changed |= others
            covered |= set() if others else {each.path for each in files}
    except IndexStorageError as error:
        return {"problem": str(error)}
    return {
        "table_bytes": table.bytes,
        "files": len(table.files),
        "files_covered": len(covered),
        "files_appended": len(listed.keys() - known),
        "files_changed": len(changed & listed.keys()),
        "files_deleted": len(changed - listed.keys()),
    }
