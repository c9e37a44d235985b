"""Sketches out of the parts of a file that a task was given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rtfilter.store.index_actions.build import portions_of
from rtfilter.store.index_actions.listing import list_directory
from rtfilter.store.index_files.file_parts import SparseFile, ranges_of, request_text, sketch_record
from rtfilter.store.index_files.sketching import Portion, sketch_portion
from rtfilter.store.parquet.footer_digest import read_tail
from tests.index.tables import SKETCHES, TYPES, write_part


def record_of(portion: Portion, columns: list[str], **changes: object) -> bytes:
    """What HadoopFiles.scala makes of a request."""
    with open(portion.file.local, "rb") as file:
        tail = read_tail(file, portion.file.size_bytes)
        ranges = ranges_of(portion, tail, columns)
        header = json.loads(request_text(portion, ranges))
        content = b""
        for at, count in ranges:
            file.seek(at)
            content += file.read(count)
    after = {"bytes": portion.file.size_bytes, "mtime_ms": portion.file.mtime_ms}
    text = json.dumps(header | {"after": after} | changes).encode()
    return len(text).to_bytes(4, "big") + text + content


def portion_of(folder: Path) -> Portion:
    return portions_of(list_directory(str(folder)).files[0])[0]


@pytest.mark.parametrize("compression", ["snappy", "none", "zstd"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_parts_give_the_sketches_that_the_whole_file_gives(tmp_path: Path, compression: str, dictionary: bool) -> None:
    write_part(tmp_path, "p0.parquet", 0, compression=compression, use_dictionary=dictionary)
    portion = portion_of(tmp_path)
    found, whole = sketch_record(record_of(portion, ["a", "s"]), SKETCHES, TYPES), sketch_portion(portion, SKETCHES, TYPES)
    assert found == whole and found.problem is None and len(found.starts) == 5


def test_a_portion_needs_only_its_own_packs(tmp_path: Path) -> None:
    write_part(tmp_path, "p0.parquet", 0, rows=5000)
    whole = portion_of(tmp_path)
    half = Portion(whole.file, 0, whole.file.size_bytes // 4)
    assert len(record_of(half, ["a"])) < len(record_of(whole, ["a"])) < len(record_of(whole, ["a", "s"]))
    found = sketch_record(record_of(half, ["a", "s"]), SKETCHES, TYPES)
    assert found == sketch_portion(half, SKETCHES, TYPES) and 0 < len(found.starts) < 500


def test_a_column_that_was_not_fetched_is_a_problem_and_no_sketch(tmp_path: Path) -> None:
    write_part(tmp_path, "p0.parquet", 0, rows=5000)
    problem = sketch_record(record_of(portion_of(tmp_path), ["a"]), SKETCHES, TYPES).problem
    assert problem is not None and "not fetched" in problem


def test_a_file_that_changed_while_spark_read_it_is_a_problem(tmp_path: Path) -> None:
    write_part(tmp_path, "p0.parquet", 0)
    portion = portion_of(tmp_path)
    record = record_of(portion, ["a", "s"], after={"bytes": portion.file.size_bytes, "mtime_ms": 1})
    assert sketch_record(record, SKETCHES, TYPES).problem == "ValueError: the file has changed since it was listed"
    assert sketch_record(record_of(portion, ["a"], error="IOException: no"), SKETCHES, TYPES).problem == "IOException: no"


def test_what_is_not_here_is_never_made_up() -> None:
    file = SparseFile(100, [(10, b"0123456789")])
    file.seek(12)
    assert file.read(3) == b"234"
    for at, count in ((9, 2), (19, 2), (50, 1)):
        file.seek(at)
        with pytest.raises(OSError, match="not fetched"):
            file.read(count)
