"""Frames that are kept while a tree is built, and how their rows come to this process: never all at once."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rtfilter.errors import IndexStorageError, first_line
from rtfilter.index.spark_runner import is_local

# Rows that come over together.
BATCH_ROWS = 1 << 17
_PART = "part of a kept frame"


class Scratch(Protocol):
    """Keeps frames until it is closed."""

    def keep(self, frame: DataFrame) -> DataFrame:
        """The frame, computed once."""
        ...

    def rows(self, kept: DataFrame) -> int:
        """How many rows a kept frame has."""
        ...

    def tables(self, kept: DataFrame) -> Iterator[Any]:
        """The rows of a kept frame, in order, as Arrow tables; at least one."""
        ...

    def frame(self, table: Any) -> DataFrame:
        """An Arrow table as a frame."""
        ...

    def close(self) -> None:
        """Removes all that is kept."""
        ...


def scratch_of(spark: SparkSession) -> Scratch:
    """On one machine files, which this process reads by itself; on others Spark's blocks."""
    return FileScratch(spark) if is_local(spark.sparkContext) else BlockScratch(spark)


@contextmanager
def kept_in(scratch: Scratch, frame: DataFrame) -> Iterator[tuple[Scratch, DataFrame]]:
    """Keeps a frame; after an error nothing is kept any more."""
    try:
        yield scratch, scratch.keep(frame)
    except BaseException:
        scratch.close()
        raise


class FileScratch:
    """Parquet files in a folder of this machine."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        # Where Spark's own temporary files go there is room.
        given = str(spark.sparkContext.getConf().get("spark.local.dir", "") or "").split(",")[0].strip()
        self._folder = tempfile.mkdtemp(prefix="rtfilter-groups-", dir=given if os.path.isdir(given) else None)
        self._paths: dict[int, str] = {}
        self._kept: list[DataFrame] = []

    def keep(self, frame: DataFrame) -> DataFrame:
        names, path = frame.columns, self._next()
        plain = frame.toDF(*(f"c{number}" for number in range(len(names))))
        plain.write.option("compression", "snappy").option("maxRecordsPerFile", 0).parquet(f"file:{path}")
        return self._remembered(self._spark.read.schema(plain.schema).parquet(spark_path(path)).toDF(*names), path)

    def rows(self, kept: DataFrame) -> int:
        return sum(pq.read_metadata(path).num_rows for path in self._files(kept))

    def tables(self, kept: DataFrame) -> Iterator[Any]:
        for path in self._files(kept):
            with pq.ParquetFile(path) as file:
                batches = file.iter_batches(BATCH_ROWS) if file.metadata.num_rows else file.schema_arrow.empty_table().to_batches()
                for batch in batches:
                    yield pa.Table.from_batches([batch], file.schema_arrow).rename_columns(kept.columns)

    def frame(self, table: Any) -> DataFrame:
        path = self._next()
        os.makedirs(path)
        # Spark takes dates and times of its own files as they are.
        about = {"org.apache.spark.version": "4.0.0"}
        pq.write_table(table.replace_schema_metadata(about), os.path.join(path, "part-0.parquet"), store_schema=False)
        return self._spark.read.parquet(spark_path(path))

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _next(self) -> str:
        return os.path.join(self._folder, str(len(os.listdir(self._folder))))

    def _remembered(self, frame: DataFrame, path: str) -> DataFrame:
        # Their ids are theirs as long as they are held.
        self._kept.append(frame)
        self._paths[id(frame)] = path
        return frame

    def _files(self, kept: DataFrame) -> list[str]:
        path = self._paths[id(kept)]
        return [os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith(".parquet")]


def spark_path(path: str) -> str:
    """A path of one file or directory for Spark's reader, which takes some signs for patterns."""
    text = re.sub(r"([\\{}\[\]*?^])", r"\\\1", path)
    return f"file:{text}" if path.startswith("/") else text


class BlockScratch:
    """Blocks on the disks of executors, which come over part by part."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._kept: list[DataFrame] = []

    def keep(self, frame: DataFrame) -> DataFrame:
        kept = frame.persist(StorageLevel.DISK_ONLY)
        self._kept.append(kept)
        return kept

    def rows(self, kept: DataFrame) -> int:
        return kept.count()

    def tables(self, kept: DataFrame) -> Iterator[Any]:
        numbered = kept.withColumn(_PART, F.spark_partition_id())
        counts = {row[0]: row[1] for row in numbered.groupBy(_PART).count().collect()}
        if not counts:
            yield kept.limit(0).toArrow()
        for part in sorted(counts):
            yield numbered.where(F.col(f"`{_PART}`") == part).drop(_PART).toArrow()

    def frame(self, table: Any) -> DataFrame:
        return self._spark.createDataFrame(table)

    def close(self) -> None:
        for frame in self._kept:
            with suppress(Exception):  # the session may be gone, and its blocks with it
                frame.unpersist()


@contextmanager
def spark_told(table: str) -> Iterator[None]:
    """Tells what Spark, or the disk that rows are kept on, has failed at while a table was grouped."""
    try:
        yield
    except IndexStorageError:
        raise
    except Exception as error:
        if not isinstance(error, OSError | pa.ArrowException) and type(error).__module__.split(".")[0] not in ("pyspark", "py4j"):
            raise
        raise IndexStorageError(f"Spark can't group the table {table!r}: {first_line(error)}") from error
