"""Where indexes and tables are: opened by Python itself, or through the session's driver on every other filesystem."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from rtfilter.bridge.files import HadoopFiles
from rtfilter.errors import IndexStorageError, NotConfiguredError
from rtfilter.options import option_for, parse_option
from rtfilter.store.index_files.local_cache import LocalCache, cache_directory_of
from rtfilter.store.index_files.storage import IndexStorage, LocalStorage
from rtfilter.store.parquet.paths import is_remote
from rtfilter.store.remote.remote_steps import qualified
from rtfilter.store.remote.remote_storage import RemoteStorage


def storage_at(spark: SparkSession | None, place: str) -> IndexStorage:
    """The storage of an index in a directory. Raises IndexStorageError, NotConfiguredError, OptionError."""
    if not is_remote(place):
        return LocalStorage(place)
    access = file_access(spark, place)
    directory = cache_directory_of(session_option(spark, "rtfilter.store.cacheDirectory"))
    cache = LocalCache(directory, session_option(spark, "rtfilter.store.cacheBytes"))
    return RemoteStorage(place, access, cache, session_option(spark, "rtfilter.store.schemes"))


def file_access(spark: SparkSession | None, path: str) -> HadoopFiles:
    """The files of a path that Python can't open.

    Raises:
        IndexStorageError: there is no session to reach them with.
        NotConfiguredError: the session lacks the jar.
    """
    if spark is None:
        raise IndexStorageError(
            f"{path} is on a filesystem that only Spark can open: give a Spark session that was made with rtfilter.configure."
        )
    return HadoopFiles(spark)


def as_spark_reads(spark: SparkSession | None, path: str) -> str:
    """A path without a scheme as Hadoop's text, where the session's default filesystem (`fs.defaultFS`) is not the local one.

    Raises:
        IndexStorageError: the default filesystem can't be reached.
    """
    if spark is None or is_remote(path) or path.startswith("file:"):
        return path
    try:
        files = HadoopFiles(spark)
    except NotConfiguredError:
        return path
    text = qualified(files, path)
    return text if is_remote(text) else path


def session_location(spark: SparkSession | None) -> str:
    """`rtfilter.store.location` of a session, empty when it has none."""
    return str(session_option(spark, "rtfilter.store.location"))


def session_option(spark: SparkSession | None, key: str) -> Any:
    default = option_for(key).default_text
    said = None if spark is None else spark.conf.get(key, None) or spark.conf.get(f"spark.{key}", None)
    return parse_option(key, said or default)
