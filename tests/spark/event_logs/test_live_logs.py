"""Event logs that a real Spark writes here and now, in every form, give what the golden logs give."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rtfilter.advice.event_logs.fingerprints import fingerprint_of
from rtfilter.advice.event_logs.queries import QueryFacts
from rtfilter.advice.event_logs.read import read_event_logs
from rtfilter.advice.statistics.tables import ColumnStatistics, TableStatistics
from rtfilter.advice.workload.fingerprints import Fingerprint
from tests.advice.event_logs.expected import COLUMNS, EXPECTED, TABLES
from tests.advice.event_logs.golden_logs import golden_log
from tests.spark.event_logs.make_environment import OLDEST, python_of

MAKE_LOGS = Path(__file__).with_name("make_logs.py")
FEW = ("broadcast", "shuffled", "dynamic partitions", "numbers", "semi")
# What a filled folder holds beside logs.
NO_LOGS = ("warehouse", "metastore_db", "derby.log", "spark-warehouse")


def make_log(python: str | Path, folder: Path, form: str, names: tuple[str, ...]) -> Path:
    """Runs the queries and gives the path of the log."""
    logs = folder / form
    # PYTHONPATH would show this version's pyspark to an older one.
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "SPARK_HOME", "PYSPARK_PYTHON")}
    environment |= {"PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [str(python), str(MAKE_LOGS), str(folder / "data"), str(logs), "--form", form]
    done = subprocess.run(
        [*command, *(["--only", *names] if names else [])],
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (log,) = [path for path in logs.iterdir() if path.name not in NO_LOGS and not path.name.startswith(".")]
    return log


def tables(folder: Path) -> dict[str, TableStatistics]:
    return {name: TableStatistics(name, None, each.columns, path=str(folder / "data" / name)) for name, each in TABLES.items()}


def fingerprints(log: Path, known: dict[str, TableStatistics]) -> tuple[dict[str, Fingerprint], list[str]]:
    found: dict[str, Fingerprint] = {}
    skipped: list[str] = []

    def take(query: QueryFacts, _: object, place: str) -> None:
        if query.description in EXPECTED:
            found[query.description] = fingerprint_of(query, known)

    read_event_logs([log], take, lambda reason, place: skipped.append(reason))
    return found, skipped


def golden() -> dict[str, Fingerprint]:
    return fingerprints(golden_log("spark-4.3.zstd"), TABLES)[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("event_logs")


def test_all_queries_in_a_plain_log(folder: Path) -> None:
    log = make_log(sys.executable, folder, "plain", ())
    found, skipped = fingerprints(log, tables(folder))
    assert found == golden() and set(found) == set(EXPECTED) and not skipped


@pytest.mark.parametrize("form", ["zstd", "lz4", "rolled"])
def test_compressed_and_rolled_logs(folder: Path, form: str) -> None:
    log = make_log(sys.executable, folder, form, FEW)
    assert (log.is_dir(), log.suffix) == {"zstd": (False, ".zstd"), "lz4": (False, ".lz4"), "rolled": (True, "")}[form]
    found, skipped = fingerprints(log, tables(folder))
    assert found == {name: each for name, each in golden().items() if name in FEW} and not skipped


def test_a_log_of_an_application_that_was_killed(folder: Path) -> None:
    log = make_log(sys.executable, folder, "killed", FEW)
    assert log.suffix == ".inprogress"
    found, _ = fingerprints(log, tables(folder))
    # What ran at the end may not have got into the file.
    assert set(FEW[:3]) <= set(found)
    assert all(found[name] == golden()[name] for name in FEW[:3])


@pytest.mark.parametrize("form", ["plain", "zstd", "lz4", "rolled"])
def test_an_older_spark(folder: Path, form: str) -> None:
    python = python_of(OLDEST)
    if python is None:
        pytest.skip(f"pyspark {OLDEST} is not installed: python tests/spark/event_logs/make_environment.py")
    names = () if form == "plain" else FEW
    log = make_log(python, folder / OLDEST, form, names)
    found, skipped = fingerprints(log, tables(folder / OLDEST))
    assert found == {name: each for name, each in golden().items() if name in (names or EXPECTED)} and not skipped


def test_the_golden_tables_are_those_of_the_queries() -> None:
    assert all(TABLES[name].column(column) == ColumnStatistics(column) for name, columns in COLUMNS.items() for column in columns)
