"""A Spark application that knows four more filesystems: local files under other schemes, slow and failing on demand."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rtfilter.bridge.jar import find_spark, scala_compiler
from tests.spark.applications import application, give_time, show_tables

SOURCE = Path(__file__).with_name("SlowFileSystem.scala")
SCHEMES = {"slow": "SlowFileSystem", "plain": "PlainFileSystem", "cond": "ConditionalFileSystem", "s3a": "StoreFileSystem"}


@pytest.fixture(scope="session")
def file_system_classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    subprocess.run([*scala_compiler(find_spark()), "-d", str(folder), str(SOURCE)], check=True, timeout=240)
    return folder


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory, file_system_classes: Path) -> Iterator[SparkSession]:
    scratch = tmp_path_factory.mktemp("spark")
    conf = {
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraClassPath": str(file_system_classes),
        # Spark lists tables on S3A in one call, which asks local files for permissions that only those of `file:` have.
        "spark.sql.sources.useListFilesFileSystemList": "none",
        **{f"spark.hadoop.fs.{scheme}.impl": f"rtfilter.test.{name}" for scheme, name in SCHEMES.items()},
    }
    with application("rtfilter file systems", conf, scratch=scratch, log_level="OFF") as spark:
        yield spark


@pytest.fixture
def spark(session: SparkSession, data: Path, tmp_path: Path) -> Iterator[SparkSession]:
    own = session.newSession()
    give_time(own)
    own.conf.set("rtfilter.store.schemes", "slow")
    # Packs that indexes reject are counted here; the reader would leave many of them after their keys.
    own.conf.set("rtfilter.keyFirst", "never")
    own.conf.set("rtfilter.store.cacheDirectory", str(tmp_path / "cache"))
    show_tables(own, data, ["dim"])
    yield own


@pytest.fixture
def faults(session: SparkSession) -> Iterator[Any]:
    found = session._jvm.rtfilter.test.Faults  # type: ignore[union-attr]
    found.clear()
    yield found
    found.clear()


@pytest.fixture
def spread(spark: SparkSession, data: Path, tmp_path: Path) -> Path:
    """A table of its own for each test, visible as `spread` under the scheme slow."""
    shutil.copytree(data / "fact", tmp_path / "spread", copy_function=os.link)
    spark.read.parquet(f"slow:{tmp_path}/spread").createOrReplaceTempView("spread")
    return tmp_path / "spread"
