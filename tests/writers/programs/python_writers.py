"""Writes a table by one of the Python packages that can, in that package's own environment.

    python python_writers.py WRITER TABLE.arrow FOLDER PACK_ROWS

Prints `without COLUMN: REASON` for each column that this writer cannot take.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def arrow_table(source: Path) -> Any:
    import pyarrow as pa

    with pa.memory_map(str(source)) as file:
        return pa.ipc.open_file(file).read_all()


def slices(table: Any, rows: int) -> Iterator[Any]:
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


def without_decimals(table: Any) -> Any:
    decimals = [field.name for field in table.schema if str(field.type).startswith("decimal")]
    for name in decimals:
        print(f"without {name}: it has no decimals")
    return table.drop_columns(decimals)


def with_pyarrow(source: Path, folder: Path, rows: int) -> None:
    import pyarrow.parquet as pq

    pq.write_table(arrow_table(source), folder / "t.parquet", row_group_size=rows)


def with_duckdb(source: Path, folder: Path, rows: int, options: str = "") -> None:
    """DuckDB's smallest pack is a vector of 2,048 rows, so a smaller one is a file of its own."""
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        for number, each in enumerate(slices(arrow_table(source), rows)):
            connection.register("given", each)
            connection.execute(f"copy (from given) to '{folder}/{number:03}.parquet' (format parquet {options})")


def with_duckdb_v2(source: Path, folder: Path, rows: int) -> None:
    with_duckdb(source, folder, rows, ", parquet_version v2")


def with_polars(source: Path, folder: Path, rows: int) -> None:
    import polars

    frame = polars.read_ipc(source.read_bytes())
    for number, start in enumerate(range(0, len(frame), 10 * rows)):
        frame[start : start + 10 * rows].write_parquet(folder / f"{number:03}.parquet", row_group_size=rows, statistics=True)


def with_arro3(source: Path, folder: Path, rows: int) -> None:
    from arro3.io import read_ipc, write_parquet

    write_parquet(read_ipc(source), folder / "t.parquet", max_row_group_size=rows)


def with_deltalake(source: Path, folder: Path, rows: int) -> None:
    """A Delta table; only its data files stay."""
    import shutil

    from arro3.io import read_ipc
    from deltalake import WriterProperties, write_deltalake

    write_deltalake(str(folder), read_ipc(source), writer_properties=WriterProperties(max_row_group_size=rows))
    shutil.rmtree(folder / "_delta_log")


def with_datafusion(source: Path, folder: Path, rows: int) -> None:
    from datafusion import ParquetWriterOptions, SessionContext

    frame = SessionContext().from_arrow(arrow_table(source))
    frame.write_parquet_with_options(str(folder / "t.parquet"), ParquetWriterOptions(max_row_group_size=rows))


def with_fastparquet(source: Path, folder: Path, rows: int) -> None:
    import fastparquet

    table = without_decimals(arrow_table(source))
    # Python's dates are objects to pandas, which it cannot tell from text.
    days = [name for name in table.column_names if str(table.column(name).type) == "date32[day]"]
    frame = table.to_pandas().astype(dict.fromkeys(days, "datetime64[ms]"))
    offsets = list(range(0, len(frame), rows))
    fastparquet.write(str(folder / "t.parquet"), frame, row_group_offsets=offsets, stats=True)


def with_carquet(source: Path, folder: Path, rows: int) -> None:
    import carquet

    carquet.write_table(arrow_table(source), folder / "t.parquet", row_group_size=rows)


def with_rugo(source: Path, folder: Path, rows: int) -> None:
    import draken
    import pyarrow as pa
    from rugo import parquet

    native = draken.draken_native
    table = arrow_table(source)

    makers = native.vector_decimal_from_sequence, native.vector_decimal128_from_sequence

    def vector(column: Any) -> Any:
        if pa.types.is_decimal(column.type):
            return makers[column.type.precision > 18](column.to_pylist(), column.type.precision, column.type.scale)
        if pa.types.is_timestamp(column.type):
            return draken.vector_from_sequence(column.to_pylist(), "TIMESTAMP64")
        names = {"int32": "INT32", "int64": "INT64", "float": "FLOAT32", "double": "FLOAT64", "bool": "BOOL"}
        names |= {"string": "STRING", "binary": "VARBINARY", "date32[day]": "DATE32"}
        return draken.vector_from_sequence(column.to_pylist(), names[str(column.type)])

    def morsel(part: Any) -> Any:
        return draken.Morsel.from_vectors([name.encode() for name in part.column_names], [vector(each) for each in part.columns])

    with open(folder / "t.parquet", "wb") as file, parquet.open_parquet_writer(file.write) as writer:
        for part in slices(table, rows):
            writer.write_row_group(morsel(part))


def with_ladybug(source: Path, folder: Path, rows: int) -> None:
    import ladybug

    connection = ladybug.Connection(ladybug.Database(":memory:"))
    for number, part in enumerate(slices(without_decimals(arrow_table(source)), rows)):
        connection.execute(f"COPY (LOAD FROM part RETURN *) TO '{folder}/{number:03}.parquet'", {"part": part})


def with_daft(source: Path, folder: Path, rows: int) -> None:
    import daft

    for part in slices(arrow_table(source), rows):
        daft.from_arrow(part).write_parquet(str(folder))


def with_clickhouse(source: Path, folder: Path, rows: int) -> None:
    import chdb

    settings = f"output_format_parquet_row_group_size = {rows}, max_block_size = {rows}, max_threads = 1"
    settings += ", output_format_parquet_string_as_string = 1"
    chdb.query(
        f"insert into function file('{folder}/t.parquet', Parquet) select * from file('{source}', Arrow) settings {settings}"
    )


def with_pyspark(source: Path, folder: Path, rows: int) -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    session.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.files.maxRecordsPerFile", rows)
    table = arrow_table(source)
    session.read.parquet(str(source.with_suffix(".parquet"))).select(*table.column_names).coalesce(1).write.mode("append").parquet(
        str(folder)
    )
    session.stop()


BY_NAME: dict[str, Callable[[Path, Path, int], None]] = {
    "pyarrow": with_pyarrow,
    "pyarrow-10": with_pyarrow,
    "duckdb": with_duckdb,
    "duckdb-v2-pages": with_duckdb_v2,
    "polars": with_polars,
    "polars-0.20": with_polars,
    "arro3": with_arro3,
    "deltalake": with_deltalake,
    "datafusion": with_datafusion,
    "fastparquet": with_fastparquet,
    "carquet": with_carquet,
    "rugo": with_rugo,
    "ladybug": with_ladybug,
    "daft": with_daft,
    "clickhouse": with_clickhouse,
    "pyspark-3.5": with_pyspark,
}


if __name__ == "__main__":
    name, source, folder, rows = sys.argv[1:]
    BY_NAME[name](Path(source), Path(folder), int(rows))
    # The files are there. Threads of some libraries crash at times while the interpreter ends: daft 0.7 does.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
