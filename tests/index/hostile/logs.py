"""Damaged and hostile logs: entries, the snapshots in them, and the folders that hold them."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.index.hostile.index_folder import (
    KINDS,
    LATEST,
    SKETCHES,
    Damage,
    IndexFolder,
    all_rows,
    first_segment_with,
    kind,
    kinds,
    segments_with,
)


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


def _named(name: str) -> Damage:
    return first_segment_with(lambda segment: segment["files"].update(name=name))


def _two_pack_counts(segments: list[dict[str, Any]]) -> None:
    other = json.loads(json.dumps(segments[0]))
    other["files"]["name"] = f"data/{'0' * 64}.parquet"
    for each in (other["packs"], *other["sketches"]):
        each["rows"] -= 1
    segments.append(other)


kinds(
    "snapshot",
    {
        "with_a_segment_20000_times": segments_with(lambda segments: segments.extend(segments * 19_999)),
        "with_a_segment_5000_times": segments_with(lambda segments: segments.extend(segments * 4_999)),
        "with_a_segment_twice": segments_with(lambda segments: segments.extend(segments)),
        "with_two_pack_counts_of_one_file": segments_with(_two_pack_counts),
        "with_2_62_rows": all_rows(2**62),
        "with_as_many_rows_as_may_be": all_rows(1_000_000_000),
        "with_rows_below_0": all_rows(-1),
        "with_rows_as_text": all_rows("10"),
        "with_infinite_rows": all_rows(float("inf")),
        "with_rows_that_are_no_number": all_rows(float("nan")),
        "with_huge_sizes": first_segment_with(lambda segment: segment["packs"].update(bytes=2**60)),
        "that_leads_out": _named("data/../../../../../outside/marker"),
        "that_leads_up": _named("../../../../outside/marker"),
        "with_an_absolute_name": _named("/etc/hostname"),
        "with_its_log_for_data": _named(f"log/{LATEST:020d}.json"),
        "with_a_name_of_a_megabyte": _named("data/" + "a" * 1_000_000),
        "with_a_missing_sketch": first_segment_with(lambda segment: segment["sketches"].pop()),
        "with_swapped_sketches": first_segment_with(lambda segment: segment["sketches"].reverse()),
        "with_files_and_packs_swapped": first_segment_with(
            lambda segment: segment.update(files=segment["packs"], packs=segment["files"])
        ),
        "with_one_file_for_all": first_segment_with(lambda segment: segment.update(sketches=[segment["packs"]] * len(SKETCHES))),
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


def _link(folder: Callable[[IndexFolder], Path]) -> Damage:
    def move_out(index: IndexFolder) -> None:
        path = folder(index)
        path.rename(index.outside / path.name)
        path.symlink_to(index.outside / path.name)

    return move_out


KINDS.update(
    log_that_is_a_link=_link(lambda index: index.log),
    data_that_is_a_link=_link(lambda index: index.data),
    entry_that_is_a_link=_link(lambda index: index.entry()),
)


@kind
def log_that_is_a_link_to_itself(index: IndexFolder) -> None:
    shutil.rmtree(index.log)
    index.log.symlink_to(index.log)


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
