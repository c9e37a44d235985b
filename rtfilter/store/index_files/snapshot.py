"""What an index holds at one moment: its definition and the files with its sketches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rtfilter.errors import IndexDefinitionError, IndexStorageError
from rtfilter.store.index_files.storage import checked_name
from rtfilter.store.sketches.domain import domain_of
from rtfilter.store.sketches.kinds import Sketch, check_type, sketch_from_dict, sketch_to_dict

MOST_SKETCHES = 1_000
# Of no more can an index be opened in a second.
MOST_SEGMENTS = 10_000
# Of a segment and of a whole index. Sums of them stay far from what 64 bits hold.
MOST_ROWS = 1_000_000_000
MOST_BYTES = 1 << 48
# What a data file's name, size and rows take in memory.
_DATA_FILE_BYTES = 300


@dataclass(frozen=True, slots=True)
class Definition:
    """What a user asked for. `root` is where the table is, None: the directory that holds `_rtfilter`. Types are Spark's texts."""

    name: str
    table: str
    root: str | None
    sketches: tuple[Sketch, ...]
    types: Mapping[str, str]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(sketch.column for sketch in self.sketches))


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of the index: name, size in bytes, rows."""

    name: str
    bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class Segment:
    """What one refresh has added: its table files, their packs, and a file per sketch, in the order of the definition."""

    files: DataFile
    packs: DataFile
    sketches: tuple[DataFile, ...]

    @property
    def data_files(self) -> tuple[DataFile, ...]:
        return (self.files, self.packs, *self.sketches)


@dataclass(frozen=True, slots=True)
class Drift:
    """How far the table had moved on when a quick refresh looked: files that are new, changed or gone since."""

    appended: int = 0
    changed: int = 0
    deleted: int = 0


NO_DRIFT = Drift()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An index at one moment; equal snapshots give equal verdicts."""

    definition: Definition
    segments: tuple[Segment, ...]
    drift: Drift = NO_DRIFT

    @property
    def data_files(self) -> tuple[DataFile, ...]:
        return tuple(file for segment in self.segments for file in segment.data_files)

    @property
    def bytes(self) -> int:
        """About what it takes in memory."""
        return _DATA_FILE_BYTES * len(self.segments) * (2 + len(self.definition.sketches))

    @property
    def packs(self) -> int:
        return sum(segment.packs.rows for segment in self.segments)

    def to_dict(self) -> dict[str, Any]:
        definition = self.definition
        return {
            "name": definition.name,
            "table": definition.table,
            "root": definition.root,
            "types": dict(definition.types),
            "sketches": [sketch_to_dict(sketch) for sketch in definition.sketches],
            "segments": [
                {
                    "files": data_file_to_dict(segment.files),
                    "packs": data_file_to_dict(segment.packs),
                    "sketches": [data_file_to_dict(file) for file in segment.sketches],
                }
                for segment in self.segments
            ],
            "drift": {"appended": self.drift.appended, "changed": self.drift.changed, "deleted": self.drift.deleted},
        }


def data_file_to_dict(file: DataFile) -> dict[str, Any]:
    """A file as a log entry has it."""
    return {"name": file.name, "bytes": file.bytes, "rows": file.rows}


def snapshot_from_dict(entry: Mapping[str, Any]) -> Snapshot:
    """A snapshot out of a log entry, every part of it checked.

    Raises:
        IndexStorageError: it is not what docs/index-format.md says.
    """
    try:
        sketches = tuple(sketch_from_dict(each) for each in entry["sketches"])
        types = {str(column): str(type_) for column, type_ in entry["types"].items()}
        root = None if entry["root"] is None else str(entry["root"])
        definition = Definition(str(entry["name"]), str(entry["table"]), root, sketches, types)
        if len(sketches) > MOST_SKETCHES or len(entry["segments"]) > MOST_SEGMENTS:
            raise ValueError(f"{len(sketches)} sketches and {len(entry['segments'])} segments are out of bounds")
        for sketch in sketches:
            check_type(sketch, types[sketch.column])
        segments = tuple(_segment(each, definition) for each in entry["segments"])
        check_files(segments)
        bounded_count(sum(segment.packs.rows for segment in segments), MOST_ROWS, "packs of all segments")
        drift = Drift(**{key: bounded_count(value, MOST_ROWS, key) for key, value in entry.get("drift", {}).items()})
        return Snapshot(definition, segments, drift)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, IndexDefinitionError) as error:
        raise IndexStorageError(f"a log entry of the index can't be understood: {type(error).__name__}: {error}.") from error


def _segment(entry: Mapping[str, Any], definition: Definition) -> Segment:
    segment = Segment(
        data_file_from_dict(entry["files"]),
        data_file_from_dict(entry["packs"]),
        tuple(data_file_from_dict(each) for each in entry["sketches"]),
    )
    if [file.rows for file in segment.sketches] != [segment.packs.rows] * len(definition.sketches):
        raise ValueError("a segment's sketch files do not have a row per pack")
    return segment


class HasFiles(Protocol):
    """A segment: `files` names the file that lists its table files."""

    @property
    def files(self) -> DataFile: ...

    @property
    def data_files(self) -> tuple[DataFile, ...]: ...


def check_files(segments: Sequence[HasFiles]) -> None:
    """Segments may share a file of equal content, but none is there twice: what it knows of table files is its own.

    Raises:
        ValueError: one is, or a file is two different ones.
    """
    repeated = _repeated(segment.files.name for segment in segments)
    if repeated is not None:
        raise ValueError(f"two segments have the same files, {repeated}")
    known: dict[str, DataFile] = {}
    for file in (file for segment in segments for file in segment.data_files):
        other = known.setdefault(file.name, file)
        if other != file:
            raise ValueError(f"{file.name} has {other.bytes} bytes and {other.rows} rows, and {file.bytes} and {file.rows}")


def _repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def data_file_from_dict(entry: Mapping[str, Any]) -> DataFile:
    name = checked_name(str(entry["name"]))
    return DataFile(
        name,
        bounded_count(entry["bytes"], MOST_BYTES, f"bytes of {name}"),
        bounded_count(entry["rows"], MOST_ROWS, f"rows of {name}"),
    )


def bounded_count(value: Any, most: int, what: str) -> int:
    """A number out of a log entry. Raises ValueError: it is none, or out of bounds."""
    if type(value) is not int:
        raise ValueError(f"{what}: {value!r:.40} is no number of them")
    if not 0 <= value <= most:
        raise ValueError(f"{what}: {value} is below 0 or above {most}, the most that an index may have")
    return value


def domain_of_column(definition: Definition, column: str) -> str:
    """The domain of an indexed column."""
    domain = domain_of(definition.types[column])
    assert domain is not None, "check_type lets no other type in"
    return domain
