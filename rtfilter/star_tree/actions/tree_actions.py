"""Create, refresh and optimize of star-trees. What does not look at the table, as delete, is that of indexes (index_actions)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace

from rtfilter.errors import IndexDefinitionError, IndexStateError, IndexStorageError, RtFilterError, did_you_mean
from rtfilter.star_tree.actions.partition_parts import Part, common_partition, parts_by_partition
from rtfilter.star_tree.actions.row_limit import NO_LIMIT, GroupCounts, RowLimit, group_counts, refuse_base, refuse_tree
from rtfilter.star_tree.actions.stored_base import base_of_segment
from rtfilter.star_tree.actions.table_reader import Footer, Say, TableReader, footer_of, footers_of, silent
from rtfilter.star_tree.base_rows import BaseRows, appended_rows
from rtfilter.star_tree.groups import BuiltTree, LargeGroups, Place
from rtfilter.star_tree.measures import Measure, parse_measures
from rtfilter.star_tree.tree_files import CoveredFile, covered_files, write_segment
from rtfilter.star_tree.tree_table import tree_of_base
from rtfilter.store.index_actions.actions import action_under_way
from rtfilter.store.index_actions.listing import ListedTable
from rtfilter.store.index_files import log
from rtfilter.store.index_files.catalog import stored_path
from rtfilter.store.index_files.index_problems import INDEX_CORRUPT, problem_of
from rtfilter.store.index_files.sketching import TableFile
from rtfilter.store.index_files.snapshot import MOST_SEGMENTS
from rtfilter.store.index_files.storage import DATA, IndexFiles, IndexStorage
from rtfilter.store.index_files.tree_snapshot import TreeDefinition, TreeSegment, TreeSnapshot

REFRESH_MODES = ("incremental", "full")
# Groups of larger tables are counted before they are made. The count may be wrong by some hundredths.
COUNTED_FIRST_ROWS = 1_000_000
UNSURE = 1.2


@dataclass(frozen=True, slots=True)
class TreeReport:
    """What a build has done: table files read and their rows; rows of the tree, those without stars (`base_rows`) among them."""

    files: int
    table_rows: int
    base_rows: int
    tree_rows: int
    bytes_written: int
    seconds: float

    def to_dict(self) -> dict[str, object]:
        return {
            "files": self.files,
            "table_rows": self.table_rows,
            "base_rows": self.base_rows,
            "tree_rows": self.tree_rows,
            "bytes_written": self.bytes_written,
            "seconds": round(self.seconds, 3),
        }


NOTHING_BUILT = TreeReport(0, 0, 0, 0, 0, 0.0)


def create(
    storage: IndexStorage, definition: TreeDefinition, reader: TableReader, limit: RowLimit = NO_LIMIT, say: Say = silent
) -> TreeReport:
    """Makes a star-tree of all files of a table. Until its files are written nothing is left of one that can't be made.

    Raises:
        IndexDefinitionError: it would have more rows than it may, or values that a tree can't hold.
        IndexStateError: there is one of that name, or somebody else is at it.
        IndexStorageError: the table can't be read, or has changed meanwhile; the tree can't be written.
    """
    log.require_startable(storage, log.CREATE)
    begun, table = time.monotonic(), reader.listed()
    with _made(definition, reader, table, table.files, limit, say) as made, action_under_way(storage, log.CREATE) as before:
        try:
            segments = _written(storage, definition, made, say)
        except Exception:
            _remove_data(storage, before)
            raise
        log.end(storage, log.CREATE, before, log.ACTIVE, TreeSnapshot(definition, segments))
        return _report(made, segments, begun)


def refresh(storage: IndexStorage, mode: str, reader: TableReader, limit: RowLimit = NO_LIMIT, say: Say = silent) -> TreeReport:
    """Brings a star-tree up to its table: `full` makes it anew, `incremental` adds a segment of the new and changed files.

    A segment of which a file has changed or is gone is dropped: its rows can't be told apart. Its other files go into the new one.

    Raises:
        IndexDefinitionError: an unknown mode; or as `create`.
        IndexStateError: the tree is not active, or somebody else is at it.
        IndexStorageError: as `create`.
    """
    if mode not in REFRESH_MODES:
        raise IndexDefinitionError(f"refresh has no mode {mode!r}. {did_you_mean(mode, REFRESH_MODES)}")
    begun = time.monotonic()
    with action_under_way(storage, log.REFRESH) as before:
        old, table = _tree(before), reader.listed()
        kept, wanted = ((), table.files) if mode == "full" else stale_files(storage, old, reader, table)
        if len(kept) >= MOST_SEGMENTS:
            # Before the table is read for nothing.
            raise IndexStorageError(log.too_many_segments(storage, len(kept) + 1))
        report, segments = NOTHING_BUILT, kept
        if wanted or not kept:
            with _made(old.definition, reader, table, wanted, limit, say) as made:
                new = _written(storage, old.definition, made, say)
                report, segments = _report(made, new, begun), (*kept, *new)
        log.end(storage, log.REFRESH, before, log.ACTIVE, TreeSnapshot(old.definition, segments))
    return report


def optimize(storage: IndexStorage, reader: TableReader, say: Say = silent) -> int:
    """Makes one segment of those whose files are all as they were, from rows without stars; where partition columns are dimensions,
    one for each partition. Gives how many segments are left.

    Raises:
        IndexStateError: the tree is not active, or somebody else is at it.
        IndexStorageError: the tree can't be read or written.
    """
    with action_under_way(storage, log.OPTIMIZE) as before:
        old, table = _tree(before), reader.listed()
        fresh, _ = stale_files(storage, old, reader, table)
        by_partition: dict[Place, list[TreeSegment]] = {}
        for segment in fresh:
            place = common_partition(old.definition, covered_files(storage, segment))
            by_partition.setdefault(place, []).append(segment)
        segments = tuple(each for each in old.segments if each not in fresh)
        for together in by_partition.values():
            say(f"merges {len(together)} segments")
            segments += (together[0] if len(together) == 1 else _merged(storage, old.definition, reader, together),)
        log.end(storage, log.OPTIMIZE, before, log.ACTIVE, replace(old, segments=segments))
    return len(segments)


def _merged(storage: IndexStorage, definition: TreeDefinition, reader: TableReader, segments: Sequence[TreeSegment]) -> TreeSegment:
    files = [file for segment in segments for file in covered_files(storage, segment)]
    large = reader.merged(definition, storage.place, segments)
    base: BaseRows | LargeGroups
    base = appended_rows([base_of_segment(storage, definition, each) for each in segments]) if large is None else large
    with closing(base):
        expected = sum(segment.table_rows for segment in segments)
        if base.table_rows != expected:
            raise IndexStorageError(f"the star-tree in {storage.place} has {base.table_rows} of {expected} rows of the table.")
        return write_segment(storage, definition, built_tree(definition, base), base, files)


def stale_files(
    storage: IndexFiles, snapshot: TreeSnapshot, reader: TableReader, table: ListedTable
) -> tuple[tuple[TreeSegment, ...], tuple[TableFile, ...]]:
    """The segments whose files are all as they were, and the files of the table that are in none of them.

    Of a tree whose own files are damaged nothing is kept.
    """
    listed = {stored_path(file.path, table.root): file for file in table.files}
    kept: list[TreeSegment] = []
    known: set[str] = set()
    for segment in snapshot.segments:
        files = _covered_or_none(storage, segment)
        paths = set() if files is None else {file.path for file in files}
        if files is None or known & paths or not all(_is_as_it_was(reader, listed.get(each.path), each) for each in files):
            continue
        kept.append(segment)
        known |= paths
    return tuple(kept), tuple(file for path, file in listed.items() if path not in known)


def built_tree(definition: TreeDefinition, base: BaseRows | LargeGroups) -> BuiltTree:
    """The tree of a definition, of these rows. Raises IndexDefinitionError: it can't hold one of their values."""
    if not isinstance(base, BaseRows):
        return base.tree(definition)
    return tree_of_base(
        base,
        definition.types,
        definition.dimensions,
        measures_of(definition),
        max_leaf=definition.max_leaf,
        no_star=definition.no_star,
    )


