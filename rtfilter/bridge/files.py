"""Files of any filesystem that Spark reaches, through Hadoop's FileSystem: for indexes and tables that Python can't open."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import RDD
from pyspark.serializers import NoOpSerializer
from pyspark.sql import SparkSession

from rtfilter.bridge.jvm import inspector
from rtfilter.errors import IndexStorageError


def roots_read(spark: SparkSession) -> list[str]:
    """Where the tables are that the session's queries have named, as Hadoop's texts: directories or files, in order.

    Raises:
        NotConfiguredError: the session lacks the jar.
    """
    return sorted(json.loads(inspector(spark).rootsOf(spark._jsparkSession)))


class HadoopFiles:
    """Single steps on files, with the session's Hadoop configuration. Paths are Hadoop's texts."""

    def __init__(self, spark: SparkSession) -> None:
        """Raises NotConfiguredError: the session lacks the jar."""
        inspector(spark)
        self._context = spark.sparkContext
        self._session = spark._jsparkSession
        self._files = spark._jvm.org.apache.spark.sql.execution.rtfilter.HadoopFiles  # type: ignore[union-attr]

    def steps(self, wishes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Carries out steps, one after the other; each answer has `error` or `missing` when it went wrong (docs/protocol.md)."""
        return list(json.loads(self._files.steps(self._session, json.dumps(list(wishes)))))

    def create(self, path: str, content: bytes, conditional: bool) -> None:
        """Makes a file with this content, unless there is one.

        Raises:
            IndexStorageError: there is one, or it can't be written; which of the two a look at the file must tell.
        """
        try:
            self._files.create(self._session, path, content, conditional)
        except Py4JJavaError as error:
            raise IndexStorageError(f"can't write {path}: {error.java_exception.toString()}.") from error

    def parts(self, requests: Sequence[str]) -> RDD[bytes]:
        """A record for each request (JSON text with `path` and `ranges`), read in a task of its own (HadoopFiles.scala)."""
        return RDD(self._files.parts(self._session, list(requests)), self._context, NoOpSerializer())

    def read(self, path: str, at: int, count: int) -> bytes:
        """`count` bytes of a file from byte `at` on.

        Raises:
            IndexStorageError: it is not there, too short, or can't be read.
        """
        try:
            return bytes(self._files.read(self._session, path, at, count))
        except Py4JJavaError as error:
            raise IndexStorageError(f"can't read {path}: {error.java_exception.toString()}.") from error
