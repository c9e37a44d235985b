"""Reads table files into a segment: cut into portions, sketched by whatever runs them, written in order."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Protocol

from rtfilter.errors import IndexDefinitionError
from rtfilter.store.index_files.catalog import stored_path
from rtfilter.store.index_files.segments import SegmentWriter
from rtfilter.store.index_files.sketching import Portion, PortionSketches, TableFile, sketch_portion
from rtfilter.store.index_files.snapshot import Definition, Drift, Segment
from rtfilter.store.index_files.storage import IndexStorage
from rtfilter.store.sketches.kinds import Sketch

PORTION_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is; bytes are those of the table files, read or not."""

    portions_done: int
    portions_total: int
    bytes_done: int
    bytes_total: int


Tell = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Tells nobody."""


class Runner(Protocol):
    """Runs `sketch_portion` over portions, somewhere, and gives the results in order."""

    def run(self, portions: Sequence[Portion], definition: Definition) -> Iterator[PortionSketches]: ...


SketchPortion = Callable[[Portion, Sequence[Sketch], Mapping[str, str]], PortionSketches]


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """In threads of this process: for tables that a driver reads in seconds. `sketch`: how a portion is read."""

    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    sketch: SketchPortion = sketch_portion

    def run(self, portions: Sequence[Portion], definition: Definition) -> Iterator[PortionSketches]:
        under_way: deque[Future[PortionSketches]] = deque()
        with ThreadPoolExecutor(self.threads, thread_name_prefix="sketches") as pool:
            try:
                for portion in portions:
                    under_way.append(pool.submit(self.sketch, portion, definition.sketches, definition.types))
                    # Results wait for their turn: not more of them than there are threads to make the next ones.
                    if len(under_way) > 2 * self.threads:
                        yield under_way.popleft().result()
                while under_way:
                    yield under_way.popleft().result()
            finally:
                for each in under_way:
                    each.cancel()


@dataclass(frozen=True, slots=True)
class ColumnNotHeld:
    """A column of which the index says nothing in some packs of `files` files, and why in the first of them."""

    column: str
    files: int
    reason: str


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build has done. `problems`: files of which nothing is known, and why. `bytes_read`: footers and column chunks.

    `not_held`: columns of which nothing is known in some of the files that are indexed. `noted`: what a quick refresh has found and
    left unread.
    """

    files: int
    packs: int
    bytes_read: int
    bytes_written: int
    seconds: float
    problems: tuple[tuple[str, str], ...]
    noted: Drift | None = None
    not_held: tuple[ColumnNotHeld, ...] = ()

    def to_dict(self) -> dict[str, object]:
        return {
            "files": self.files,
            "packs": self.packs,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "seconds": round(self.seconds, 3),
            "problems": dict(self.problems),
            "not_held": {each.column: {"files": each.files, "reason": each.reason} for each in self.not_held},
            **({} if self.noted is None else {f"files_{what}": count for what, count in asdict(self.noted).items()}),
        }


NOTHING_BUILT = BuildReport(0, 0, 0, 0, 0.0, ())


def portions_of(file: TableFile) -> list[Portion]:
    """A file in parts of about 128 MiB; a pack belongs to the part that it starts in."""
    cuts = list(range(0, file.size_bytes, PORTION_BYTES))
    return [Portion(file, begin, end) for begin, end in zip(cuts, [*cuts[1:], file.size_bytes], strict=True)]


def build_segment(
    storage: IndexStorage,
    definition: Definition,
    root: str,
    files: Sequence[TableFile],
    runner: Runner,
    tell: Tell = silent,
    *,
    must_hold: bool = False,
) -> tuple[Segment | None, BuildReport]:
    """Sketches these files and publishes the segment; None when there is no file to write down.

    `must_hold`: it is an error when a sketch says nothing of any pack, but for columns that pyarrow can't decode.

    Raises:
        IndexDefinitionError: for `must_hold`.
        IndexStorageError: the index can't be written.
    """
    begun = time.monotonic()
    portions = [portion for file in files for portion in portions_of(file)]
    if not portions:
        return None, NOTHING_BUILT
    problems: list[tuple[str, str]] = []
    bytes_read = done = 0
    holding: set[str] = set()
    not_held: dict[str, ColumnNotHeld] = {}
    undecodable: set[str] = set()
    with SegmentWriter(storage, definition) as writer:
        for file, found in _by_file(files, _told(portions, runner.run(portions, definition), tell)):
            bytes_read += sum(each.bytes_read for each in found)
            problem = _problem_of(found)
            if problem is None:
                writer.add_file(file, stored_path(file.path, root), found)
                done += 1
                _note_not_held(found, not_held)
                for each in found:
                    undecodable |= each.undecodable
                    holding.update(_columns_held(each, definition.sketches))
            else:
                problems.append((file.path, problem))
        packs = writer.packs
        if must_hold:
            _require_held(definition.sketches, holding | undecodable, not_held)
        segment = writer.finish() if done else None
        if segment is None:
            writer.discard()
    written = 0 if segment is None else sum(file.bytes for file in segment.data_files)
    seconds, lacking = time.monotonic() - begun, tuple(not_held.values())
    return segment, BuildReport(done, packs, bytes_read, written, seconds, tuple(problems), not_held=lacking)


def _note_not_held(found: Sequence[PortionSketches], not_held: dict[str, ColumnNotHeld]) -> None:
    """Counts one more file for each column that its portions do not hold."""
    for column, reason in {key: why for each in reversed(found) for key, why in each.not_held.items()}.items():
        before = not_held.get(column, ColumnNotHeld(column, 0, reason))
        not_held[column] = replace(before, files=before.files + 1)


def _told(portions: Sequence[Portion], found: Iterable[PortionSketches], tell: Tell) -> Iterator[PortionSketches]:
    total = sum(portion.end - portion.begin for portion in portions)
    bytes_done = 0
    tell(Progress(0, len(portions), 0, total))
    for number, (portion, each) in enumerate(zip(portions, found, strict=True), 1):
        bytes_done += portion.end - portion.begin
        tell(Progress(number, len(portions), bytes_done, total))
        yield each


def _by_file(files: Sequence[TableFile], found: Iterator[PortionSketches]) -> Iterator[tuple[TableFile, list[PortionSketches]]]:
    for file in files:
        yield file, [next(found) for _ in portions_of(file)]


def _problem_of(portions: Sequence[PortionSketches]) -> str | None:
    problem = next((each.problem for each in portions if each.problem is not None), None)
    if problem is None and len({each.digest for each in portions}) != 1:
        return "the file was replaced while it was read"
    return problem


def _columns_held(found: PortionSketches, sketches: Sequence[Sketch]) -> set[str]:
    """The columns of which something is known in at least one of these packs."""
    rows = ((sketch.column, batch.column("rows")) for sketch, batch in zip(sketches, found.batches, strict=True))
    return {column for column, known in rows if known.null_count < len(known)}


def _require_held(sketches: Sequence[Sketch], holding: set[str], not_held: Mapping[str, ColumnNotHeld]) -> None:
    for sketch in sketches:
        if sketch.column in not_held and sketch.column not in holding:
            raise IndexDefinitionError(
                f"{type(sketch).__name__}({sketch.column!r}) could not hold a value of any file: {not_held[sketch.column].reason}. "
                "Leave it out."
            )
