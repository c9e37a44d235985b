"""Small tables of Parquet files, indexes of them, and verdicts on their packs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.errors import IndexStateError
from rtfilter.store.index_actions.actions import create
from rtfilter.store.index_actions.build import BuildReport, LocalRunner
from rtfilter.store.index_actions.listing import ListedTable, identities, index_place, list_directory
from rtfilter.store.index_files.snapshot import Definition
from rtfilter.store.index_files.storage import IndexStorage, LocalStorage
from rtfilter.store.index_reading.reader import PackIndex, open_index
from rtfilter.store.sketches.column_tests import ValueTest
from rtfilter.store.sketches.kinds import Bloom, MinMax, Sketch

PACK_ROWS = 10
RUNNER = LocalRunner(2)
SKETCHES: tuple[Sketch, ...] = (MinMax("a"), Bloom("a"), MinMax("s"))
TYPES = {"a": "bigint", "s": "string"}


def write_part(folder: Path, name: str, first: int, rows: int = 50, **options: Any) -> Path:
    """A file of numbers from `first` on and strings of them, in packs of ten rows."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = list(range(first, first + rows))
    table = pa.table({"a": pa.array(numbers, pa.int64()), "s": [f"s{number:09d}" for number in numbers]})
    pq.write_table(table, folder / name, row_group_size=PACK_ROWS, **options)
    return folder / name


def write_spread(folder: Path, name: str, offset: int, packs: int = 5, highest: int = 10**6) -> None:
    """Packs whose bounds are all alike, with numbers and strings of their own in between."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = [value for pack in range(packs) for value in (0, highest, *(1000 * (offset + pack) + i for i in range(1, 9)))]
    table = pa.table({"a": pa.array(numbers, pa.int64()), "s": [f"key-{number:07d}" for number in numbers]})
    # Plain pages: files of equal numbers of rows have equal sizes.
    pq.write_table(table, folder / name, row_group_size=10, compression="none", use_dictionary=False)


def definition(
    table: ListedTable, sketches: Sequence[Sketch] = SKETCHES, types: Mapping[str, str] | None = None, name: str = "i"
) -> Definition:
    chosen = types or TYPES
    return Definition(name, table.name, None, tuple(sketches), {each.column: chosen[each.column] for each in sketches})


def storage_of(folder: Path, name: str = "i") -> LocalStorage:
    return LocalStorage(index_place("", str(folder), name))


def create_index(folder: Path, storage: IndexStorage | None = None, **more: Any) -> BuildReport:
    table = list_directory(str(folder))
    return create(storage or storage_of(folder), definition(table, **more), table, RUNNER)


def indexed_table(folder: Path) -> Path:
    """A table of one file in a new folder, with an index."""
    write_part(folder, "p0.parquet", 0)
    create_index(folder)
    return folder


def told_to_two_writers(act: Callable[[], object]) -> list[str]:
    """What two threads are told that act on an index at once: `done`, or the error."""
    outcomes: list[str] = []
    ready = threading.Barrier(2)

    def run() -> None:
        ready.wait()
        try:
            act()
            outcomes.append("done")
        except IndexStateError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return outcomes


def opened(folder: Path, name: str = "i") -> PackIndex:
    index = open_index(storage_of(folder, name))
    assert index is not None
    return index


def kept(index: PackIndex, folder: Path, column: str, test: ValueTest) -> dict[str, list[bool] | None]:
    """For each file of the table its packs that are not rejected, None for a file that the index does not know."""
    files = list_directory(str(folder)).files
    located = index.catalog().locate(identities(files))
    keep = iter((~index.judge(column, test, located.numbers).reject).tolist())
    counts = located.counts.tolist()
    return {
        os.path.basename(file.path): None if count < 0 else [next(keep) for _ in range(count)]
        for file, count in zip(files, counts, strict=True)
    }
