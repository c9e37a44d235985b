"""Which chunks tell of all their values by a dictionary or a Bloom filter, as their writers say."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtfilter.store.bounds.chunk_filters import ChunkFilter, chunk_filters
from rtfilter.store.parquet.footer_digest import read_tail

ROWS = 50_000


def filters_of(file: Path) -> list[dict[str, ChunkFilter]]:
    with file.open("rb") as opened:
        return chunk_filters(read_tail(opened, file.stat().st_size))


def table() -> pa.Table:
    r = np.random.default_rng(1)
    few, many = r.integers(0, 500, ROWS), r.integers(0, 2**62, ROWS)
    return pa.table({"few": few, "many": many, "s": [{"x": int(each)} for each in few]})


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_dictionary_counts_where_all_pages_have_it(tmp_path: Path, version: str) -> None:
    pq.write_table(table(), tmp_path / "t", row_group_size=20_000, data_page_version=version, dictionary_pagesize_limit=20_000)
    groups = filters_of(tmp_path / "t")
    metadata = pq.read_metadata(tmp_path / "t")
    assert len(groups) == 3
    for number, group in enumerate(groups):
        chunk = metadata.row_group(number).column(0)
        assert group["few"].bytes == chunk.data_page_offset - chunk.dictionary_page_offset > 500
        # The dictionary of the other one was full before the end, and pages without it follow.
        assert metadata.row_group(number).column(1).has_dictionary_page and group["many"].bytes is None
        assert group["s.x"].dictionary_bytes is not None
    pq.write_table(table(), tmp_path / "plain", use_dictionary=False)
    assert all(each.bytes is None for group in filters_of(tmp_path / "plain") for each in group.values())


def test_without_counts_of_pages_the_list_of_encodings_says_it(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.register("t", table())
    connection.execute(f"copy t to '{tmp_path / 't'}' (format parquet)")
    (group,) = filters_of(tmp_path / "t")
    # DuckDB writes Bloom filters of chunks with a dictionary, too.
    assert (group["few"].dictionary_bytes or 0) > 500 and (group["few"].bloom_bytes or 0) > 0 and group["many"].bytes is None


def test_a_damaged_footer_is_refused(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "t")
    with (tmp_path / "t").open("rb") as opened:
        tail = read_tail(opened, (tmp_path / "t").stat().st_size)
    for cut in range(10, len(tail) - 8, 97):
        with pytest.raises((ValueError, IndexError)):
            chunk_filters(tail[:cut] + tail[-8:])