def measures_of(definition: TreeDefinition) -> tuple[Measure, ...]:
    """The measures of a definition. Raises IndexDefinitionError: a log has others than a tree can hold."""
    return parse_measures(definition.measures, definition.types, floats=definition.floats)


@dataclass(frozen=True, slots=True)
class _Made:
    """A tree in memory, and the rows and table files that it is of."""

    part: Part
    built: BuiltTree


@contextmanager
def _made(
    definition: TreeDefinition, reader: TableReader, table: ListedTable, files: Sequence[TableFile], limit: RowLimit, say: Say
) -> Iterator[list[_Made]]:
    """A tree of each partition, where partition columns are dimensions; else one."""
    footers = footers_of(reader, files, table.root)
    with bounded_tree(definition, reader, files, footers, limit, say) as (base, built):
        require_unchanged(table, reader.listed())
        parts = parts_by_partition(definition, base, footers)
        if len(parts) > 1:
            made = [_Made(part, built_tree(definition, part.base)) for part in parts]
            if sum(len(each.built) for each in made) <= limit.most(base.table_rows):
                yield made
                return
        yield [_Made(Part(base, tuple(footer.file for footer in footers)), built)]


def _written(storage: IndexStorage, definition: TreeDefinition, made: Sequence[_Made], say: Say) -> tuple[TreeSegment, ...]:
    say(f"writes {sum(len(each.built) for each in made)} rows")
    return tuple(write_segment(storage, definition, each.built, each.part.base, each.part.files) for each in made)


