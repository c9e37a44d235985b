"""Makes a statistics file: Parquet footers of all files, and one pass over the values of a sample of row groups. No Spark.

Numbers of distinct values come from sampled row groups. They are exact where these are the whole table. Else values seen once stand
for others (GEE: Charikar, Chaudhuri, Motwani, Narasayya, "Towards estimation error guarantees", 2000).
"""

from __future__ import annotations

import math
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rtfilter.advice.statistics.packs_held import dictionaries, held_by, points_of
from rtfilter.errors import AdviceError

# Rows that are looked at, in whole row groups spread over the table.
SAMPLE_ROWS = 4_000_000
_SPARK_TYPES = {
    **{"bool": "boolean", "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "uint8": "smallint"},
    **{"uint16": "int", "uint32": "bigint", "uint64": "decimal(20,0)", "halffloat": "float", "float": "float", "double": "double"},
    **{"date32[day]": "date", "string": "string", "large_string": "string", "binary": "binary", "large_binary": "binary"},
}


@dataclass(frozen=True, slots=True)
class _Pack:
    file: Path
    number: int
    rows: int


@dataclass(slots=True)
class _Column:
    """What the footers say of a column. `bounds`: one pair for each pack, None where a footer has none."""

    type: pa.DataType
    bytes: int = 0
    bounds: list[tuple[Any, Any] | None] = field(default_factory=list)


def collect(name: str, path: str | Path, sample_rows: int = SAMPLE_ROWS) -> dict[str, Any]:
    """The statistics of one table, as the statistics file has them.

    Raises:
        AdviceError: there is no Parquet file, or one can't be read, or the files have different columns.
    """
    packs, columns, left_out = _read_footers(name, Path(path))
    sample = _sample(packs, sample_rows)
    whole = len(sample) == len(packs)
    rows = sum(pack.rows for pack in packs)
    described = {}
    coded = dictionaries((pack.file, pack.number) for pack in sample)
    for column, facts in columns.items():
        values = _values(name, sample, column, facts.type)
        share, size = coded.get(column, (None, None))
        described[column] = {
            "type": spark_type(facts.type),
            "cardinality": None if values is None else _distinct(values, rows, whole),
            "sorted_share": _sorted_share(values),
            "entries_per_row": 1.0,
            "index": None,
            "bytes": facts.bytes,
            "depth": _depth(facts.bounds, values),
            "held_by": None if values is None else held_by(values, len(packs)),
            "dictionary_share": share,
            "dictionary_bytes": size,
        }
    return {
        "path": os.path.abspath(path),
        "rows": rows,
        "packs": len(packs),
        "files": len({pack.file for pack in packs}),
        "sampled_packs": len(sample),
        "left_out": left_out,
        "columns": described,
    }


def spark_type(type_: pa.DataType) -> str:
    """Spark's name for a type of Arrow."""
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_):
        return "timestamp" if type_.tz else "timestamp_ntz"
    if pa.types.is_dictionary(type_):
        return spark_type(type_.value_type)
    return _SPARK_TYPES.get(str(type_), str(type_))


def _read_footers(name: str, path: Path) -> tuple[list[_Pack], dict[str, _Column], list[str]]:
    packs: list[_Pack] = []
    columns: dict[str, _Column] = {}
    files, left_out = _files(name, path)
    for file in files:
        try:
            metadata = pq.read_metadata(file)
            schema = metadata.schema.to_arrow_schema()
        except Exception as error:  # pyarrow raises many kinds for a file that is broken
            raise AdviceError(f"table {name!r}: {file} can't be read as Parquet: {error}") from error
        leaves = {metadata.schema.column(i).path: i for i in range(len(metadata.schema))}
        flat = {each.name: each.type for each in schema if each.name in leaves}
        nested = [f"{each.name}: nested" for each in schema if each.name not in leaves]
        left_out += [each for each in nested if each not in left_out]
        if columns and set(flat) != set(columns):
            differing = sorted(set(flat) ^ set(columns))
            raise AdviceError(f"table {name!r}: {file} has other columns than the files before it: {', '.join(differing)}.")
        for column, type_ in flat.items():
            columns.setdefault(column, _Column(type_))
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            packs.append(_Pack(file, number, group.num_rows))
            for column, facts in columns.items():
                chunk = group.column(leaves[column])
                facts.bytes += chunk.total_compressed_size
                facts.bounds.append(_bounds(chunk))
    return packs, columns, left_out


