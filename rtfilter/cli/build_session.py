"""What commands that build indexes share: a Spark session of their own, and a bar that tells how far a build has come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rtfilter.store.index_actions.build import Tell


@contextmanager
def local_session(name: str, master: str, *, with_layer: bool) -> Iterator[SparkSession]:
    """A Spark session that says little and ends with the block. `with_layer`: whether it has rtfilter's JVM side."""
    from pyspark.sql import SparkSession

    from rtfilter.session import configure

    builder = SparkSession.builder.appName(name).master(master)
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR")
    spark = (configure(builder) if with_layer else builder).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def build_progress() -> Iterator[Tell]:
    """A bar on stderr, now and then a line where it is no terminal."""
    from rtfilter.bench.run.progress import BenchProgress
    from rtfilter.store.index_actions.build import Progress

    with BenchProgress() as bar:
        bar.say("looks at the table")

        def tell(progress: Progress) -> None:
            if progress.portions_done == 0:
                bar.expect(progress.portions_total)
            else:
                bar.advance(f"sketched {progress.bytes_done >> 20} of {progress.bytes_total >> 20} MiB")

        yield tell
