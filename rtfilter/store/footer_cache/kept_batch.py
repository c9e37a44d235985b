"""What footers of many files said as arrays end to end, and back: the form in which it is kept between applications."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.parquet.array_file import ArrayFile, DamagedFileError, PackedArrays, packed
from rtfilter.store.parquet.arrays import Int64s, Levels
from rtfilter.store.parquet.column_bounds import ColumnBounds
from rtfilter.store.parquet.footer_digest import DIGEST_BYTES
from rtfilter.store.parquet.pack_statistics import FileColumn, FileStats
from rtfilter.store.parquet.stored_types import Kind, StoredType

# Separates paths: none has it in its name.
_NUL = "\0"
_STRINGS = frozenset({Kind.STRING, Kind.FIXED_BYTES})


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """The files of one batch, and their packs end to end. `tails`: the digest of each file's tail, (files, 16), zeros for none."""

    paths: list[str]
    sizes: Int64s
    mtimes: Int64s
    counts: npt.NDArray[np.int32]
    starts: Int64s
    rows: Int64s
    footers: npt.NDArray[np.uint64]
    statuses: npt.NDArray[np.uint64]
    tails: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class KeptColumn:
    """What some files of a batch have under a name, alike in all of them; bounds are of all their packs, end to end.

    `files` are numbers of files of the batch, ascending.
    """

    files: Int64s
    matching: tuple[FileColumn, ...]


def packed_batch(root: str, found: Mapping[FileIdentity, FileStats], facts: Mapping[str, Any]) -> PackedArrays:
    """The file of some files below a root (a Hadoop path text). Columns that can't be understood are left out."""
    files, stats = list(found), list(found.values())
    arrays: dict[str, npt.NDArray[Any]] = {
        "paths": np.frombuffer(
            _NUL.join(file.path[len(root) :] for file in files).encode("utf-8", "surrogatepass"), dtype=np.uint8
        ),
        "sizes": np.array([file.size_bytes for file in files], dtype=np.int64),
        "mtimes": np.array([file.mtime_ms for file in files], dtype=np.int64),
        "counts": np.array([len(each.starts) for each in stats], dtype=np.int32),
        "starts": _end_to_end([each.starts for each in stats]),
        "rows": _end_to_end([each.rows for each in stats]),
        "footers": np.array([each.footer for each in stats], dtype=np.uint64),
        "statuses": np.array([each.status for each in stats], dtype=np.uint64),
        "tails": np.frombuffer(b"".join(each.tail or bytes(DIGEST_BYTES) for each in stats), dtype=np.uint8),
    }
    columns: dict[str, list[list[dict[str, Any]]]] = {}
    for name in sorted({name for each in stats for name in each.columns}):
        described = columns[name] = []
        for alike in _alike(name, stats):
            prefix = f"{name}/{len(described)}"
            arrays[f"{prefix}/files"] = np.array(alike, dtype=np.int64)
            described.append(_pack_alike(prefix, [stats[i].columns[name] for i in alike], arrays))
    return packed({**facts, "root": root, "columns": columns}, arrays)


