"""`make bench-smoke`: a few queries of every suite in every mode, small, with their rows judged by DuckDB."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("duckdb")

from rtfilter.bench.benchmark import Plan, run_benchmark  # after the check that the bench extra is there
from rtfilter.bench.figures.result import Result, Settings
from rtfilter.bench.run.checkpoint import FILE
from rtfilter.bench.run.progress import BenchProgress
from rtfilter.bench.suites.suite import Suite, choose_layout, select_query_ids
from rtfilter.bench.suites.suite_file import read_suite

MODES = ("off", "spark", "rtfilter", "duckdb")
# Chosen for what they need (a LIMIT, a published answer, shuffled joins, partitions), and for having rows at this scale.
SMOKE = [
    ("imci-micro", "clustered", ["attr p=0.01"]),
    ("tpch", "clustered", ["3", "better5"]),
    ("tpch-zipf", "natural", ["better9"]),
    ("tpcds", "partitioned", ["7"]),
    ("tpcds", "shuffled", ["50", "98"]),
    ("joins", "natural", ["returns-date"]),
    ("kinds", "clustered", ["wide keys=1000"]),
    ("star", "natural", ["join both", "hybrid class"]),
]


def registered_suites() -> dict[str, Suite]:
    """What pyproject.toml registers, so that the tests also run where the project is not installed."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    suites = {}
    for name, place in project["entry-points"]["rtfilter.suites"].items():
        module, _, attribute = place.partition(":")
        suites[name] = getattr(import_module(module), attribute)
    return suites


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


def ran(suite: Suite, layout: str, patterns: list[str], data: Path, out: Path, **settings: Any) -> Result:
    made = Settings(
        suite=suite.name,
        sf=0.01 if suite.scales else None,
        zipf=suite.default_zipf,
        layout=choose_layout(suite, layout),
        modes=MODES,
        runs=1,
        warmup=0,
        broadcast_threshold_bytes=suite.broadcast_threshold_bytes,
        master="local[2]",
        **settings,
    )
    return run_benchmark(Plan(suite, made, select_query_ids(suite.query_ids, patterns), data, out), BenchProgress())


def test_every_registered_suite_is_smoked_and_has_the_name_it_is_registered_by() -> None:
    suites = registered_suites()
    assert {name: suite.name for name, suite in suites.items()} == {name: name for name in {name for name, _, _ in SMOKE}}


@pytest.mark.parametrize(("name", "layout", "patterns"), SMOKE, ids=[f"{name} {layout}" for name, layout, _ in SMOKE])
def test_all_modes_agree(name: str, layout: str, patterns: list[str], data: Path, tmp_path: Path) -> None:
    # So small that even this little data has some packs, and not so small that imci-micro has thousands.
    result = ran(registered_suites()[name], layout, patterns, data, tmp_path / "out", pack_rows=512)
    assert [measured.difference for measured in result.mismatches] == [] and result.failures == ()
    assert len(result.measurements) == len(patterns) * len(MODES)
    assert all(measured.rows > 0 for measured in result.measurements)
    assert any(measured.last.filters for measured in result.measurements if measured.mode == "rtfilter")
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"result.json", "report.html"}


def test_star_queries_are_answered_as_their_class_says(data: Path, tmp_path: Path) -> None:
    queries = ["node day", "leaf returned", "join semi", "hybrid months", "refused item"]
    result = ran(registered_suites()["star"], "natural", queries, data, tmp_path / "out", pack_rows=512)
    assert [measured.difference for measured in result.mismatches] == [] and result.failures == ()
    told = {m.query.id: m.last.star_trees for m in result.measurements if m.mode == "rtfilter"}
    assert {name: [tree["used"] for tree in trees] for name, trees in told.items()} == {
        name: [name != "refused item"] for name in queries
    }
    assert told["node day"][0]["rows_read"] == 1 < 1_000 < told["leaf returned"][0]["rows_read"]
    assert told["hybrid months"][0]["raw_files"] == 1 and told["join semi"][0]["raw_files"] == 0
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Rows of star-trees in place of the table" in page


def test_a_folder_of_ones_own_is_run_in_all_modes(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    (shop / "queries").mkdir(parents=True)
    rows = np.arange(20_000)
    pq.write_table(pa.table({"item": rows // 10, "price": rows}), shop / "sales.parquet", row_group_size=500)
    pq.write_table(pa.table({"id": np.arange(2000), "name": [f"n{i}" for i in range(2000)]}), shop / "item.parquet")
    (shop / "queries/one.sql").write_text(
        "select name, sum(price) from sales join item on item = id where name = 'n77' group by name;"
    )
    (shop / "suite.toml").write_text('[tables]\nsales = "sales.parquet"\nitem = "item.parquet"\n')
    result = ran(read_suite(shop / "suite.toml"), "as it is", ["one"], tmp_path / "data", tmp_path / "out")
    assert result.mismatches == () and result.failures == ()
    by_mode = {measured.mode: measured for measured in result.measurements}
    assert set(by_mode) == set(MODES) and all(measured.rows == 1 for measured in result.measurements)
    last = by_mode["rtfilter"].last
    assert (last.packs_kept, last.packs_total) == (1, 40)


def test_a_spark_query_past_its_limit_is_a_failure_and_the_next_one_runs(data: Path, tmp_path: Path) -> None:
    suite = registered_suites()["tpch"]
    result = ran(suite, "clustered", ["9", "6"], data, tmp_path / "out", pack_rows=512, timeout_s=0.05)
    spark = [failure for failure in result.failures if failure.mode == "off"]
    assert spark and all(failure.timed_out for failure in spark)
    assert all("took longer than 0.05 s" in failure.reason for failure in result.failures)
    assert not (tmp_path / "out" / FILE).exists()
