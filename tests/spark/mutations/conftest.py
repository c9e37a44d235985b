"""A Spark application whose planner host breaks the rule that a file names."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.applications import application as spark_application
from tests.spark.mutations.broken_rules import NOTHING

ROOT = Path(__file__).resolve().parents[3]

HOST = """\
#!{python}
import sys
sys.path.insert(0, {root!r})
import rtfilter.host.requests as requests
from tests.spark.mutations.broken_rules import Obedience

answer_well = requests.Requests.answer
obedience = Obedience()

def answer(self, frame):
    with open({rule!r}, encoding="utf-8") as file:
        obedience.obey(file.read())
    return answer_well(self, frame)

requests.Requests.answer = answer
from rtfilter.host.__main__ import main
main()
"""


@pytest.fixture(scope="session")
def rule(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that names the broken rule."""
    file = tmp_path_factory.mktemp("rule") / "rule"
    file.write_text(NOTHING, encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def application(tmp_path_factory: pytest.TempPathFactory, rule: Path) -> Iterator[SparkSession]:
    script = tmp_path_factory.mktemp("host") / "interpreter"
    script.write_text(HOST.format(python=sys.executable, root=str(ROOT), rule=str(rule)), encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    conf = {
        # Each query runs once: the better compiler would never get its time back. Its code
        # cache of 48 MB is full after a hundred cases.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
        "spark.rtfilter.python": str(script),
    }
    with spark_application("rtfilter mutations", conf) as spark:
        yield spark
