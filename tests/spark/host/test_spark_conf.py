"""Options in the SparkConf: a server switches the layer on for all, and says what its sessions may not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pyspark

import rtfilter
from tests.spark.cases import FACT_FILES, dim_table, fact_table, write_files

DRIVER = """
import json, sys
from pyspark.sql import SparkSession
from rtfilter.bridge import jvm
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
for key, value in json.loads(sys.argv[1]).items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
for statement in json.loads(sys.argv[2]):
    spark.sql(statement)
data = sys.argv[3]
for name in ("fact", "dim"):
    spark.read.parquet(f"{data}/{name}").createOrReplaceTempView(name)
frame = spark.sql("select fact.v from fact join dim on k = id where name in ('n5', 'n7')")
print("rows", len(frame.collect()), "narrowed", any(scan["narrowed"] for scan in jvm.scan_metrics(frame)))
spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
"""
PATIENT = {"spark.rtfilter.planner.timeoutMs": "30000", "spark.rtfilter.footers.waitMs": "20000"}


def said(folder: Path, conf: dict[str, str], statements: list[str]) -> tuple[str, str]:
    """Standard output and error of a driver that knows nothing of rtfilter but what the SparkConf says."""
    if not (folder / "fact").exists():
        write_files(fact_table(), folder / "fact", FACT_FILES)
        write_files(dim_table(), folder / "dim", 1)
    given = {**rtfilter.spark_conf(), **PATIENT, "spark.rtfilter.feedback.path": str(folder / "feedback.json"), **conf}
    arguments = [sys.executable, "-c", DRIVER, json.dumps(given), json.dumps(statements), str(folder)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=240, check=True)
    return done.stdout, done.stderr


def test_a_server_switches_the_layer_on_and_keeps_sessions_from_naming_files(tmp_path: Path) -> None:
    ours, theirs, marker = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl", tmp_path / "program-ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    conf = {"spark.rtfilter.enabled": "true", "spark.rtfilter.shared": "true", "spark.rtfilter.log.path": str(ours)}
    statements = [f"set rtfilter.log.path={theirs}", f"set spark.rtfilter.log.path={theirs}", f"set rtfilter.python={program}"]
    out, err = said(tmp_path, conf, statements)
    assert "rows 20 narrowed True" in out
    assert len(ours.read_text().splitlines()) == 1
    assert not theirs.exists() and not marker.exists()
    assert "Ignoring non-Spark config property" not in err
    assert "rtfilter.python of the session is not used" in err and "rtfilter.log.path of the session is not used" in err


def test_in_an_application_of_one_user_the_session_wins_but_for_the_program(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"
    conf = {"spark.rtfilter.enabled": "false", "spark.rtfilter.log.path": str(ours)}
    statements = ["set rtfilter.enabled=true", f"set rtfilter.log.path={theirs}", "set rtfilter.python=/nowhere/python"]
    out, _ = said(tmp_path, conf, statements)
    assert "rows 20 narrowed True" in out
    assert theirs.exists() and not ours.exists()


def test_a_wrong_option_of_the_spark_conf_is_a_warning(tmp_path: Path) -> None:
    out, err = said(tmp_path, {"spark.rtfilter.enabled": "true", "spark.rtfilter.kindz": "set"}, [])
    assert "rows 20 narrowed False" in out
    assert "rtfilter.kinds" in err and "rtfilter.kindz" in err


def test_spark_sql_needs_no_session_of_ours(tmp_path: Path) -> None:
    write_files(fact_table(), tmp_path / "fact", FACT_FILES)
    pq.write_table(dim_table(), tmp_path / "dim.parquet")
    log = tmp_path / "log.jsonl"
    sql = (
        f"select count(*) from parquet.`{tmp_path / 'fact'}` f join parquet.`{tmp_path / 'dim.parquet'}` d on k = id "
        "where name in ('n5', 'n7')"
    )
    conf = {**rtfilter.spark_conf(), **PATIENT, "spark.rtfilter.enabled": "true", "spark.rtfilter.log.path": str(log)}
    conf["spark.rtfilter.feedback.path"] = str(tmp_path / "feedback.json")
    conf["spark.driver.extraJavaOptions"] = f"-Dderby.system.home={tmp_path}"
    entries = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    shell = Path(sys.executable).with_name("spark-sql")
    done = subprocess.run(
        [str(shell), "--master", "local[2]", *entries, "-e", sql],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=tmp_path,
        env={**os.environ, "SPARK_HOME": str(Path(pyspark.__file__).parent)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["20"]
    (line,) = log.read_text().splitlines()
    assert json.loads(line)["filters"][0]["decision"] == "applied"