def read_files(file: ArrayFile) -> KeptFiles:
    """The files of a batch. Raises DamagedFileError, OSError."""
    text = file.read("paths").tobytes().decode("utf-8", "surrogatepass")
    root = str(file.facts["root"])
    names = ("sizes", "mtimes", "counts", "starts", "rows", "footers", "statuses")
    sizes, mtimes, counts, starts, rows, footers, statuses = (file.read(name) for name in names)
    tails = file.read("tails")
    # The last path may be empty (the root is a file), the list of paths never.
    paths = [root + rest for rest in text.split(_NUL)]
    lengths = {len(paths), len(sizes), len(mtimes), len(counts), len(footers), len(statuses), len(tails) // DIGEST_BYTES}
    packs = int(counts.sum())
    if len(lengths) != 1 or (len(counts) and int(counts.min()) < 0) or not packs == len(starts) == len(rows):
        raise DamagedFileError("its arrays are not of one length")
    return KeptFiles(paths, sizes, mtimes, counts, starts, rows, footers, statuses, tails.reshape(-1, DIGEST_BYTES))


def read_columns(file: ArrayFile, names: Iterable[str]) -> dict[str, list[KeptColumn]]:
    """What a batch has under these names (lower case). Raises DamagedFileError, OSError."""
    described = file.facts["columns"]
    return {
        name: [_read_alike(file, f"{name}/{number}", members) for number, members in enumerate(described.get(name, ()))]
        for name in names
    }


def _alike(name: str, stats: Sequence[FileStats]) -> list[list[int]]:
    """The numbers of the files that have a column, in groups that are alike in all but values."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, each in enumerate(stats):
        matching = each.columns.get(name)
        if matching is not None and not any(column.problem for column in matching):
            groups.setdefault(tuple(_kind(column) for column in matching), []).append(i)
    return list(groups.values())


def _kind(column: FileColumn) -> tuple[Any, ...]:
    bounds = column.bounds
    return (column.name, None) if bounds is None else (column.name, bounds.stored, _levels(bounds), bounds.is_believed)


def _levels(bounds: ColumnBounds) -> int:
    """Strings of about one length go together: to a power of two of words, those behind the last one are zero."""
    count = len(bounds.lows)
    return 1 << (count - 1).bit_length() if bounds.stored.kind in _STRINGS else count


def _pack_alike(prefix: str, files: list[tuple[FileColumn, ...]], arrays: dict[str, npt.NDArray[Any]]) -> list[dict[str, Any]]:
    described: list[dict[str, Any]] = []
    for number, first in enumerate(files[0]):
        member = f"{prefix}/{number}"
        if first.bounds is None:
            described.append({"name": first.name})
            continue
        all_bounds = [bounds for matching in files if (bounds := matching[number].bounds) is not None]
        levels = _levels(first.bounds)
        for end in ("lows", "highs"):
            for level in range(levels):
                arrays[f"{member}/{end}/{level}"] = np.concatenate([_level(getattr(each, end), level) for each in all_bounds])
        for flag in ("has_bounds", "all_null", "no_null"):
            arrays[f"{member}/{flag}"] = np.concatenate([getattr(each, flag) for each in all_bounds])
        stored = {**asdict(first.bounds.stored), "kind": first.bounds.stored.kind.name}
        described.append({"name": first.name, "stored": stored, "levels": levels, "believed": first.bounds.is_believed})
    return described


def _level(levels: Levels, number: int) -> npt.NDArray[Any]:
    return levels[number] if number < len(levels) else np.zeros_like(levels[0])


def _read_alike(file: ArrayFile, prefix: str, members: Sequence[Mapping[str, Any]]) -> KeptColumn:
    matching = []
    for number, member in enumerate(members):
        stored = member.get("stored")
        if stored is None:
            matching.append(FileColumn(member["name"], None))
            continue
        at = f"{prefix}/{number}"
        lows, highs = (tuple(file.read(f"{at}/{end}/{level}") for level in range(member["levels"])) for end in ("lows", "highs"))
        has_bounds, all_null, no_null = (file.read(f"{at}/{flag}") for flag in ("has_bounds", "all_null", "no_null"))
        type = StoredType(**{**stored, "kind": Kind[stored["kind"]], "micros": tuple(stored["micros"])})
        bounds = ColumnBounds(type, lows, highs, has_bounds, all_null, no_null, bool(member["believed"]))
        if len({len(array) for array in bounds.arrays}) != 1:
            raise DamagedFileError(f"its arrays of {member['name']} are not of one length")
        matching.append(FileColumn(member["name"], bounds))
    return KeptColumn(file.read(f"{prefix}/files"), tuple(matching))


def _end_to_end(arrays: list[Int64s]) -> Int64s:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
