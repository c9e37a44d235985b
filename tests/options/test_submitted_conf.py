"""What is configured before a builder adds to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.bridge import jvm
from rtfilter.bridge import submitted_conf as submitted
from rtfilter.bridge.submitted_conf import arguments_conf, file_conf, submitted_conf

FILE = """# spark.jars commented.jar
spark.jars              a.jar,b.jar
spark.sql.extensions=x.Y , z.Z
  spark.master : local[3]
spark.empty

! spark.other 1
"""


@pytest.fixture
def defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.setattr(SparkContext, "_jvm", None)
    path = tmp_path / submitted.DEFAULTS_FILE
    path.write_text(FILE)
    return path


def test_a_file_of_defaults_is_read_as_java_does(defaults: Path) -> None:
    assert file_conf(defaults) == {"spark.jars": "a.jar,b.jar", "spark.sql.extensions": "x.Y , z.Z", "spark.master": "local[3]"}


def test_without_a_file_there_are_none(tmp_path: Path) -> None:
    assert file_conf(tmp_path / "none") == {}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--conf spark.a=1 --conf 'spark.b=2 3' pyspark-shell", {"spark.a": "1", "spark.b": "2 3"}),
        ("--conf=spark.a=1=2 -c spark.a=3", {"spark.a": "3"}),
        ("--jars x.jar,y.jar --conf spark.c", {"spark.jars": "x.jar,y.jar"}),
        ("--properties-file p.conf", {"--properties-file": "p.conf"}),
        ("--conf 'spark.a=1", {}),
        ("pyspark-shell", {}),
    ],
)
def test_arguments_of_spark_submit(arguments: str, expected: dict[str, str]) -> None:
    assert arguments_conf(arguments) == expected


def test_arguments_go_before_the_file(defaults: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars c.jar pyspark-shell")
    assert (submitted_conf()["spark.jars"], submitted_conf()["spark.master"]) == ("c.jar", "local[3]")
    (tmp_path / "own.conf").write_text("spark.jars d.jar")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file {tmp_path / 'own.conf'} pyspark-shell")
    assert submitted_conf() == {"spark.jars": "d.jar"}


def test_configure_keeps_what_is_configured(defaults: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {"spark.jars": "ours.jar", "spark.sql.extensions": jvm.EXTENSION, "spark.rtfilter.python": "python3"}
    monkeypatch.setattr("rtfilter.session.spark_conf", lambda: ours)
    builder = SparkSession.Builder()
    builder._options = {}
    rtfilter.configure(builder)
    assert builder._options["spark.jars"] == "a.jar,b.jar,ours.jar"
    assert builder._options["spark.sql.extensions"] == f"x.Y,z.Z,{jvm.EXTENSION}"
    builder = SparkSession.Builder()
    builder._options = {"spark.jars": "own.jar"}
    rtfilter.configure(builder)
    assert builder._options["spark.jars"] == "own.jar,ours.jar"
