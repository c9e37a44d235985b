"""A Spark application whose planner host and bridge have the fault that is switched on."""

from __future__ import annotations

import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest
from pyspark.sql import SparkSession

from rtfilter.bridge import jar
from tests.spark.applications import application, give_time
from tests.spark.star_tree_mutations.faults import FAULT, NOTHING, TREE_PLAN, faulty_source

ROOT = Path(__file__).resolve().parents[3]

HOST = """\
#!{python}
import sys
sys.path.insert(0, {root!r})
import rtfilter.host.requests as requests
from contextlib import nullcontext
from tests.spark.star_tree_mutations.faults import IN_HOST

answer_star = requests.answer_star

def answer(*args):
    with open({fault!r}, encoding="utf-8") as file:
        name = file.read()
    with IN_HOST.get(name, nullcontext)():
        return answer_star(*args)

requests.answer_star = answer
from rtfilter.host.__main__ import main
main()
"""


@pytest.fixture(scope="module")
def fault_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that names the fault of the host."""
    file = tmp_path_factory.mktemp("fault") / "fault"
    file.write_text(NOTHING, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory, fault_file: Path) -> Iterator[SparkSession]:
    scratch = tmp_path_factory.mktemp("spark")
    sources = Path(shutil.copytree(jar.SOURCES, scratch / "scala"))
    plan = sources / TREE_PLAN
    plan.write_text(faulty_source(plan.read_text(encoding="utf-8")), encoding="utf-8")
    script = scratch / "interpreter"
    script.write_text(HOST.format(python=sys.executable, root=str(ROOT), fault=str(fault_file)), encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    conf = {"spark.sql.shuffle.partitions": "1", "spark.rtfilter.python": str(script)}
    with mock.patch.object(jar, "SOURCES", sources), application("rtfilter star-tree faults", conf, scratch=scratch) as session:
        give_time(session)
        yield session


@pytest.fixture
def switch(spark: SparkSession, fault_file: Path) -> Iterator[Callable[[str], None]]:
    """Switches a fault on, and all others off."""

    def switched(name: str) -> None:
        fault_file.write_text(name, encoding="utf-8")
        spark._jvm.java.lang.System.setProperty(FAULT, name)  # type: ignore[union-attr]

    yield switched
    switched(NOTHING)
