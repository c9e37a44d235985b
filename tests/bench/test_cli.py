"""The command line: arguments, exit statuses, one clean line per error."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rtfilter import doctor as doctor_module
from rtfilter.bench.suites import suite
from rtfilter.cli import main
from rtfilter.doctor import Finding
from rtfilter.errors import JavaNotFoundError, ProtocolError

pytest.importorskip("duckdb")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def imci_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("imci-micro", "tpcds.imci_micro:SUITE", suite.ENTRY_POINT_GROUP)
    monkeypatch.setattr(suite, "entry_points", lambda group: [point])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


def duckdb_bench(data: Path, out: Path, *more: object) -> Result:
    return run("bench", "--suite", "imci-micro", "--sf", 0.01, "--modes", "duckdb", "--data", data, "--out", out, *more)


def test_bench_writes_both_files_and_prints_the_table(data: Path, tmp_path: Path) -> None:
    done = duckdb_bench(data, tmp_path / "out", "--runs", 2, "--queries", "p=0.5,limit*")
    assert done.exit_code == 0, done.output
    content = json.loads((tmp_path / "out/result.json").read_text())
    assert [entry["id"] for entry in content["queries"]][:2] == ["p=0.5", "limit p=1.0"]
    assert content["runs"] == 2 and content["layout"] == "clustered" and content["modes"] == ["duckdb"]
    assert (tmp_path / "out/report.html").read_text().startswith("<!doctype html>")
    assert "limit p=0.001" in done.stdout and "limit p=0.001 [duckdb]" in done.stderr


def test_bench_json_is_the_content_of_result_json(data: Path, tmp_path: Path) -> None:
    done = duckdb_bench(data, tmp_path, "--json", "--runs", 1, "--queries", "p=0.5")
    assert json.loads(done.stdout) == json.loads((tmp_path / "result.json").read_text())


def test_a_mismatch_ends_with_status_1(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rtfilter.bench.run import judge

    monkeypatch.setattr(judge, "same_result", lambda rows, expected: False)
    done = duckdb_bench(data, tmp_path, "--runs", 1, "--queries", "p=0.5")
    assert done.exit_code == 1
    assert "rtfilter: p=0.5: duckdb gives 1 rows" in done.stderr
    assert json.loads((tmp_path / "result.json").read_text())["summary"]["mismatches"] == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--suite", "tpch"], "no suite 'tpch'. Suites that exist: imci-micro"),
        (["--suite", "imci-micro", "--modes", "off,rtfilte"], "Did you mean 'rtfilter'"),
        (["--suite", "imci-micro", "--layout", "sorted"], "no layout 'sorted'"),
        (["--suite", "imci-micro", "--sf", "0"], "--sf is 0"),
        (["--suite", "imci-micro", "--sf", "nan"], "--sf is nan"),
        (["--suite", "imci-micro", "--zipf", "2"], "has no --zipf"),
        (["--suite", "imci-micro", "--runs", "0"], "--runs"),
        (["--suite", "imci-micro", "--broadcast-threshold", "much"], "--broadcast-threshold"),
        (["--suite", "imci-micro", "--queries", " , "], "names no query"),
        ([], "--suite"),
    ],
)
def test_unusable_arguments_end_with_status_2_and_one_sentence(arguments: list[str], says: str) -> None:
    done = run("bench", *arguments)
    assert done.exit_code == 2 and says in done.stderr and "Traceback" not in done.output
    assert done.stdout == ""


def test_unknown_queries_end_with_status_2(data: Path, tmp_path: Path) -> None:
    done = duckdb_bench(data, tmp_path, "--queries", "p=0.51")
    assert done.exit_code == 2 and "Did you mean 'p=0.5'" in done.stderr


def test_bench_has_every_option_of_the_contract() -> None:
    options = "--suite --sf --zipf --queries --runs --warmup --modes --layout --data --out --master --broadcast-threshold --json"
    text = run("bench", "--help").stdout
    assert all(option in text for option in options.split())


@pytest.mark.parametrize("command", ["bench", "doctor", "build-jar", "explain", "whynot"])
def test_every_command_has_help_and_json(command: str) -> None:
    done = run(command, "--help")
    assert done.exit_code == 0 and "--json" in done.stdout


def broken(error: Exception) -> Any:
    def check(*arguments: object) -> str:
        raise error

    return check


def test_doctor_says_what_is_missing_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_module, "_java", broken(JavaNotFoundError("There is no java on PATH.")))
    monkeypatch.setattr(doctor_module, "_jar", broken(OSError("odd")))
    monkeypatch.setattr(doctor_module, "_planner_host", broken(ProtocolError("no answer")))
    findings = {finding.name: finding for finding in doctor_module.examine()}
    assert findings["Spark"] == Finding("Spark", True, findings["Spark"].detail)
    assert not findings["Java"].ok and "apt-get install" in findings["Java"].way_out
    assert findings["jar"].detail == "OSError: odd" and findings["jar"].way_out
    done = run("doctor", "--json")
    assert done.exit_code == 3
    assert [entry["ok"] for entry in json.loads(done.stdout)["findings"]] == [False, True, False, False]
    assert "missing Java: There is no java" in run("doctor").stdout


def test_doctor_is_content_when_all_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_module, "examine", lambda: [Finding("Java", True, "17")])
    done = run("doctor")
    assert done.exit_code == 0 and done.stdout == "ok      Java: 17\n"


def test_build_jar_without_java_is_an_environment_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from rtfilter.bridge import jar

    monkeypatch.setattr(jar, "build_jar", broken(JavaNotFoundError("There is no java. Install one.")))
    done = run("build-jar", "--out", tmp_path / "a.jar")
    assert done.exit_code == 3 and done.stderr.endswith("rtfilter: There is no java. Install one.\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--sql", "missing.sql"], "neither a file nor a query"),
        (["--sql", "select 1", "--table", "item"], "not NAME=PATH"),
        (["--sql", "select 1", "--table", "item=/no/such/place"], "there is no '/no/such/place'"),
        ([], "--sql"),
    ],
)
@pytest.mark.parametrize("command", ["explain", "whynot"])
def test_explain_refuses_what_it_cannot_use_before_spark_starts(command: str, arguments: list[str], says: str) -> None:
    done = run(command, *arguments)
    assert done.exit_code == 2 and says in done.stderr


def test_the_package_is_the_command_too() -> None:
    ran = subprocess.run([sys.executable, "-m", "rtfilter", "--help"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("Usage: python -m rtfilter")
    assert "bench" in ran.stdout