def _report(made: Sequence[_Made], segments: Sequence[TreeSegment], begun: float) -> TreeReport:
    return TreeReport(
        files=sum(len(each.part.files) for each in made),
        table_rows=sum(each.part.base.table_rows for each in made),
        base_rows=sum(each.built.base_rows for each in made),
        tree_rows=sum(segment.tree_rows for segment in segments),
        bytes_written=sum(file.bytes for segment in segments for file in segment.data_files),
        seconds=time.monotonic() - begun,
    )


def _remove_data(storage: IndexStorage, before: log.LogView) -> None:
    """Of a tree that is not there yet nothing is needed. Had somebody cancelled its making, another might be there by now."""
    with suppress(RtFilterError):
        for name in storage.names(DATA) if log.read_log(storage).number == before.number + 1 else ():
            storage.delete(name)


@contextmanager
def bounded_tree(
    definition: TreeDefinition,
    reader: TableReader,
    files: Sequence[TableFile],
    footers: Sequence[Footer],
    limit: RowLimit,
    say: Say = silent,
) -> Iterator[tuple[BaseRows | LargeGroups, BuiltTree]]:
    """The tree of table files, and the rows that it is made of; both are there as long as this is entered.

    Raises:
        IndexDefinitionError: it has more rows than it may, or values that it can't hold.
        IndexStorageError: the files can't be read, or have other rows than their footers say.
    """
    table_rows = sum(footer.rows for footer in footers)
    most = limit.most(table_rows)
    say(f"groups {table_rows} rows of {len(files)} files")
    counts = group_counts(reader, definition, files) if table_rows > max(most, COUNTED_FIRST_ROWS) else None
    if counts is not None and counts.groups > most * UNSURE:
        raise refuse_base(definition, counts, most)
    with closing(reader.grouped(definition, files)) as base:
        if len(base) > most:
            raise refuse_base(definition, GroupCounts.of(base, len(definition.dimensions)), most)
        _require_all_rows(definition, base.table_rows, table_rows)
        say(f"builds a tree of {len(base)} groups")
        built = built_tree(definition, base)
        if len(built) > most:
            raise refuse_tree(definition, GroupCounts.of(base, len(definition.dimensions)), len(built), most)
        yield base, built


def _require_all_rows(definition: TreeDefinition, grouped: int, table_rows: int) -> None:
    if grouped != table_rows:
        raise IndexStorageError(
            f"the table {definition.table!r} has {table_rows} rows by its files' footers, and {grouped} were read: it has "
            "changed while its star-tree was built, or the session leaves out files (spark.sql.files.ignoreCorruptFiles). Start "
            "again when nobody writes to it."
        )


def require_unchanged(before: ListedTable, after: ListedTable) -> None:
    """Raises IndexStorageError: a table has changed between two listings; it names a file."""
    old, new = ({file.path: file for file in table.files} for table in (before, after))
    changed = next((path for path in sorted(old.keys() | new.keys()) if old.get(path) != new.get(path)), None)
    if changed is not None:
        what = "is new" if changed not in old else "is gone" if changed not in new else "was replaced"
        raise IndexStorageError(
            f"the table {before.name!r} has changed while its star-tree was built: {changed} {what}. Start again when nobody "
            "writes to it."
        )


def _is_as_it_was(reader: TableReader, listed: TableFile | None, known: CoveredFile) -> bool:
    if listed is None or (listed.size_bytes, listed.mtime_ms) != (known.size_bytes, known.mtime_ms):
        return False
    try:
        return footer_of(reader, listed, "").file.digest == known.digest
    except IndexStorageError:
        return False


def _covered_or_none(storage: IndexFiles, segment: TreeSegment) -> tuple[CoveredFile, ...] | None:
    """The table files of a segment; None where the tree's own file is damaged. What can't be read just now is an error."""
    try:
        return covered_files(storage, segment)
    except IndexStorageError as error:
        if problem_of(error).reason != INDEX_CORRUPT:
            raise
        return None


def _tree(view: log.LogView) -> TreeSnapshot:
    if view.tree is None:
        raise IndexStateError(f"there is no star-tree, but something that is {view.state}.")
    return view.tree