def _files(name: str, path: Path) -> tuple[list[Path], list[str]]:
    """The data files of a table as Spark lists them, without those that begin with `_` or a dot, and what its folders stand for."""
    if not path.exists():
        raise AdviceError(f"table {name!r}: there is no {str(path)!r}.")
    if path.is_file():
        return [path], []
    found, partitions = [], dict[str, None]()
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(each for each in folders if not each.startswith((".", "_")))
        partitions |= dict.fromkeys(f"{each.split('=')[0]}: a partition column" for each in folders if "=" in each)
        found += [Path(folder) / each for each in sorted(files) if not each.startswith((".", "_"))]
    if not found:
        raise AdviceError(f"table {name!r}: there is no Parquet file in {str(path)!r}.")
    return sorted(found), list(partitions)


def _bounds(chunk: Any) -> tuple[Any, Any] | None:
    try:
        statistics = chunk.statistics
        if statistics is None or not statistics.has_min_max:
            return None
        low, high = statistics.min, statistics.max
        return (low, high) if low <= high else None
    except Exception:  # bounds that pyarrow can't decode, or compare
        return None


def _depth(bounds: list[tuple[Any, Any] | None], values: list[pa.Array] | None) -> float | None:
    """How many packs have a value between their bounds, on average over sampled values; None where a pack's bounds are unknown.

    1 is a sorted column, the number of packs one without any order.
    """
    known = [each for each in bounds if each is not None]
    if not known or len(known) < len(bounds) or values is None:
        return None
    points = [value for each in points_of(values) for value in each.to_pylist()]
    try:
        lows, highs = sorted(low for low, _ in known), sorted(high for _, high in known)
        # Packs that begin at or before a point, less those that end before it.
        depths = [bisect_right(lows, point) - bisect_left(highs, point) for point in points]
    except TypeError:  # bounds of another type than the values
        return None
    return round(sum(depths) / len(depths), 3) if depths else None


def _sample(packs: list[_Pack], most_rows: int) -> list[_Pack]:
    """Packs spread evenly over the table, as many as `most_rows` allow, and at least one."""
    rows = sum(pack.rows for pack in packs)
    if rows <= most_rows:
        return packs
    count = max(1, int(len(packs) * most_rows / rows))
    return [packs[(2 * i + 1) * len(packs) // (2 * count)] for i in range(count)]


def _values(name: str, sample: list[_Pack], column: str, type_: pa.DataType) -> list[pa.Array] | None:
    """The values of each sampled pack; None of types that have no distinct values to count."""
    if pa.types.is_nested(type_):
        return None
    return list(_read_values(name, sample, column))


def _read_values(name: str, sample: list[_Pack], column: str) -> Iterator[pa.Array]:
    file, path = None, None
    for pack in sample:
        try:
            if file is None or path != pack.file:
                file, path = pq.ParquetFile(pack.file, memory_map=True), pack.file
            values = file.read_row_group(pack.number, columns=[column]).column(0).combine_chunks()
            yield values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        except Exception as error:  # of many kinds, for a file that is broken
            raise AdviceError(f"table {name!r}: column {column!r} of {pack.file} can't be read: {error}") from error


def _distinct(packs: list[pa.Array], rows: int, whole: bool) -> int:
    """The number of distinct values of the table, out of the values of sampled packs; NULL is none."""
    sampled = sum(len(pack) for pack in packs)
    values = [pack.drop_null() for pack in packs if len(pack) > pack.null_count]
    if not values:
        return 0
    counts = np.asarray(pc.value_counts(pa.chunked_array(values)).field("counts"))
    seen, once = len(counts), int(np.count_nonzero(counts == 1))
    if whole:
        return seen
    # Whoever was seen once stands for at least one value and at most rows / sampled of them: their geometric mean.
    estimate = round(math.sqrt(rows / sampled) * once) + seen - once
    return max(seen, min(estimate, round(rows * sum(map(len, values)) / sampled)))


def _sorted_share(packs: list[pa.Array] | None) -> float:
    """The share of sampled packs inside which the values never fall."""
    if not packs:
        return 0.0
    return round(sum(map(_is_sorted, packs)) / len(packs), 4)


def _is_sorted(values: pa.Array) -> bool:
    if values.null_count:
        values = values.drop_null()
    if len(values) < 2:
        return len(values) == 1
    try:
        return bool(pc.all(pc.less_equal(values.slice(0, len(values) - 1), values.slice(1))).as_py())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
