"""Sketches table files as Spark jobs: each task reads its portion with pyarrow and sends the sketches back."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.bridge.files import HadoopFiles
from rtfilter.errors import IndexStorageError
from rtfilter.index.remote_portions import requests_for
from rtfilter.store.index_files.file_parts import sketch_record
from rtfilter.store.index_files.sketching import Portion, PortionSketches, sketch_portion
from rtfilter.store.index_files.snapshot import Definition

# Results gather in the driver: a job has as many portions as fill this much, by what earlier ones took.
WAVE_BYTES = 256 << 20
FIRST_WAVE_PORTIONS = 32
TASKS_PER_CORE = 8
_PYTHON_ERROR = re.compile(r"[A-Z]\w*Error: ")
_SHIPPED = ("__init__.py", "errors.py", "folders.py", "file_threads.py", "masking.py", "private_folders.py", "version.py", "store")

# Applications whose executors have our code already.
_equipped: set[str] = set()


@dataclass(frozen=True, slots=True)
class SparkRunner:
    """Runs portions as tasks, one job after another, so that the driver never holds more than a job's sketches.

    `files`: reaches a table that Python can't open; Spark's tasks read the bytes then.
    """

    spark: SparkSession
    files: HadoopFiles | None = None

    def run(self, portions: Sequence[Portion], definition: Definition) -> Iterator[PortionSketches]:
        """The sketches in order.

        Raises:
            IndexStorageError: a job failed.
        """
        context = self.spark.sparkContext
        _equip(context)
        cores = max(1, context.defaultParallelism)
        wave, begin = min(max(cores, 1), FIRST_WAVE_PORTIONS), 0
        while begin < len(portions):
            part = portions[begin : begin + wave]
            found = self._job(context, part, definition, begin, len(portions))
            yield from found
            begin += len(part)
            bytes_each = max(1, sum(_result_bytes(each) for each in found) // len(found))
            wave = max(1, min(TASKS_PER_CORE * cores, WAVE_BYTES // bytes_each))

    def _job(
        self, context: SparkContext, portions: Sequence[Portion], definition: Definition, begin: int, total: int
    ) -> list[PortionSketches]:
        sketches, types = definition.sketches, dict(definition.types)
        context.setJobDescription(f"rtfilter index {definition.name}: {begin + 1} to {begin + len(portions)} of {total} portions")
        try:
            with _own_interpreter(context):
                if self.files is not None:
                    records = self.files.parts(requests_for(self.files, portions, definition.columns))
                    return records.map(lambda record: sketch_record(record, sketches, types)).collect()
                tasks = context.parallelize(list(portions), len(portions))
                return tasks.map(lambda portion: sketch_portion(portion, sketches, types)).collect()
        except Exception as error:
            if type(error).__module__.split(".")[0] not in ("pyspark", "py4j"):
                raise
            raise IndexStorageError(
                f"the Spark job that builds the index failed: {_cause(str(error))}. The Python of its executors (PYSPARK_PYTHON) "
                "needs numpy and pyarrow, and the table must be under the same path there as here."
            ) from error
        finally:
            # None takes the description off again; pyspark's annotation does not know that.
            context.setJobDescription(None)  # type: ignore[arg-type]


def _cause(text: str) -> str:
    """Of a job's error, which brings several stacks along, the line that a worker's Python has said."""
    lines = text.splitlines() or ["no reason given"]
    return next((line for line in lines if _PYTHON_ERROR.match(line)), lines[0]).strip()


@contextmanager
def _own_interpreter(context: SparkContext) -> Iterator[None]:
    """Workers on this machine get the driver's interpreter, which has pyarrow, unless somebody has chosen another."""
    before = context.pythonExec
    chosen = "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python")
    if is_local(context) and not chosen:
        context.pythonExec = sys.executable
    try:
        yield
    finally:
        context.pythonExec = before


def is_local(context: SparkContext) -> bool:
    """Whether workers are children of this machine's JVM, with its environment."""
    master = str(context.master)
    return master.startswith("local") and not master.startswith("local-cluster")


def _result_bytes(found: PortionSketches) -> int:
    return sum(batch.nbytes for batch in found.batches)


def _equip(context: SparkContext) -> None:
    """Sends our code to executors on other machines; a local master's workers have the driver's."""
    if is_local(context) or context.applicationId in _equipped:
        return
    folder = Path(rtfilter.__file__).parent
    archive = Path(tempfile.mkdtemp(prefix="rtfilter-")) / "rtfilter-store.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name in _SHIPPED:
            for path in sorted((folder / name).rglob("*.py")) if (folder / name).is_dir() else [folder / name]:
                file.write(path, os.path.join("rtfilter", path.relative_to(folder)))
    context.addPyFile(str(archive))
    _equipped.add(context.applicationId)
