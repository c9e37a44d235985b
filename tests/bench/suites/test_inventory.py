"""inventory without dsdgen: the same keys, rule for rule, and quantities of the same distribution."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

pytest.importorskip("duckdb")

from rtfilter.bench.suites.data_cache import DataCache  # after the check that the bench extra is there
from rtfilter.bench.suites.suite import DataRequest
from tpcds import inventory
from tpcds.data import tpcds_tables
from tpcds.imci_micro import prepare
from tpcds.inventory import SHAPES, Shape, items, large_inventory, weeks

SMALL = Shape(180, 1)  # dsdgen's at scale factor 0.01


def all_weeks(shape: Shape) -> pa.Table:
    return pa.concat_tables(weeks(shape))


def test_keys_are_dsdgens_in_its_order(tmp_path: Path) -> None:
    made = tpcds_tables(DataCache(tmp_path), 0.01, ("inventory", "item"))
    expected, rows = pq.read_table(made.path / "inventory.parquet"), all_weeks(SMALL)
    assert rows.num_rows == SMALL.inventory_rows == 23_490 and rows.schema.equals(expected.schema)
    for key in ("inv_date_sk", "inv_item_sk", "inv_warehouse_sk"):
        assert rows[key].equals(expected[key])
    names = ["i_item_sk", "i_item_id"]
    assert items(SMALL).equals(pq.read_table(made.path / "item.parquet", columns=names).cast(items(SMALL).schema))


def test_several_warehouses_have_a_week_one_after_the_other() -> None:
    rows = next(weeks(Shape(12, 3))).to_pydict()
    assert rows["inv_item_sk"] == [1, 2, 4, 7, 8, 10] * 3
    assert rows["inv_warehouse_sk"] == [warehouse for warehouse in (1, 2, 3) for _ in range(6)]


def test_quantities_are_evenly_spread_and_some_are_null() -> None:
    quantities = all_weeks(Shape(600, 1))["inv_quantity_on_hand"]
    assert pc.min_max(quantities).as_py() == {"min": 0, "max": 1000}
    assert pc.mean(quantities).as_py() == pytest.approx(500, rel=0.01)
    assert quantities.null_count / len(quantities) == pytest.approx(0.05, rel=0.05)
    assert all_weeks(SMALL).equals(all_weeks(SMALL))


def test_sizes_are_the_specifications() -> None:
    assert SHAPES[100.0].inventory_rows == 399_330_000


def test_the_micro_benchmark_takes_it_at_large_scales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "SHAPES", {100.0: SMALL})
    cache, steps = DataCache(tmp_path), list[str]()
    data = prepare(DataRequest(100.0, None, "clustered", cache, steps.append))
    assert pq.read_metadata(data.tables["item"] / "part-00000.parquet").num_rows == 180
    files = sorted(data.tables["inventory"].iterdir())
    rows = pa.concat_tables(map(pq.read_table, files))
    assert len(files) == 16 and rows.num_rows == 23_490
    assert rows.equals(rows.sort_by([(name, "ascending") for name in ("inv_date_sk", "inv_item_sk", "inv_warehouse_sk")]))
    assert not any("dsdgen" in step for step in steps)
    assert large_inventory(cache, 100.0).manifest["generator"] == "tpcds.inventory"
