"""What can be done to an index. Each action is one pair of log entries; in between, nobody sees anything of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from planner.counted import counted
from rtfilter.errors import IndexDefinitionError, IndexStateError, IndexStorageError, RtFilterError, did_you_mean
from rtfilter.store.index_actions.build import NOTHING_BUILT, BuildReport, Runner, Tell, build_segment, silent
from rtfilter.store.index_actions.listing import ListedTable, identities
from rtfilter.store.index_actions.merge import merge_segments
from rtfilter.store.index_files import log
from rtfilter.store.index_files.catalog import Catalog, load_catalog, stored_path
from rtfilter.store.index_files.index_problems import INDEX_CORRUPT, problem_of
from rtfilter.store.index_files.log import LogView
from rtfilter.store.index_files.sketching import TableFile
from rtfilter.store.index_files.snapshot import MOST_SEGMENTS, DataFile, Definition, Drift, Segment, Snapshot
from rtfilter.store.index_files.storage import DATA, IndexStorage
from rtfilter.store.index_reading.reader import table_root

REFRESH_MODES = ("full", "incremental", "quick")
OPTIMIZE_MODES = ("quick", "full")
# A quick optimize leaves segments of more packs as they are.
SMALL_SEGMENT_PACKS = 10_000
# A vacuum looks whether it was cancelled before every so many files that it removes.
DELETES_BETWEEN_LOOKS = 50


@dataclass(frozen=True, slots=True)
class Changes:
    """A table against what an index knows of it: files to read, and how many are gone."""

    appended: tuple[TableFile, ...]
    changed: tuple[TableFile, ...]
    deleted: int

    @property
    def drift(self) -> Drift:
        return Drift(len(self.appended), len(self.changed), self.deleted)


def create(storage: IndexStorage, definition: Definition, table: ListedTable, runner: Runner, tell: Tell = silent) -> BuildReport:
    """Makes an index of all files of a table.

    Raises:
        IndexDefinitionError: a sketch can hold nothing of any file.
        IndexStateError: there is one of that name, or somebody else is at it.
        IndexStorageError: the index can't be written.
    """
    with action_under_way(storage, log.CREATE) as before:
        segment, report = build_segment(storage, definition, table.root, table.files, runner, tell, must_hold=True)
        _refuse_nothing(table.files, report)
        log.end(storage, log.CREATE, before, log.ACTIVE, Snapshot(definition, () if segment is None else (segment,)))
    return report


def refresh(
    storage: IndexStorage, mode: str, table: ListedTable, runner: Runner, tell: Tell = silent, listed_at: int | None = None
) -> BuildReport:
    """Brings an index up to its table: `full` reads every file, `incremental` the new and changed ones, `quick` none.

    Quick drops what is gone and notes how many files are new or changed; these are read whole by queries as before. Of an index
    whose own files are damaged incremental reads all. `listed_at` as log.begin has it.

    Raises:
        IndexDefinitionError: an unknown mode.
        MovedOnError: another action has ended since the table was listed.
        IndexStateError: the index is not active, or somebody else is at it.
        IndexStorageError: the index can't be read or written; for quick, its files are damaged.
    """
    _check_mode("refresh", mode, REFRESH_MODES)
    with action_under_way(storage, log.REFRESH, listed_at) as before:
        old = _snapshot(before)
        if mode == "full":
            segment, report = build_segment(storage, old.definition, table.root, table.files, runner, tell)
            _refuse_nothing(table.files, report)
            new = Snapshot(old.definition, () if segment is None else (segment,))
        else:
            if mode == "incremental" and len(old.segments) >= MOST_SEGMENTS:
                # Before the table is read for nothing.
                raise IndexStorageError(log.too_many_segments(storage, len(old.segments) + 1))
            catalog = _catalog_or_none(storage, old)
            if catalog is None and mode == "quick":
                raise IndexStorageError(
                    f"files of the index in {storage.place} are damaged; use refresh in mode full, which makes all anew."
                )
            changes = compare(catalog, table.files)
            kept = live_segments(old, catalog, table.files)
            if mode == "quick":
                new = Snapshot(old.definition, kept, changes.drift)
                report = replace(NOTHING_BUILT, noted=changes.drift)
            else:
                wanted = (*changes.appended, *changes.changed)
                segment, report = build_segment(storage, old.definition, table.root, wanted, runner, tell)
                if catalog is None:
                    _refuse_nothing(wanted, report)
                new = Snapshot(old.definition, kept if segment is None else (*kept, segment))
        log.end(storage, log.REFRESH, before, log.ACTIVE, new)
    return report


def optimize(storage: IndexStorage, mode: str, table: ListedTable, listed_at: int | None = None) -> int:
    """Merges segments into one, without files that are gone; `quick` takes the small ones only. Gives the number of segments left.

    Raises:
        IndexDefinitionError: an unknown mode.
        MovedOnError: another action has ended since the table was listed.
        IndexStateError: the index is not active, or somebody else is at it.
        IndexStorageError: the index can't be read or written.
    """
    _check_mode("optimize", mode, OPTIMIZE_MODES)
    with action_under_way(storage, log.OPTIMIZE, listed_at) as before:
        old = _snapshot(before)
        small = [each for each in old.segments if mode == "full" or each.packs.rows <= SMALL_SEGMENT_PACKS]
        new = old
        if len(small) > 1 or (small and mode == "full"):
            catalog = _catalog(storage, old)
            merged = merge_segments(storage, old, small, catalog, identities(table.files))
            large = tuple(each for each in old.segments if each not in small)
            new = replace(old, segments=(*large, *(() if merged is None else (merged,))))
        log.end(storage, log.OPTIMIZE, before, log.ACTIVE, new)
    return len(new.segments)


def delete(storage: IndexStorage) -> None:
    """Takes an index out of use; restore brings it back, vacuum removes it for good. Raises IndexStateError, IndexStorageError."""
    with action_under_way(storage, log.DELETE) as before:
        log.end(storage, log.DELETE, before, log.DELETED, _held(before))


def restore(storage: IndexStorage) -> None:
    """Brings a deleted index back.

    Raises:
        IndexStateError: it is not deleted, or somebody else is at it.
        IndexStorageError: files of it are gone.
    """
    with action_under_way(storage, log.RESTORE) as before:
        held = _held(before)
        there = set(storage.names(DATA))
        gone = [file.name for file in held.data_files if file.name not in there]
        if gone:
            raise IndexStorageError(
                f"{log.named(storage)} can't be restored: {len(gone)} of its files are gone, {gone[0]} is one. "
                "Use vacuum, then create."
            )
        log.end(storage, log.RESTORE, before, log.ACTIVE, held)


def vacuum(storage: IndexStorage, keep_s: float = 0.0) -> int:
    """Removes the files that no reader needs: of a deleted index all of them. Gives how many data files. Raises as the others.

    `keep_s`: what was replaced in the last so many seconds stays, where queries read the files themselves.
    """
    with action_under_way(storage, log.VACUUM) as before:
        held = _held(before)
        active = before.state == log.ACTIVE
        needed = {file.name for file in held.data_files} if active else set()
        needed |= log.replaced_lately(storage, before, keep_s) if active and keep_s else set()
        unneeded = [name for name in storage.names(DATA) if name not in needed]
        for i, name in enumerate(unneeded):
            # Somebody may have cancelled this, and made a snapshot since that needs a file with this content again.
            if i % DELETES_BETWEEN_LOOKS == 0 and log.read_log(storage).number != before.number + 1:
                raise IndexStateError(f"vacuum of {log.named(storage)} was cancelled by somebody else before it ended.")
            storage.delete(name)
        storage.delete_scratch()
        log.drop_old_entries(storage, before)
        log.end(storage, log.VACUUM, before, log.ACTIVE if active else log.DOES_NOT_EXIST, held if active else None)
    return len(unneeded)


def compare(catalog: Catalog | None, files: Sequence[TableFile]) -> Changes:
    """The files of a table that an index does not know as they are now; all of them without a catalog."""
    if catalog is None:
        return Changes(tuple(files), (), 0)
    appended, changed = [], []
    paths = [stored_path(file.path, catalog.root) for file in files]
    for file, path, identity in zip(files, paths, identities(files), strict=True):
        if path not in catalog.by_path:
            appended.append(file)
        elif catalog.find(identity) is None:
            changed.append(file)
    return Changes(tuple(appended), tuple(changed), len(catalog.by_path.keys() - set(paths)))


def live_segments(snapshot: Snapshot, catalog: Catalog | None, files: Sequence[TableFile]) -> tuple[Segment, ...]:
    """The segments that still hold a file of the table."""
    if catalog is None:
        return ()
    located = catalog.locate(identities(files))
    live, first = [], 0
    for segment in snapshot.segments:
        end = first + segment.packs.rows
        if bool(((located.numbers >= first) & (located.numbers < end)).any()):
            live.append(segment)
        first = end
    return tuple(live)


def bytes_by_sketch(snapshot: Snapshot) -> dict[int, int]:
    """The size of each sketch of the definition, by its number, over all segments."""
    sizes: dict[int, int] = {}
    for segment in snapshot.segments:
        for number, file in enumerate(segment.sketches):
            sizes[number] = sizes.get(number, 0) + file.bytes
    return sizes


def files_of(held: log.Held) -> tuple[DataFile, ...]:
    """Each file of an index or a star-tree once."""
    return tuple({file.name: file for file in held.data_files}.values())


@contextmanager
def action_under_way(storage: IndexStorage, action: log.Action, listed_at: int | None = None) -> Iterator[LogView]:
    """Begins an action; one that fails or is interrupted is cancelled, so that the next one finds a stable state."""
    before = log.begin(storage, action, listed_at)
    try:
        yield before
    except BaseException:
        with suppress(RtFilterError):
            # Only what this action began: had somebody else cancelled it, the log would have moved on.
            if log.read_log(storage).number == before.number + 1:
                log.cancel(storage)
        raise


def _snapshot(view: LogView) -> Snapshot:
    if view.snapshot is None:
        raise IndexStateError(f"the index is {view.state} and holds nothing.")
    return view.snapshot


def _held(view: LogView) -> log.Held:
    if view.held is None:
        raise IndexStateError(f"the index is {view.state} and holds nothing.")
    return view.held


def _catalog(storage: IndexStorage, snapshot: Snapshot) -> Catalog:
    return load_catalog(storage, snapshot, table_root(storage.place, snapshot))


def _catalog_or_none(storage: IndexStorage, snapshot: Snapshot) -> Catalog | None:
    """None for an index whose files are damaged: a refresh makes all of it anew. What can't be read just now is none of these."""
    try:
        return _catalog(storage, snapshot)
    except IndexStorageError as error:
        if problem_of(error).reason != INDEX_CORRUPT:
            raise
        return None


def _refuse_nothing(files: Sequence[TableFile], report: BuildReport) -> None:
    if files and not report.files:
        path, reason = report.problems[0]
        raise IndexStorageError(f"none of the table's {counted(len(files), 'file')} can be read; {path}: {reason}.")


def _check_mode(action: str, mode: str, known: Sequence[str]) -> None:
    if mode not in known:
        raise IndexDefinitionError(f"{action} has no mode {mode!r}. {did_you_mean(mode, known)}")
