"""The files of a generated table, by pyarrow, DuckDB or Spark."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.spark.differential.cases import DataFile, Table
from tests.spark.differential.values import arrow_type, stored

# Several pages in a pack of 20 rows, so that a page index has something to say.
PAGE_ROWS = 10
# Spark cuts bits off an int for a column of these types: numbers that differ by so much are one to it.
NARROW = {"tinyint": 2**8, "smallint": 2**16}


class TableWriter:
    def __init__(self, spark: SparkSession, duck: duckdb.DuckDBPyConnection) -> None:
        self.spark = spark
        self.duck = duck

    def write(self, table: Table, folder: Path) -> None:
        """Writes the files of a table into a new folder."""
        folder.mkdir(parents=True)
        for number, file in enumerate(table.files):
            path = folder / f"part-{number:03}.parquet"
            content = arrow_table(table, file)
            if file.writer == "duckdb":
                write_by_duckdb(self.duck, content, path)
            elif file.writer == "spark":
                write_by_spark(self.spark, content, file.pack_rows, path)
            else:
                write_by_pyarrow(content, file, path)


def write_by_duckdb(duck: duckdb.DuckDBPyConnection, content: pa.Table, path: Path) -> None:
    duck.register("content", content)
    duck.execute(f"copy (select * from content) to '{path}' (format parquet)")
    duck.unregister("content")


def write_by_spark(spark: SparkSession, content: pa.Table, pack_rows: int, path: Path) -> None:
    """Spark reads the rows from a file beside the table's folder, and its one part file is moved into it."""
    beside = path.parents[1] / f"{path.parent.name}-{path.name}"
    pq.write_table(content, beside)
    written = beside.with_suffix(".written")
    frame = spark.read.parquet(str(beside)).coalesce(1)
    frame.write.option("parquet.block.row.count.limit", str(pack_rows)).parquet(str(written))
    (part,) = written.glob("part-*.parquet")
    shutil.move(part, path)
    shutil.rmtree(written)
    beside.unlink()


def write_by_pyarrow(content: pa.Table, file: DataFile, path: Path) -> None:
    pages = {"write_page_index": True, "data_page_size": 1, "write_batch_size": PAGE_ROWS} if file.page_index else {}
    pq.write_table(
        content, path, row_group_size=file.pack_rows, write_statistics=file.statistics, use_dictionary=file.dictionary, **pages
    )


def arrow_table(table: Table, file: DataFile) -> pa.Table:
    """The rows of one file in the types that it stores."""
    arrays, stored_as = {}, dict(file.stored_as)
    for position, column in enumerate(table.columns):
        if column.name == file.without:
            continue
        type_ = stored_as.get(column.name, column.type)
        values = [stored(row[position], type_) for row in file.rows]
        if column.type in NARROW and type_ == "int":
            values = [value if value is None else value + number % 3 * NARROW[column.type] for number, value in enumerate(values)]
        arrays[column.name] = pa.array(values, arrow_type(type_))
    return pa.table(arrays)
