"""What is known of a table without a look at its rows: the statistics file that `rtfilter stats` writes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtfilter.errors import AdviceError

INDEXES = ("inverted", "range")
MOST_BYTES = 256 << 20
MAKE_ONE = "`rtfilter stats NAME=PATH --out FILE` makes one."


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """One column. `cardinality`: number of distinct values. `sorted_share`: share of the packs inside which it is sorted.
    `entries_per_row`: above 1 for arrays. `bytes`: compressed, in all files. `depth`: mean number of packs whose bounds hold one
    value, `held_by`: of those that have it. `dictionary_share`: share of the packs whose dictionary (or Bloom filter) Spark asks
    before it reads them, `dictionary_bytes`: of one. None: unknown."""

    name: str
    type: str | None = None
    cardinality: float | None = None
    sorted_share: float = 0.0
    entries_per_row: float = 1.0
    index: str | None = None
    bytes: int | None = None
    depth: float | None = None
    held_by: float | None = None
    dictionary_share: float | None = None
    dictionary_bytes: int | None = None

    @property
    def is_single_valued(self) -> bool:
        return self.entries_per_row <= 1.0001


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """One table. `columns` by their names in lower case: Spark's names have no case."""

    name: str
    rows: int | None
    columns: Mapping[str, ColumnStatistics]
    packs: int | None = None
    path: str | None = None

    def column(self, name: str) -> ColumnStatistics | None:
        return self.columns.get(name.lower())

    @property
    def has_bytes(self) -> bool:
        return bool(self.columns) and all(column.bytes is not None for column in self.columns.values())

    @property
    def bytes(self) -> int | None:
        return sum(column.bytes or 0 for column in self.columns.values()) if self.has_bytes else None


def read_statistics(path: str | Path) -> dict[str, TableStatistics]:
    """The tables of a statistics file, by name.

    Raises:
        AdviceError: it can't be read, is no JSON, or says something impossible; the text names the place.
    """
    try:
        if Path(path).stat().st_size > MOST_BYTES:
            raise AdviceError(f"{path}: a statistics file has at most {MOST_BYTES >> 20} MiB. Is it one?")
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AdviceError(f"{path}: the statistics file can't be read: {error}. {MAKE_ONE}") from error
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AdviceError(f"{path}: not a statistics file, its JSON can't be read: {error}") from error
    return parse_statistics(content, str(path))


def parse_statistics(content: Any, where: str) -> dict[str, TableStatistics]:
    """The tables of a statistics file's JSON; `where` names the file in errors."""
    tables = content.get("tables") if isinstance(content, dict) else None
    if not isinstance(tables, dict):
        raise AdviceError(f'{where}: not a statistics file: it has no object "tables". {MAKE_ONE}')
    found = {name: _table(name, table, f"{where}: table {name!r}") for name, table in tables.items()}
    if len({name.lower() for name in found}) < len(found):
        raise AdviceError(f"{where}: two tables have names that differ in case only; Spark takes them for one.")
    return found


def _table(name: str, content: Any, where: str) -> TableStatistics:
    columns = content.get("columns") if isinstance(content, dict) else None
    if not isinstance(columns, dict):
        raise AdviceError(f'{where} has no object "columns".')
    found = {key.lower(): _column(key, column, f"{where}, column {key!r}") for key, column in columns.items()}
    if len(found) < len(columns):
        raise AdviceError(f"{where}: two columns have names that differ in case only.")
    return TableStatistics(name, _whole(content, "rows", where), found, _whole(content, "packs", where), _path(content, where))


def _path(content: dict[str, Any], where: str) -> str | None:
    path = content.get("path")
    if path is not None and not isinstance(path, str):
        raise AdviceError(f'{where}: "path" is {path!r}; it must be a text, or be left out.')
    return path


def _column(name: str, content: Any, where: str) -> ColumnStatistics:
    if not isinstance(content, dict):
        raise AdviceError(f"{where} is {content!r}; it must be an object.")
    index = content.get("index")
    if index is not None and index not in INDEXES:
        raise AdviceError(f'{where}: "index" is {index!r}; it must be null, {" or ".join(map(repr, INDEXES))}.')
    kind = content.get("type")
    if kind is not None and not isinstance(kind, str):
        raise AdviceError(f'{where}: "type" is {kind!r}; it must be a text such as "int".')
    share = _number(content, "sorted_share", where, 0.0, most=1.0)
    entries = _number(content, "entries_per_row", where, 1.0)
    return ColumnStatistics(
        name=name,
        type=kind,
        cardinality=_number(content, "cardinality", where, None),
        sorted_share=0.0 if share is None else share,
        entries_per_row=1.0 if entries is None else max(1.0, entries),
        index=index,
        bytes=_whole(content, "bytes", where),
        depth=_number(content, "depth", where, None),
        held_by=_number(content, "held_by", where, None),
        dictionary_share=_number(content, "dictionary_share", where, None, most=1.0),
        dictionary_bytes=_whole(content, "dictionary_bytes", where),
    )


def _number(content: dict[str, Any], key: str, where: str, missing: float | None, most: float = math.inf) -> float | None:
    value = content.get(key)
    if value is None:
        return missing
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not (0 <= value <= most and value < 1e300):
        limit = "a number from 0 on" if most == math.inf else f"a number from 0 to {most:g}"
        raise AdviceError(f'{where}: "{key}" is {value!r}; it must be {limit}, or be left out.')
    return float(value)


def _whole(content: dict[str, Any], key: str, where: str) -> int | None:
    value = _number(content, key, where, None)
    if value is not None and value != int(value):
        raise AdviceError(f'{where}: "{key}" is {content[key]!r}; it must be a whole number, or be left out.')
    return None if value is None else int(value)
