"""One table in one layout: in which order its rows lie in the files, and how they are cut into files and packs."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rtfilter.bench.suites.data_cache import Dataset, Manifest
from rtfilter.bench.suites.duckdb_generators import GENERATOR_BYTES, connection, quoted
from rtfilter.bench.suites.pack_writer import FORMAT, PackPlan, cut_into_packs, parquet_writer, write_packs
from rtfilter.bench.suites.suite import DataRequest, Query

NATURAL, CLUSTERED, SHUFFLED, PARTITIONED = "natural", "clustered", "shuffled", "partitioned"
DEFAULT_PACK_ROWS = 65_536
DEFAULT_FILES = 12
SHUFFLE_SEED = 20260101
READ_ROWS = 1 << 18
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class TableSource:
    """A generated table: its file, a name that tells it from the same table of other data, and the column that it is clustered
    and partitioned by (a fact's date); tables without one lie as they were generated in those two layouts."""

    table: str
    file: Path
    dataset: str
    date_key: str | None = None


def laid_out(request: DataRequest, source: TableSource) -> Path:
    """Finds or makes the table in the asked layout: a directory of Parquet files, one below it for each date if partitioned.

    The order is the same on every machine for one version of duckdb: ties are broken by the generator's own row order, and the
    shuffle is a seeded hash of it.

    Raises:
        BenchError: the data cannot be written.
    """
    layout = request.layout
    if layout in (CLUSTERED, PARTITIONED) and source.date_key is None:
        layout = NATURAL
    pack_rows, files = request.pack_rows or DEFAULT_PACK_ROWS, request.files or DEFAULT_FILES

    def build(directory: Path) -> Manifest:
        rows = pq.ParquetFile(source.file).metadata.num_rows
        request.say(f"writes {source.table}, {layout}: {rows:,} rows in packs of {pack_rows:,}")
        scratch = directory / ".scratch"
        scratch.mkdir()
        with connection(scratch, most_bytes=GENERATOR_BYTES) as con:
            reader: pa.RecordBatchReader = con.execute(_ordered_sql(source, layout)).to_arrow_reader(READ_ROWS)
            if layout == PARTITIONED:
                assert source.date_key is not None
                write_partitions(reader, reader.schema, source.date_key, pack_rows, directory / source.table)
            else:
                write_packs(reader, reader.schema, _plan(rows, pack_rows, files), directory / source.table)
        shutil.rmtree(scratch)
        return {"table": source.table, "layout": layout, "rows": rows, "pack_rows": pack_rows, "files": files}

    cut = f"{pack_rows}" if layout == PARTITIONED else f"{pack_rows}x{files}"
    return request.cache.dataset(f"{source.dataset}-{source.table}-{layout}-{cut}-{FORMAT}", build).path / source.table


def laid_out_tables(
    request: DataRequest, dataset: Dataset, queries: Iterable[Query], date_keys: Mapping[str, str]
) -> dict[str, Path]:
    """The tables that the queries name, out of a generated dataset with a `TABLE.parquet` for each, in the asked layout.

    Raises:
        BenchError: the data cannot be written.
    """
    tables = sorted({table for query in queries for table in query.tables})
    files = {table: dataset.path / f"{table}.parquet" for table in tables}
    return {
        table: laid_out(request, TableSource(table, file, dataset.path.name, date_keys.get(table))) for table, file in files.items()
    }


def _ordered_sql(source: TableSource, layout: str) -> str:
    by_layout = {
        NATURAL: "file_row_number",
        CLUSTERED: f"{source.date_key} NULLS FIRST, file_row_number",
        PARTITIONED: f"{source.date_key} NULLS FIRST, file_row_number",
        SHUFFLED: f"hash(file_row_number, {SHUFFLE_SEED}), file_row_number",
    }
    table = f"read_parquet('{quoted(source.file)}', file_row_number = true)"
    # A plain read keeps the file's order; sorting it by row number would only spill to disk.
    order = "" if layout == NATURAL else f" ORDER BY {by_layout[layout]}"
    return f"SELECT * EXCLUDE (file_row_number) FROM {table}{order}"


def _plan(rows: int, pack_rows: int, files: int) -> PackPlan:
    """No more files than packs, but one even for an empty table."""
    packs = max(1, -(-rows // pack_rows))
    files = min(files, packs)
    return PackPlan(pack_rows, tuple(packs * (k + 1) // files - packs * k // files for k in range(files)))


def write_partitions(batches: Iterable[pa.RecordBatch], schema: pa.Schema, key: str, pack_rows: int, directory: Path) -> None:
    """Writes rows that are ordered by `key` as `key=VALUE/part-00000.parquet`, the key itself left out of the files, as Hive,
    Spark and DuckDB have it."""
    directory.mkdir()
    kept = schema.remove(schema.get_field_index(key))
    for value, parts in groupby(_runs(batches, key), key=lambda run: run[0]):
        place = directory / f"{key}={NULL_PARTITION if value is None else value}"
        place.mkdir()
        with parquet_writer(place / "part-00000.parquet", kept) as writer:
            for pack in cut_into_packs((batch.drop_columns([key]) for _, batch in parts), kept, pack_rows):
                writer.write_table(pack, row_group_size=pack_rows)


def _runs(batches: Iterable[pa.RecordBatch], key: str) -> Iterator[tuple[object, pa.RecordBatch]]:
    """Stretches of equal keys within each batch."""
    for batch in batches:
        encoded = pc.run_end_encode(batch[key])
        start = 0
        for value, end in zip(encoded.values.to_pylist(), encoded.run_ends.to_pylist(), strict=True):
            yield value, batch.slice(start, end - start)
            start = end
