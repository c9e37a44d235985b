"""The table as a build of a tree needs it: whoever reads it says what is here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from rtfilter.errors import IndexStorageError
from rtfilter.star_tree.base_rows import BaseRows
from rtfilter.star_tree.groups import LargeGroups
from rtfilter.star_tree.tree_files import CoveredFile
from rtfilter.store.index_actions.listing import ListedTable
from rtfilter.store.index_files.catalog import stored_path
from rtfilter.store.index_files.sketching import TableFile
from rtfilter.store.index_files.tree_snapshot import TreeDefinition, TreeSegment
from rtfilter.store.parquet.footer_digest import footer_digest, read_tail
from rtfilter.store.parquet.table_footer import table_footer

# Reads wait for disks or the network, not for a core.
THREADS = 16
# What a build says of its progress, for people.
Say = Callable[[str], None]


def silent(_: str) -> None:
    """Tells nobody."""


class TableReader(Protocol):
    """Reads a table's files for a tree."""

    def listed(self) -> ListedTable:
        """The table's files now. Raises IndexDefinitionError, IndexStorageError."""
        ...

    def open(self, file: TableFile) -> BinaryIO:
        """A file, for its footer. Raises OSError, IndexStorageError."""
        ...

    def counts(self, definition: TreeDefinition, files: Sequence[TableFile], wanted: Sequence[Sequence[int]]) -> list[int] | None:
        """About how many groups each of these sets of dimensions (by number) makes, for much less than grouping takes; None where
        it would not be less."""
        ...

    def sampled(self, definition: TreeDefinition, files: Sequence[TableFile], rows: int) -> BaseRows | LargeGroups:
        """About so many rows of these files, grouped. Raises as `grouped`."""
        ...

    def merged(self, definition: TreeDefinition, place: str, segments: Sequence[TreeSegment]) -> LargeGroups | None:
        """The groups of several segments of the tree in this place, to be closed; None where this process can hold and merge them.

        Raises:
            IndexDefinitionError: it has sketches, and there is no Spark that merges them.
            IndexStorageError: they can't be read.
        """
        ...

    def grouped(self, definition: TreeDefinition, files: Sequence[TableFile]) -> BaseRows | LargeGroups:
        """The rows of these files, grouped by all dimensions; somebody has to close them.

        Raises:
            IndexDefinitionError: the table no longer has the definition's columns, or values that a tree can't hold.
            IndexStorageError: a file can't be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class Footer:
    """What a table file's footer says of it."""

    file: CoveredFile
    rows: int


def footers_of(reader: TableReader, files: Sequence[TableFile], root: str) -> list[Footer]:
    """The footers of table files, in order; several are read at a time. Raises IndexStorageError: one can't be read."""
    with ThreadPoolExecutor(THREADS, thread_name_prefix="footers") as pool:
        return list(pool.map(lambda file: footer_of(reader, file, root), files))


def footer_of(reader: TableReader, file: TableFile, root: str) -> Footer:
    """The footer of a table file. Raises IndexStorageError: it can't be read."""
    try:
        with reader.open(file) as opened:
            tail = read_tail(opened, file.size_bytes)
        metadata = table_footer(tail, ()).metadata
    except Exception as error:  # pyarrow raises many kinds
        raise IndexStorageError(f"the table file {file.path} can't be read: {error}.") from error
    digest, packs = footer_digest(tail), metadata.num_row_groups
    covered = CoveredFile(stored_path(file.path, root), file.size_bytes, file.mtime_ms, digest, packs)
    return Footer(covered, metadata.num_rows)
