"""Generated data: packs, files, order, and queries that mean what they say."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

duckdb = pytest.importorskip("duckdb")

from rtfilter.bench.engines.duckdb_engine import DuckDbEngine  # noqa: E402
from rtfilter.bench.suites.data_cache import DataCache  # noqa: E402  # after the check that the bench extra is there
from rtfilter.bench.suites.duckdb_generators import connection  # noqa: E402
from rtfilter.bench.suites.pack_writer import plan_packs, rows_per_pack, write_packs  # noqa: E402
from rtfilter.bench.suites.suite import DataRequest, SuiteData  # noqa: E402
from tpcds.imci_micro import prepare  # noqa: E402
from tpch.data import tpch_tables  # noqa: E402

KEY = ["inv_date_sk", "inv_item_sk", "inv_warehouse_sk"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> DataCache:
    return DataCache(tmp_path_factory.mktemp("data"))


def prepared(cache: DataCache, layout: str) -> SuiteData:
    return prepare(DataRequest(0.01, None, layout, cache, lambda step: None))


def inventory(data: SuiteData) -> Any:
    """All rows in the order of files and packs."""
    return pa.concat_tables(pq.read_table(file) for file in sorted(data.tables["inventory"].iterdir()))


def test_pack_sizes_are_the_seeds_at_its_scales() -> None:
    assert [rows_per_pack(rows, 6000) for rows in (11_745_000, 133_110_000, 399_330_000)] == [2048, 20_480, 65_536]
    assert plan_packs(133_110_000, 6000, 16).packs == 6500
    assert rows_per_pack(1, 6000) == 1


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 1000, 6_000_000, 7_654_321])
def test_every_row_has_a_place_in_some_file(rows: int) -> None:
    plan = plan_packs(rows, 6000, 16)
    assert len(plan.packs_per_file) == 16
    assert 0 <= plan.packs * plan.rows_per_pack - rows < plan.rows_per_pack


def test_packs_are_cut_across_batches_of_any_size(tmp_path: Path) -> None:
    table = pa.table({"a": range(1000)})
    batches = [batch for start, size in ((0, 1), (1, 698), (699, 301)) for batch in table.slice(start, size).to_batches()]
    plan = plan_packs(1000, wanted_packs=100, files=3)
    write_packs(batches, table.schema, plan, tmp_path / "out")
    files = sorted((tmp_path / "out").iterdir())
    assert pa.concat_tables(map(pq.read_table, files)).equals(table)
    sizes = [[meta.row_group(g).num_rows for g in range(meta.num_row_groups)] for meta in map(pq.read_metadata, files)]
    assert sizes == [[10] * 33, [10] * 33, [10] * 34]


def test_clustered_inventory_is_sorted_across_files_in_about_6000_packs(cache: DataCache) -> None:
    data = prepared(cache, "clustered")
    files = sorted(data.tables["inventory"].iterdir())
    packs = [pq.read_metadata(file).num_row_groups for file in files]
    assert len(files) == 16 and 5500 <= sum(packs) <= 6500 and max(packs) - min(packs) <= 1
    rows = inventory(data)
    assert rows.equals(rows.sort_by([(name, "ascending") for name in KEY]))
    assert rows.num_rows == 23_490


def test_layouts_hold_the_same_rows_in_different_orders(cache: DataCache) -> None:
    by_layout = {layout: inventory(prepared(cache, layout)) for layout in ("clustered", "natural", "shuffled")}
    in_order = [(name, "ascending") for name in KEY]
    for rows in by_layout.values():
        assert rows.sort_by(in_order).equals(by_layout["clustered"])
    assert not by_layout["shuffled"].equals(by_layout["clustered"])
    assert not by_layout["shuffled"].equals(by_layout["natural"])
    # A shuffled pack must not be told apart by its keys: neighbours have nothing to do with each other.
    dates = by_layout["shuffled"]["inv_date_sk"].to_pylist()
    assert sum(a <= b for a, b in itertools.pairwise(dates)) == pytest.approx(len(dates) / 2, rel=0.05)


def test_the_four_forms_give_the_same_rows_at_every_selectivity(cache: DataCache) -> None:
    data = prepared(cache, "natural")
    engine = DuckDbEngine(duckdb.connect(), data.tables, threads=1)
    results: dict[float, set[tuple[Any, ...]]] = {}
    for query in data.queries:
        assert query.selectivity is not None
        results.setdefault(query.selectivity, set()).add(tuple(engine.run(query).rows[0]))
    assert all(len(rows) == 1 for rows in results.values())
    counts = [next(iter(results[p]))[0] for p in sorted(results)]
    assert counts == sorted(counts) and counts[0] == 0 and counts[-1] == 23_490


def test_tpch_tables_are_made_and_kept(cache: DataCache) -> None:
    steps: list[str] = []
    made = tpch_tables(cache, 0.01, say=steps.append)
    assert len(list(made.path.glob("*.parquet"))) == 8 and made.manifest["rows"]["lineitem"] == 60_175
    steps.clear()
    assert tpch_tables(cache, 0.01, ("orders",), say=steps.append) == made and steps == []


def test_a_connection_keeps_to_the_smaller_of_its_memory_limits(tmp_path: Path) -> None:
    limits = []
    for most_bytes in (200 * 2**20, None):
        with connection(tmp_path, most_bytes=most_bytes) as con:
            row = con.execute("SELECT current_setting('memory_limit')").fetchone()
            assert row is not None
            limits.append(str(row[0]))
    assert limits[0] == "200.0 MiB" and limits[1] != limits[0]
