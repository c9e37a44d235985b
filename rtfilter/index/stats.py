"""What there is to say of an index: state, sizes, coverage."""

from __future__ import annotations

from typing import Any, ClassVar

from rtfilter.errors import IndexStorageError
from rtfilter.masking import without_secrets
from rtfilter.report_table import Column, Table
from rtfilter.store.index_actions import actions
from rtfilter.store.index_actions.listing import ListedTable
from rtfilter.store.index_files import log
from rtfilter.store.index_files.catalog import load_catalog
from rtfilter.store.index_files.snapshot import Snapshot
from rtfilter.store.index_files.storage import DATA, IndexStorage
from rtfilter.store.index_reading.reader import table_root
from rtfilter.store.sketches.kinds import sketch_to_dict


class StoredStats(dict[str, Any]):
    """Stats as JSON, which are a table in a notebook."""

    KIND: ClassVar[str] = "index"

    def _repr_html_(self) -> str:
        entries = {name: value for name, value in self.items() if name != "sketches"}
        rows = [[name.replace("_", " "), _cell(value)] for name, value in entries.items()]
        sketches = [", ".join(f"{key} {_cell(value)}" for key, value in sketch.items()) for sketch in self.get("sketches", ())]
        title = f"{self.KIND} {self['name']} of {self['table']}"
        return Table(title, [Column(""), Column("", numeric=True)], rows, [f"sketch: {text}" for text in sketches]).html()


class IndexStats(StoredStats):
    """The stats of an index."""


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def stats_of(storage: IndexStorage, name: str, table_name: str, table: ListedTable | None) -> IndexStats:
    """The stats of an index as JSON; sizes in bytes. `table` None: it can't be listed now, so nothing is said of coverage.

    Raises:
        IndexStorageError: the index's place can't be listed.
    """
    view = log.read_log(storage)
    said = heading(storage, view, name, table_name)
    if view.snapshot is not None:
        said |= _sizes(storage, view.snapshot) | _coverage(storage, view.snapshot, table)
    return IndexStats(said)


def heading(storage: IndexStorage, view: log.LogView, name: str, table_name: str) -> dict[str, Any]:
    """What stats begin with: which it is, where, and in which state."""
    return {
        "name": name,
        "table": without_secrets(table_name),
        "place": without_secrets(storage.place),
        "state": view.state,
        "under_way": None if view.under_way is None else view.under_way.state,
    }


def bytes_to_vacuum(storage: IndexStorage, held: log.Held) -> int:
    """The bytes of data files that it does not need."""
    needed = {file.name for file in held.data_files}
    return sum(size for name, size in storage.sizes(DATA).items() if name not in needed)


def _sizes(storage: IndexStorage, snapshot: Snapshot) -> dict[str, Any]:
    sizes = actions.bytes_by_sketch(snapshot)
    return {
        "segments": len(snapshot.segments),
        "packs": snapshot.packs,
        "bytes": sum(file.bytes for file in actions.files_of(snapshot)),
        "bytes_to_vacuum": bytes_to_vacuum(storage, snapshot),
        "sketches": [
            {**sketch_to_dict(sketch), "type": snapshot.definition.types[sketch.column], "bytes": sizes.get(number, 0)}
            for number, sketch in enumerate(snapshot.definition.sketches)
        ],
    }


def _coverage(storage: IndexStorage, snapshot: Snapshot, table: ListedTable | None) -> dict[str, Any]:
    if table is None:
        return {}
    try:
        catalog = load_catalog(storage, snapshot, table_root(storage.place, snapshot))
    except IndexStorageError as error:
        return {"problem": str(error)}
    changes = actions.compare(catalog, table.files)
    known = len(table.files) - len(changes.appended) - len(changes.changed)
    return {
        "table_bytes": table.bytes,
        "files": len(table.files),
        "files_indexed": known,
        "files_appended": len(changes.appended),
        "files_changed": len(changes.changed),
        "files_deleted": changes.deleted,
    }
