"""Damaged and hostile data files: their bytes, and what their columns say."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.index.hostile.index_folder import (
    OUTSIDE,
    PACKS,
    Damage,
    IndexFolder,
    column,
    kinds,
)


def _each_file(damage: Callable[[Path], object]) -> Damage:
    def do(index: IndexFolder) -> None:
        for path in sorted(index.data.iterdir()):
            damage(path)

    return do


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path) -> None:
    moved = path.parents[4] / OUTSIDE / path.name
    path.rename(moved)
    path.symlink_to(moved)


def _end(content: Callable[[bytes], bytes]) -> Damage:
    return _each_file(lambda path: path.write_bytes(content(path.read_bytes())))


def _turned(content: bytes) -> bytes:
    """With every hundredth byte turned over, but for the footer."""
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    return bytes(byte ^ 0xFF if at % 100 == 99 and at < footer else byte for at, byte in enumerate(content))


kinds(
    "data_files",
    {
        "missing": _each_file(os.unlink),
        "empty": _each_file(lambda path: path.write_bytes(b"")),
        "cut": _end(lambda content: content[: len(content) // 2]),
        "of_zeros": _end(lambda content: bytes(len(content))),
        "of_random_bytes": _end(lambda content: random.Random(2).randbytes(len(content))),
        "with_bytes_turned": _end(_turned),
        "with_a_huge_footer": _end(lambda content: content[:-8] + (2**31 - 1).to_bytes(4, "little") + b"PAR1"),
        "with_an_encrypted_footer": _end(lambda content: content[:-4] + b"PARE"),
        "that_are_huge": _each_file(lambda path: os.truncate(path, 1 << 40)),
        "that_are_pipes": _each_file(_pipe),
        "that_are_links": _each_file(_link),
    },
)


def _table_with(role: str | int, change: Callable[[Any], Any]) -> Damage:
    return lambda index: index.replace(role, change(pq.read_table(index.file(role))))


def _files_with(name: str, values: Callable[[list[Any]], list[Any]]) -> Damage:
    return _table_with("files", lambda table: column(table, name, values(table[name].to_pylist())))


kinds(
    "files",
    {
        "with_overlapping_packs": _files_with("first_pack", lambda firsts: [0 for _ in firsts]),
        "with_packs_below_0": _files_with("first_pack", lambda firsts: [-1 for _ in firsts]),
        "with_packs_beyond_64_bits": _files_with("packs", lambda packs: [2**63 - 1 for _ in packs]),
        "without_paths": _files_with("path", lambda paths: [None for _ in paths]),
        "of_one_path": _files_with("path", lambda paths: [paths[0] for _ in paths]),
        "of_other_sizes": _files_with("size_bytes", lambda sizes: [size + 1 for size in sizes]),
        "of_other_times": _files_with("mtime_ms", lambda times: [-time for time in times]),
        "of_other_digests": _files_with("footer_digest", lambda digests: [bytes(16) for _ in digests]),
        "of_each_others_digests": _files_with("footer_digest", lambda digests: digests[::-1]),
        "with_a_column_twice": _table_with("files", lambda table: table.append_column("path", table["path"])),
        "with_3000_columns": _table_with("files", lambda _: pa.table({f"c{i}": [1, 2] for i in range(3_000)})),
        "with_numbers_for_paths": _table_with("files", lambda table: column(table, "path", range(table.num_rows), pa.int64())),
    },
)
kinds(
    "packs",
    {
        "of_other_starts": _table_with("packs", lambda table: column(table, "start", range(table.num_rows))),
        "of_other_rows": _table_with("packs", lambda table: column(table, "rows", [10**15] * table.num_rows)),
        "without_starts": _table_with("packs", lambda table: column(table, "start", [None] * table.num_rows)),
        "fewer_than_said": _table_with("packs", lambda table: table.slice(0, 4)),
    },
)
kinds(
    "sketches",
    {
        "with_bounds_that_are_no_numbers": _table_with(
            0, lambda table: column(table, "low", [float("nan"), float("inf")] * 5, pa.float64())
        ),
        "with_bounds_turned_round": _table_with(0, lambda table: table.rename_columns(["rows", "nulls", "high", "low"])),
        "with_low_above_high": _table_with(
            0, lambda table: column(column(table, "low", [10**18] * PACKS), "high", [-(10**18)] * PACKS)
        ),
        "with_more_nulls_than_rows": _table_with(0, lambda table: column(table, "nulls", [2**62] * PACKS)),
        "with_rows_below_0": _table_with(0, lambda table: column(table, "rows", [-(2**62)] * PACKS)),
        "with_bits_of_no_size": _table_with(1, lambda table: column(table, "bits", [b"\0" * 33] * PACKS)),
        "with_no_bits": _table_with(1, lambda table: column(table, "bits", [b""] * PACKS)),
        "with_long_strings": _table_with(4, lambda table: column(table, "low", [b"k" * 1_000_000] * PACKS)),
        "with_prefixes_that_are_long": _table_with(5, lambda table: column(table, "prefix", [b"k" * 1_000_000] * PACKS)),
        "with_lengths_below_0": _table_with(5, lambda table: column(table, "lengths", [-1] * PACKS)),
    },
)
