"""Writes the files of a world's tables, by writers that differ in what a footer says."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.spark.differential.write import write_by_duckdb, write_by_spark
from tests.writers.catalogue import WRITERS
from tests.writers.hand_over import WriterFailedError, WriterMissingError, write

# Those that are at hand in any case; all others of the catalogue take a process for each file, and this one a Java of its own.
AT_HAND = {"pyarrow": 82, "duckdb": 8, "spark": 4}
FOREIGN_SHARE = 6
SLOWEST = "pyspark-3.5"
FOREIGN = tuple(writer.name for writer in WRITERS if writer.name not in (*AT_HAND, SLOWEST))


@dataclass(frozen=True)
class FileForm:
    """How a file is written; what a writer can't do it does its own way."""

    writer: str
    pack_rows: int
    statistics: bool = True
    dictionary: bool = True
    page_index: bool = False
    version: str = "2.6"
    data_pages: str = "1.0"
    compression: str = "snappy"


def draw_form(rng: Random, pack_rows: int) -> FileForm:
    writer = rng.choices([*AT_HAND, "foreign"], [*AT_HAND.values(), FOREIGN_SHARE])[0]
    return FileForm(
        rng.choice(FOREIGN) if writer == "foreign" else writer,
        pack_rows,
        statistics=rng.random() > 0.08,
        dictionary=rng.random() < 0.7,
        page_index=rng.random() < 0.25,
        version=rng.choice(["2.6", "2.6", "2.4", "1.0"]),
        data_pages=rng.choice(["1.0", "1.0", "2.0"]),
        compression=rng.choice(["snappy", "zstd", "none"]),
    )


class FileWriter:
    """Writes files for one session; `duck` and `spark` are asked where a form says so."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._duck = duckdb.connect()
        self._duck.execute("set threads = 1")

    def close(self) -> None:
        self._duck.close()

    def write(self, rows: pa.Table, form: FileForm, path: Path) -> str:
        """Writes one file, or several whose names begin like it; returns who wrote it: pyarrow where a writer is not there."""
        for old in path.parent.glob(f"{path.stem}*.parquet"):
            old.unlink()
        if form.writer == "duckdb":
            write_by_duckdb(self._duck, rows, path)
        elif form.writer == "spark":
            write_by_spark(self._spark, rows, form.pack_rows, path)
        elif form.writer == "pyarrow" or not write_by_foreign(rows, form, path):
            write_by_pyarrow(rows, form, path)
            return "pyarrow"
        return form.writer


def write_by_pyarrow(rows: pa.Table, form: FileForm, path: Path) -> None:
    pages = {"write_page_index": True, "data_page_size": 1, "write_batch_size": 10} if form.page_index else {}
    pq.write_table(
        rows,
        path,
        row_group_size=form.pack_rows,
        write_statistics=form.statistics,
        use_dictionary=form.dictionary,
        version=form.version,
        data_page_version=form.data_pages,
        compression=form.compression,
        coerce_timestamps="us",
        **pages,
    )


def write_by_foreign(rows: pa.Table, form: FileForm, path: Path) -> bool:
    """Without the columns that the writer has no types for; False where it is missing or fails."""
    simple = [field for field in rows.schema if not pa.types.is_struct(field.type)]
    handed = pa.table({field.name: _widened(rows[field.name]) for field in simple})
    with tempfile.TemporaryDirectory() as folder:
        try:
            written = write(form.writer, handed, Path(folder) / "made", form.pack_rows)
        except (WriterMissingError, WriterFailedError):
            return False
        for number, file in enumerate(written.files):
            shutil.move(file, path.with_stem(f"{path.stem}-{number:02}"))
    return True


def _widened(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.int32()) if column.type in (pa.int8(), pa.int16()) else column
