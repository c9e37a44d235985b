"""A Spark application whose planner host can be told to fail, and the texts that the rows of the table are held against."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.applications import LITTLE_MEMORY, application
from tests.spark.reasons.golden import Golden
from tests.spark.reasons.row import Scene
from tests.spark.reasons.rows import ROWS

HOST = """\
#!{python}
from pathlib import Path
import rtfilter.host.requests as requests

answer_well = requests.Requests.answer
fault, kept, before = Path({fault!r}), {{}}, []

def put(owner, name, value):
    before.append((owner, name, getattr(owner, name)))
    setattr(owner, name, value)

def answer(self, frame):
    while before:
        setattr(*before.pop())
    if fault.exists():
        exec(fault.read_text(), {{"op": frame.json["op"], "kept": kept, "put": put}})
    else:
        kept.clear()
    return answer_well(self, frame)

requests.Requests.answer = answer
from rtfilter.host.__main__ import main
main()
"""


@pytest.fixture(scope="session")
def fault_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("host") / "fault.py"


@pytest.fixture(scope="session")
def far_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("far")


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory, fault_file: Path, far_folder: Path) -> Iterator[SparkSession]:
    scratch = tmp_path_factory.mktemp("spark")
    interpreter = scratch / "interpreter"
    interpreter.write_text(HOST.format(python=sys.executable, fault=str(fault_file)))
    interpreter.chmod(interpreter.stat().st_mode | stat.S_IXUSR)
    conf = {
        "spark.rtfilter.python": str(interpreter),
        "spark.sql.shuffle.partitions": "2",
        **LITTLE_MEMORY,
        # A filesystem other than the local one, on which the same files are.
        "spark.hadoop.fs.viewfs.mounttable.far.link./here": far_folder.as_uri(),
    }
    with application("rtfilter reasons", conf, scratch=scratch, log_level="OFF") as spark:
        yield spark


@pytest.fixture
def scene(spark: SparkSession, tmp_path: Path, fault_file: Path, far_folder: Path) -> Iterator[Scene]:
    spark.conf.set("rtfilter.enabled", True)
    fault_file.unlink(missing_ok=True)
    yield Scene(spark, tmp_path, fault_file, far_folder)
    fault_file.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def golden(request: pytest.FixtureRequest) -> Iterator[Golden]:
    texts = Golden.read()
    yield texts
    if request.config.getoption("--update-golden", default=False):
        texts.write(row.name for row in ROWS)
