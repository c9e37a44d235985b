"""Index folders that are damaged, or made by somebody who means harm: each kind changes the folder of a good index.

Nothing here does harm: what lies outside of the folder and is pointed at is only a file that must stay as it is.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, MinMax, ValueSet
from tests.index.tables import create_index, write_spread

SKETCHES = (MinMax("a"), Bloom("a"), ValueSet("a", 64), Histogram("a"), MinMax("s"), CMap("s"))
PACKS = 10
LATEST = 2
# Beside the table: what a folder may point at.
OUTSIDE = "outside"

Snapshot = dict[str, Any]
Damage = Callable[["IndexFolder"], object]


@dataclass(frozen=True)
class IndexFolder:
    """The folder of an index, and what one does to it."""

    path: Path

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def outside(self) -> Path:
        return self.path.parents[2] / OUTSIDE

    def entry(self, number: int = LATEST) -> Path:
        return self.log / f"{number:020d}.json"

    def change_entry(self, change: Callable[[dict[str, Any]], object]) -> None:
        entry = json.loads(self.entry().read_text())
        change(entry)
        self.entry().write_text(json.dumps(entry))

    def change(self, change: Callable[[Snapshot], object]) -> None:
        self.change_entry(lambda entry: change(entry["snapshot"]))

    def segment(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.entry().read_text())["snapshot"]["segments"][0]
        return found

    def file(self, role: str | int) -> Path:
        """`files`, `packs`, or a sketch by its number."""
        segment = self.segment()
        return self.path / str((segment[role] if isinstance(role, str) else segment["sketches"][role])["name"])

    def replace(self, role: str | int, table: Any, **options: Any) -> None:
        """Another Parquet file in the place of one, with a log entry that fits it."""
        path = self.file(role)
        pq.write_table(table, path, **{"use_dictionary": False, "compression": "zstd", **options})
        self.fit(role, path)

    def fit(self, role: str | int, path: Path, rows: int | None = None) -> None:
        def fit(snapshot: Snapshot) -> None:
            segment = snapshot["segments"][0]
            file = segment[role] if isinstance(role, str) else segment["sketches"][role]
            file["bytes"] = path.stat().st_size
            if rows is not None:
                file["rows"] = rows

        self.change(fit)


def make_table(folder: Path) -> IndexFolder:
    """A table of two files whose packs only an index tells apart, with a good index: pack n alone has the keys 1000 n + 1 to 8."""
    folder.mkdir(parents=True)
    write_spread(folder / "t", "p0.parquet", 0)
    # Of another highest value, so that footers differ.
    write_spread(folder / "t", "p1.parquet", 5, highest=10**6 + 1)
    create_index(folder / "t", sketches=SKETCHES)
    (folder / OUTSIDE).mkdir()
    (folder / OUTSIDE / "marker").write_text("as it was")
    return IndexFolder(folder / "t" / "_rtfilter" / "i")


KINDS: dict[str, Damage] = {}


def kind(damage: Damage) -> Damage:
    KINDS[damage.__name__] = damage
    return damage


def kinds(name: str, damages: Mapping[str, Damage]) -> None:
    KINDS.update({f"{name}_{each}": damage for each, damage in damages.items()})


def _written(content: bytes) -> Damage:
    return lambda index: index.entry().write_bytes(content)


def _cut(index: IndexFolder) -> None:
    content = index.entry().read_bytes()
    index.entry().write_bytes(content[: len(content) // 2])


kinds(
    "entry",
    {
        "empty": _written(b""),
        "cut": _cut,
        "of_random_bytes": _written(random.Random(1).randbytes(10_000)),
        "no_utf8": _written(b'{"format": 1, "state": "\xff\xfe"}'),
        "of_deep_lists": _written(b"[" * 100_000),
        "of_deep_objects": _written(b'{"a":' * 100_000),
        "of_millions_of_lists": _written(b"[" + b"[]," * (2 << 20) + b"0]"),
        "of_millions_of_numbers": _written(b"[" + b"1e9," * (1 << 20) + b"0]"),
        "of_a_number_of_a_million_digits": _written(b'{"format": 1, "state": ' + b"9" * 1_000_000 + b"}"),
        "a_list": _written(b"[1, 2, 3]"),
        "null": _written(b"null"),
        "of_a_later_format": lambda index: index.change_entry(lambda entry: entry.update(format=99)),
        "of_an_unknown_state": lambda index: index.change_entry(lambda entry: entry.update(state="\x1b[31m" * 100_000)),
        "without_snapshot": lambda index: index.change_entry(lambda entry: entry.pop("snapshot")),
        "with_a_list_for_snapshot": lambda index: index.change_entry(lambda entry: entry.update(snapshot=[])),
        "with_infinite_time": lambda index: index.change_entry(lambda entry: entry.update(at_s=float("inf"))),
        "with_everything_twice": lambda index: index.entry().write_text(
            index.entry().read_text()[:-1] + ',"snapshot":{"segments":[]}}'
        ),
    },
)


def _segments(change: Callable[[list[dict[str, Any]]], object]) -> Damage:
    return lambda index: index.change(lambda snapshot: change(snapshot["segments"]))


def _first(change: Callable[[dict[str, Any]], object]) -> Damage:
    return _segments(lambda segments: change(segments[0]))


def _all_rows(rows: Any) -> Damage:
    return _first(lambda segment: [each.update(rows=rows) for each in (segment["packs"], *segment["sketches"])])


def _named(name: str) -> Damage:
    return _first(lambda segment: segment["files"].update(name=name))


def _two_pack_counts(segments: list[dict[str, Any]]) -> None:
    other = json.loads(json.dumps(segments[0]))
    other["files"]["name"] = f"data/{'0' * 64}.parquet"
    for each in (other["packs"], *other["sketches"]):
        each["rows"] -= 1
    segments.append(other)


kinds(
    "snapshot",
    {
        "with_a_segment_20000_times": _segments(lambda segments: segments.extend(segments * 19_999)),
        "with_a_segment_5000_times": _segments(lambda segments: segments.extend(segments * 4_999)),
        "with_a_segment_twice": _segments(lambda segments: segments.extend(segments)),
        "with_two_pack_counts_of_one_file": _segments(_two_pack_counts),
        "with_2_62_rows": _all_rows(2**62),
        "with_as_many_rows_as_may_be": _all_rows(1_000_000_000),
        "with_rows_below_0": _all_rows(-1),
        "with_rows_as_text": _all_rows("10"),
        "with_infinite_rows": _all_rows(float("inf")),
        "with_rows_that_are_no_number": _all_rows(float("nan")),
        "with_huge_sizes": _first(lambda segment: segment["packs"].update(bytes=2**60)),
        "that_leads_out": _named("data/../../../../../outside/marker"),
        "that_leads_up": _named("../../../../outside/marker"),
        "with_an_absolute_name": _named("/etc/hostname"),
        "with_its_log_for_data": _named(f"log/{LATEST:020d}.json"),
        "with_a_name_of_a_megabyte": _named("data/" + "a" * 1_000_000),
        "with_a_missing_sketch": _first(lambda segment: segment["sketches"].pop()),
        "with_swapped_sketches": _first(lambda segment: segment["sketches"].reverse()),
        "with_files_and_packs_swapped": _first(lambda segment: segment.update(files=segment["packs"], packs=segment["files"])),
        "with_one_file_for_all": _first(lambda segment: segment.update(sketches=[segment["packs"]] * len(SKETCHES))),
        "with_another_type": lambda index: index.change(lambda snapshot: snapshot["types"].update(a="string")),
        "with_a_nested_type": lambda index: index.change(lambda snapshot: snapshot["types"].update(a="array<int>")),
        "with_10000_sketches": lambda index: index.change(
            lambda snapshot: snapshot.update(sketches=[{"kind": "min_max", "column": f"c{i}"} for i in range(10_000)])
        ),
        "with_an_unknown_sketch": lambda index: index.change(
            lambda snapshot: snapshot.update(sketches=[{"kind": "eval" * 100_000, "column": "a"}])
        ),
        "with_a_list_for_column": lambda index: index.change(
            lambda snapshot: snapshot.update(sketches=[{"kind": "min_max", "column": ["a"]}])
        ),
        "of_another_root": lambda index: index.change(lambda snapshot: snapshot.update(root="/")),
        "with_infinite_drift": lambda index: index.change(lambda snapshot: snapshot["drift"].update(changed=float("inf"))),
    },
)


@kind
def segments_that_are_all_different(index: IndexFolder) -> None:
    """Thousands of good files under names of their own."""
    segments = []
    for number in range(2_000):
        segment = index.segment()
        for role, file in enumerate((segment["files"], segment["packs"], *segment["sketches"])):
            name = f"data/{number * 100 + role:064x}.parquet"
            os.link(index.path / file["name"], index.path / name)
            file["name"] = name
        segments.append(segment)
    index.change(lambda snapshot: snapshot.update(segments=segments))


@kind
def log_with_a_gap(index: IndexFolder) -> None:
    index.entry().rename(index.entry(900))


@kind
def log_of_100000_entries(index: IndexFolder) -> None:
    for number in range(3, 100_000):
        index.entry(number).touch()


@kind
def log_of_large_entries(index: IndexFolder) -> None:
    index.entry(3).write_bytes(b'{"format": 1, "state": "?", "x": [' + b'"\\u00e4\\u00e4",' * 300_000 + b"0]}")
    for number in range(4, 200):
        os.link(index.entry(3), index.entry(number))


@kind
def log_that_is_a_file(index: IndexFolder) -> None:
    shutil.rmtree(index.log)
    index.log.write_text("log")


@kind
def log_that_is_a_link(index: IndexFolder) -> None:
    index.log.rename(index.outside / "log")
    index.log.symlink_to(index.outside / "log")


@kind
def log_that_is_a_link_to_itself(index: IndexFolder) -> None:
    shutil.rmtree(index.log)
    index.log.symlink_to(index.log)


@kind
def data_that_is_a_link(index: IndexFolder) -> None:
    index.data.rename(index.outside / "data")
    index.data.symlink_to(index.outside / "data")


@kind
def data_that_leads_round(index: IndexFolder) -> None:
    (index.data / "again").symlink_to(index.path)
    (index.path / "i").symlink_to(index.path.parent)


@kind
def data_of_50000_strays(index: IndexFolder) -> None:
    for number in range(50_000):
        (index.data / f"{number:064x}.parquet").touch()


@kind
def entry_that_is_huge(index: IndexFolder) -> None:
    os.truncate(index.entry(), 1 << 40)


@kind
def entry_that_is_a_folder(index: IndexFolder) -> None:
    index.entry(3).mkdir()


@kind
def entry_that_is_a_link(index: IndexFolder) -> None:
    index.entry().rename(index.outside / "entry")
    index.entry().symlink_to(index.outside / "entry")


@kind
def entry_that_is_a_pipe(index: IndexFolder) -> None:
    index.entry().unlink()
    os.mkfifo(index.entry())


@kind
def entry_of_another_time(index: IndexFolder) -> None:
    os.utime(index.entry(), (2**40, 2**40))


@kind
def place_of_1000_indexes(index: IndexFolder) -> None:
    """Of which readers look at the first hundred by name, and this one comes last."""
    for number in range(1_000):
        (index.path.parent / f"a{number:04d}" / "log").mkdir(parents=True)


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


def _column(table: Any, name: str, values: Iterable[Any], type_: Any = None) -> Any:
    at = table.schema.get_field_index(name)
    return table.set_column(at, name, pa.array(values, type_ or table.schema.field(name).type))


def _table_with(role: str | int, change: Callable[[Any], Any]) -> Damage:
    return lambda index: index.replace(role, change(pq.read_table(index.file(role))))


def _files_with(name: str, values: Callable[[list[Any]], list[Any]]) -> Damage:
    return _table_with("files", lambda table: _column(table, name, values(table[name].to_pylist())))


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
        "with_numbers_for_paths": _table_with("files", lambda table: _column(table, "path", range(table.num_rows), pa.int64())),
    },
)
kinds(
    "packs",
    {
        "of_other_starts": _table_with("packs", lambda table: _column(table, "start", range(table.num_rows))),
        "of_other_rows": _table_with("packs", lambda table: _column(table, "rows", [10**15] * table.num_rows)),
        "without_starts": _table_with("packs", lambda table: _column(table, "start", [None] * table.num_rows)),
        "fewer_than_said": _table_with("packs", lambda table: table.slice(0, 4)),
    },
)
kinds(
    "sketches",
    {
        "with_bounds_that_are_no_numbers": _table_with(
            0, lambda table: _column(table, "low", [float("nan"), float("inf")] * 5, pa.float64())
        ),
        "with_bounds_turned_round": _table_with(0, lambda table: table.rename_columns(["rows", "nulls", "high", "low"])),
        "with_low_above_high": _table_with(
            0, lambda table: _column(_column(table, "low", [10**18] * PACKS), "high", [-(10**18)] * PACKS)
        ),
        "with_more_nulls_than_rows": _table_with(0, lambda table: _column(table, "nulls", [2**62] * PACKS)),
        "with_rows_below_0": _table_with(0, lambda table: _column(table, "rows", [-(2**62)] * PACKS)),
        "with_bits_of_no_size": _table_with(1, lambda table: _column(table, "bits", [b"\0" * 33] * PACKS)),
        "with_no_bits": _table_with(1, lambda table: _column(table, "bits", [b""] * PACKS)),
        "with_long_strings": _table_with(4, lambda table: _column(table, "low", [b"k" * 1_000_000] * PACKS)),
        "with_prefixes_that_are_long": _table_with(5, lambda table: _column(table, "prefix", [b"k" * 1_000_000] * PACKS)),
        "with_lengths_below_0": _table_with(5, lambda table: _column(table, "lengths", [-1] * PACKS)),
    },
)


def _much(index: IndexFolder, role: str | int, batch: Any, times: int, **options: Any) -> None:
    """A file that unpacks to very much, written a bit at a time."""
    path = index.file(role)
    with pq.ParquetWriter(path, batch.schema, compression="zstd", **{"use_dictionary": False, **options}) as writer:
        for _ in range(times):
            writer.write_table(batch)
    index.fit(role, path, batch.num_rows * times)


@kind
def packs_that_unpack_to_a_gigabyte(index: IndexFolder) -> None:
    million = pa.table({"start": pa.array([0] * 1_000_000, pa.int64()), "rows": pa.array([0] * 1_000_000, pa.int64())})
    _much(index, "packs", million, 64)
    _all_rows(64_000_000)(index)


@kind
def packs_in_one_group_that_unpack_to_much(index: IndexFolder) -> None:
    rows = 30_000_000
    index.replace("packs", pa.table({name: np.zeros(rows, dtype=np.int64) for name in ("start", "rows")}), row_group_size=rows)
    _all_rows(rows)(index)


@kind
def paths_that_unpack_to_a_gigabyte(index: IndexFolder) -> None:
    table = pq.read_table(index.file("files")).slice(0, 1)
    long = _column(table, "path", ["p" * (1 << 20)])
    _much(index, "files", pa.concat_tables([long] * 50).combine_chunks(), 20)


@kind
def bounds_by_a_dictionary_that_unpack_to_much(index: IndexFolder) -> None:
    """A megabyte once, and ten thousand times named."""
    rows = 2_000
    table = pq.read_table(index.file(4)).slice(0, 1)
    long = _column(table, "low", [b"k" * (1 << 20)])
    one = pa.concat_tables([long] * 100).combine_chunks()
    _much(index, 4, one, rows // 100, use_dictionary=True)
    _all_rows(rows)(index)


@kind
def values_that_unpack_to_much(index: IndexFolder) -> None:
    """One pack with tens of millions of values, all equal."""
    table = pq.read_table(index.file(2))
    count = 30_000_000
    offsets = pa.array([0, *[count] * PACKS], pa.int32())
    values = pa.ListArray.from_arrays(offsets, pa.array(np.zeros(count, dtype=np.int64)))
    at = table.schema.get_field_index("values")
    index.replace(2, table.set_column(at, "values", values), column_encoding={"values.list.element": "DELTA_BINARY_PACKED"})


@kind
def bits_that_unpack_to_much(index: IndexFolder) -> None:
    table = pq.read_table(index.file(1))
    index.replace(1, _column(table, "bits", [b"\xff" * (16 << 20)] * PACKS))


@kind
def packs_as_many_as_may_be(index: IndexFolder) -> None:
    million = pa.table({name: np.zeros(1_000_000, dtype=np.int64) for name in ("start", "rows")})
    _much(index, "packs", million, 4)
    _all_rows(4_000_000)(index)


@kind
def files_as_many_as_may_be(index: IndexFolder) -> None:
    rows = 150_000
    table = pq.read_table(index.file("files")).slice(0, 1)
    many = pa.concat_tables([table] * rows).combine_chunks()
    many = _column(_column(many, "path", [f"part-{number:09d}" for number in range(rows)]), "packs", [0] * rows)
    index.replace("files", many, row_group_size=20_000)
    index.fit("files", index.file("files"), rows)


@kind
def values_as_many_as_may_be(index: IndexFolder) -> None:
    table = pq.read_table(index.file(2))
    count = 150_000
    offsets = pa.array(range(0, count * PACKS + 1, count), pa.int32())
    numbers = np.tile(np.arange(count, dtype=np.int64), PACKS)
    at = table.schema.get_field_index("values")
    many = table.set_column(at, "values", pa.ListArray.from_arrays(offsets, pa.array(numbers)))
    index.replace(2, many, column_encoding={"values.list.element": "DELTA_BINARY_PACKED"})


@kind
def bounds_as_long_as_may_be(index: IndexFolder) -> None:
    index.replace(4, _column(pq.read_table(index.file(4)), "high", [b"l" * (3_000_000)] * PACKS))
