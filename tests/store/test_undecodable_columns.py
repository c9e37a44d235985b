"""A column that pyarrow can't decode costs this column, not the file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtfilter.store.parquet.footer_digest import SignedFooterError
from rtfilter.store.parquet.pack_statistics import FileStats, FooterProblem, parse_footer_tail
from rtfilter.store.parquet.table_footer import table_footer
from rtfilter.store.tables.footer_store import FooterStore
from rtfilter.store.tables.verdict import ColumnFilter
from tests.store.handmade import DECIMAL, between, footer_tail, int32
from tests.store.tables_at_hand import PATIENCE_S, bounds_of, keys, known_bounds, loaded, stats_of, write

# Field 3 of parquet.thrift's SchemaElement is the repetition (0 required, 1 optional), 4 the name.
REQUIRED_KEY, OPTIONAL_KEY = b"\x25\x00\x18\x03key", b"\x25\x02\x18\x03key"


def patched(path: Path, old: bytes, new: bytes) -> Path:
    """The file with one place of its footer changed."""
    before, found, after = path.read_bytes().rpartition(old)
    assert found and len(old) == len(new)
    path.write_bytes(before + new + after)
    return path


def with_optional_map_keys(path: Path) -> Path:
    """As Hive wrote them: Spark reads such maps, pyarrow refuses the file."""
    maps = pa.array([[("k", i)] for i in range(40)], pa.map_(pa.string(), pa.int32()))
    write(path, {"a": pa.array(range(40), pa.int64()), "m": maps, "z": pa.array(range(40), pa.int32())}, store_schema=False)
    return patched(path, REQUIRED_KEY, OPTIONAL_KEY)


def with_untrue_arrow_schema(path: Path, more: dict[str, pa.Array] | None = None) -> Path:
    table = pa.table({"a": pa.array(range(40), pa.int64()), **(more or {})})
    with pq.ParquetWriter(path, table.schema, store_schema=False) as writer:
        writer.write_table(table, row_group_size=10)
        writer.add_key_value_metadata({"XRROW:schema": "no schema!"})
    return patched(path, b"XRROW:schema", b"ARROW:schema")


@pytest.mark.parametrize("make", [with_optional_map_keys, with_untrue_arrow_schema])
def test_pyarrow_itself_refuses_the_files_of_these_tests(tmp_path: Path, make: object) -> None:
    with pytest.raises(pa.ArrowException):
        pq.read_metadata(make(tmp_path / "t.parquet"))  # type: ignore[operator]


TENS = [(0, 9), (10, 19), (20, 29), (30, 39)]


def test_other_columns_keep_their_bounds(tmp_path: Path) -> None:
    path = with_optional_map_keys(tmp_path / "t.parquet")
    for column in ("a", "z", "Z"):
        assert known_bounds(bounds_of(path, column)) == TENS
    found = stats_of(path, "a", "m")
    assert found.bounds_of("m", False) is None and "Map keys must be annotated as required" in found.problem_of("M", False)
    assert found.problem_of("M", True) == "" == found.problem_of("a", True)


def test_what_was_stored_for_arrow_means_nothing(tmp_path: Path) -> None:
    path = with_untrue_arrow_schema(tmp_path / "t.parquet")
    assert known_bounds(bounds_of(path, "a")) == TENS
    assert stats_of(path, "a").problem_of("a", True) == ""


def test_a_text_that_looks_like_the_entry_is_left_as_it_is(tmp_path: Path) -> None:
    """Bounds stand in the footer too: nothing may be set aside there."""
    text = pa.array(["\x18\x0cARROW:schema\x18"] * 40)
    path = write(tmp_path / "t.parquet", {"a": pa.array(range(40), pa.int64()), "s": text}, store_schema=False)
    low = bounds_of(path, "s")
    assert low is not None and low.lows[0][0] == int.from_bytes(b"\x18\x0cARROW:", "big")
    assert known_bounds(bounds_of(with_untrue_arrow_schema(tmp_path / "u.parquet", {"s": text}), "a")) == TENS
    untrue = bounds_of(tmp_path / "u.parquet", "s")
    assert untrue is not None and [level[0] for level in untrue.lows] == [level[0] for level in low.lows]


def test_such_a_text_does_not_cost_the_file(tmp_path: Path) -> None:
    maps = pa.array([[("k", i)] for i in range(40)], pa.map_(pa.string(), pa.int32()))
    columns = {"s": pa.array(["\x18\x0cARROW:schema\x18"] * 40), "m": maps, "a": pa.array(range(40), pa.int64())}
    path = patched(write(tmp_path / "t.parquet", columns, store_schema=False), REQUIRED_KEY, OPTIONAL_KEY)
    assert known_bounds(bounds_of(path, "a")) == TENS


def test_one_of_two_asked_columns_is_lost_where_its_type_is_impossible() -> None:
    """A decimal without digits; parquet.thrift has it in the schema of the column itself."""
    found = parse_footer_tail(footer_tail([between(int32(1), int32(2))], converted=DECIMAL, precision_scale=(0, 0)), ["a", "b"])
    assert isinstance(found, FileStats)
    assert found.bounds_of("a", True) is None and "can't decode" in found.problem_of("a", True)
    assert found.rows.tolist() == [10]


def test_a_signed_footer_stays_a_problem_of_the_file(tmp_path: Path) -> None:
    data = with_optional_map_keys(tmp_path / "t.parquet").read_bytes()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8] + bytes(28)
    with pytest.raises(SignedFooterError):
        table_footer(footer + len(footer).to_bytes(4, "little") + b"PAR1", ["a"])


def test_a_footer_that_is_damaged_anywhere_raises_nothing(tmp_path: Path) -> None:
    data = with_optional_map_keys(tmp_path / "t.parquet").read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    outcomes = set()
    for at in range(0, length, 3):
        footer = bytearray(data[-8 - length : -8])
        footer[at] ^= 0xFF
        outcomes.add(type(parse_footer_tail(bytes(footer) + data[-8:], ["a", "m"])))
    assert outcomes == {FileStats, FooterProblem}


def test_the_verdict_names_the_column_and_the_file(store: FooterStore, tmp_path: Path) -> None:
    digest = loaded(store, [with_optional_map_keys(tmp_path / "t.parquet")], "a", "m")
    filters = [ColumnFilter("a", "bigint", keys(15)), ColumnFilter("m", "bigint", keys(15))]
    verdict = store.verdict(digest, filters, wait_s=PATIENCE_S)
    assert verdict is not None
    assert verdict.keep[0].tolist() == [False, True, False, False] and verdict.keep[1].all()
    assert verdict.figures(0).column_problem == ""
    assert verdict.figures(1).column_problem.startswith("t.parquet: pyarrow ")
