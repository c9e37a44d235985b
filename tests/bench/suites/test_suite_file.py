"""A suite of one's own out of a suite.toml."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

pytest.importorskip("duckdb")

from rtfilter.bench.engines.duckdb_engine import DuckDbEngine
from rtfilter.bench.engines.execution import Execution
from rtfilter.bench.suites.data_cache import DataCache
from rtfilter.bench.suites.suite import DataRequest, Query
from rtfilter.bench.suites.suite_file import read_suite, suite_file
from rtfilter.cli import main
from rtfilter.errors import BenchError

NO_REQUEST = DataRequest(1.0, None, "as it is", DataCache(Path()), lambda step: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two tables, one of them a directory, and three queries."""
    shop = tmp_path / "shop"
    (shop / "data/sales").mkdir(parents=True)
    (shop / "queries").mkdir()
    pq.write_table(pa.table({"item": [1, 2, 2], "price": [5, 6, 7]}), shop / "data/sales/part-0.parquet")
    pq.write_table(pa.table({"item": [1, 2], "name": ["a", "b"]}), shop / "data/item.parquet")
    (shop / "queries/q10.sql").write_text("SELECT count(*) FROM sales;\n")
    (shop / "queries/q2.sql").write_text("SELECT name, sum(price) FROM sales JOIN item USING (item) GROUP BY name")
    (shop / "suite.toml").write_text('[tables]\nsales = "data/sales"\nitem = "data/item.parquet"\n')
    return shop


def test_queries_are_the_files_in_the_order_of_their_numbers(folder: Path) -> None:
    suite = read_suite(folder / "suite.toml")
    assert (suite.name, suite.query_ids, suite.layouts) == ("shop", ("q2", "q10"), ("as it is",))
    assert suite.broadcast_threshold_bytes is None and suite.default_zipf is None


def test_a_suite_runs_from_its_path(folder: Path, tmp_path: Path) -> None:
    arguments = ["bench", "--suite", folder / "suite.toml", "--runs", 1, "--modes", "duckdb", "--out", tmp_path / "out"]
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    content = json.loads((tmp_path / "out/result.json").read_text())
    assert content["sf"] is None and "scale factor" not in done.output + (tmp_path / "out/report.html").read_text()
    assert content["suite"] == "shop" and [(entry["id"], entry["rows"]) for entry in content["queries"]] == [("q2", 2), ("q10", 1)]


def test_a_run_that_was_stopped_goes_on_with_the_queries_that_are_left(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["bench", "--suite", str(folder), "--runs", "1", "--modes", "duckdb", "--out", str(tmp_path / "out")]
    ran, run = [], DuckDbEngine.run

    def stopped_at_q10(self: DuckDbEngine, query: Query, count_bytes: bool = False) -> Execution:
        ran.append(query.id)
        if ran == ["q2", "q2", "q10"]:  # each with a warm-up
            raise KeyboardInterrupt
        return run(self, query, count_bytes)

    monkeypatch.setattr(DuckDbEngine, "run", stopped_at_q10)
    assert CliRunner().invoke(main, arguments).exit_code != 0
    assert not (tmp_path / "out/result.json").exists()
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert "takes over 1 of 2 queries" in done.stderr and ran[3:] == ["q10", "q10"]
    content = json.loads((tmp_path / "out/result.json").read_text())
    assert [(entry["id"], entry["rows"]) for entry in content["queries"]] == [("q2", 2), ("q10", 1)]
    # A finished run is over: the next one begins anew.
    assert CliRunner().invoke(main, arguments).exit_code == 0 and len(ran) == 9


def test_a_suite_is_found_by_its_folder(folder: Path) -> None:
    assert suite_file(str(folder)) == suite_file(str(folder / "suite.toml")) == folder / "suite.toml"
    assert suite_file("imci-micro") is None and suite_file(str(folder / "data")) is None


def test_a_query_that_is_no_text_is_refused(folder: Path) -> None:
    (folder / "queries/q3.sql").write_bytes(b"SELECT '\xff'")
    with pytest.raises(BenchError, match=r"q3.sql cannot be read as UTF-8"):
        read_suite(folder / "suite.toml")


@pytest.mark.parametrize("content", [None, b"no parquet"])
def test_a_table_that_is_no_parquet_is_named(folder: Path, tmp_path: Path, content: bytes | None) -> None:
    (folder / "data/sales/part-0.parquet").unlink()
    if content is not None:
        (folder / "data/sales/part-0.parquet").write_bytes(content)
    done = CliRunner().invoke(main, ["bench", "--suite", str(folder), "--modes", "duckdb", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and "table 'sales' cannot be read as Parquet from" in done.stderr


def test_duckdb_may_have_texts_of_its_own(folder: Path) -> None:
    (folder / "duckdb").mkdir()
    (folder / "duckdb/q10.sql").write_text("SELECT 3")
    file = folder / "suite.toml"
    file.write_text(
        'duckdb_queries = "duckdb"\nbroadcast_threshold_bytes = -1\n' + file.read_text() + '[spark_conf]\n"a.b" = "1"\n'
    )
    suite = read_suite(file)
    queries = {query.id: query for query in suite.prepare(NO_REQUEST).queries}
    assert (queries["q10"].spark_sql, queries["q10"].duckdb_sql) == ("SELECT count(*) FROM sales", "SELECT 3")
    assert queries["q2"].duckdb_sql == queries["q2"].spark_sql and queries["q2"].tables == ("sales", "item")
    assert suite.broadcast_threshold_bytes == -1 and suite.spark_conf == {"a.b": "1"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tabels = 1", "Did you mean 'tables'"),
        ("name = 3", "name is 3; it must be a text"),
        ("tables = [", "is no TOML"),
        ("name = 'x'", "has no table"),
        ("[tables]\nsales = 'nowhere'", "table 'sales': there is no"),
        ("[tables]\nsales = 1", "it must be a table of texts"),
        ("queries = 'data'\n[tables]\nsales = 'data/sales'", "no \\*.sql in"),
        ("queries = 'none'\n[tables]\nsales = 'data/sales'", "queries: there is no"),
        ("broadcast_threshold_bytes = true", "it must be a whole number"),
        ("duckdb_queries = 'dukdb'\n[tables]\nsales = 'data/sales'", "duckdb_queries: there is no"),
        ("[tables]\nmy-sales = 'data/sales'", "table 'my-sales' must have a name of letters"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(folder: Path, text: str, says: str) -> None:
    (folder / "suite.toml").write_text(text)
    with pytest.raises(BenchError, match=says):
        read_suite(folder / "suite.toml")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="cannot be read"):
        read_suite(tmp_path / "none.toml")


@pytest.mark.parametrize("option", ["--pack-rows", "--files", "--zipf", "--sf"])
def test_options_that_shape_data_do_not_apply(folder: Path, tmp_path: Path, option: str) -> None:
    arguments = ["bench", "--suite", folder / "suite.toml", "--modes", "duckdb", "--out", tmp_path / "out", option, "1"]
    assert CliRunner().invoke(main, [str(argument) for argument in arguments]).exit_code == 2
