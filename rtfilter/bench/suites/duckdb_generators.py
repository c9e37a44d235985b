"""Tables of TPC-H and TPC-DS from DuckDB's own generators, as Parquet, with bounded memory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from rtfilter.bench.suites.data_cache import DataCache, Dataset, Manifest
from rtfilter.errors import BenchError
from rtfilter.hardware import memory_bytes

if TYPE_CHECKING:
    import duckdb

GENERATOR_BYTES = 5 * 2**29
"""What DuckDB may use to make and to order data, so that this needs less than 4 GB at every scale; it spills beyond."""
INSTALL = "pip install 'rtfilter[bench]'"


@dataclass(frozen=True)
class Generator:
    """A DuckDB extension that makes a benchmark's tables, the function to call for it, and the one that has its queries."""

    extension: str
    function: str
    queries_function: str


TPCDS = Generator("tpcds", "dsdgen", "tpcds_queries")
TPCH = Generator("tpch", "dbgen", "tpch_queries")


def generated_tables(
    cache: DataCache, generator: Generator, sf: float, tables: Sequence[str], say: Callable[[str], None]
) -> Dataset:
    """Finds or makes `TABLE.parquet` for the named tables (none named: all of them) in the generator's own row order.

    The generator always makes every table; only the named ones are kept. Memory stays under `GENERATOR_BYTES`.

    Raises:
        BenchError: duckdb or the extension is missing, or the cache cannot be written.
    """
    whole = f"{generator.extension}-sf{sf:g}"
    found = cache.find(whole)
    if found is not None:
        return found
    name = "-".join([whole, *sorted(tables)])

    def build(directory: Path) -> Manifest:
        scratch = directory / ".scratch"
        scratch.mkdir()
        with connection(scratch, scratch / "generated.duckdb", GENERATOR_BYTES) as con:
            load_extension(con, generator.extension)
            say(f"{generator.function} makes {generator.extension.upper()} at scale factor {sf:g}")
            con.execute(f"CALL {generator.function}(sf={sf!r})")
            rows = {}
            for table in tables or _all_tables(con):
                say(f"writes {table}")
                con.execute(f"COPY {table} TO '{quoted(directory / (table + '.parquet'))}' (FORMAT parquet)")
                rows[table] = _count(con, table)
            version = _scalar(con, "SELECT version()")
        shutil.rmtree(scratch)
        return {"sf": sf, "generator": generator.function, "duckdb": version, "rows": rows}

    return cache.dataset(name, build)


def generator_queries(generator: Generator) -> dict[int, str]:
    """The benchmark's queries by number, as the extension words them, without the semicolon.

    Raises:
        BenchError: duckdb or the extension is missing.
    """
    with _extension_connection(generator) as con:
        found = con.execute(f"SELECT query_nr, query FROM {generator.queries_function}() ORDER BY query_nr").fetchall()
    return {int(number): text.strip().rstrip(";").rstrip() for number, text in found}


def tpch_answers(sf: float) -> dict[int, str]:
    """The published answers of TPC-H at that scale by query number, as text with `|` between values and a header line.

    Empty where there are none: the extension has them for 0.01, 0.1 and 1.
    """
    with _extension_connection(TPCH) as con:
        found = con.execute("SELECT query_nr, answer FROM tpch_answers() WHERE scale_factor = ?", [sf]).fetchall()
    return {int(number): answer for number, answer in found}


@contextmanager
def _extension_connection(generator: Generator) -> Iterator[duckdb.DuckDBPyConnection]:
    with tempfile.TemporaryDirectory(prefix="rtfilter-duckdb-") as scratch, connection(Path(scratch)) as con:
        load_extension(con, generator.extension)
        yield con


@contextmanager
def connection(scratch: Path, database: Path | None = None, most_bytes: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB connection that spills into `scratch` and uses at most half of the machine's memory, and no more than `most_bytes`.

    Its failures to write or to find room surface as OSError, so that the cache can name the directory and the way out.
    """
    duckdb_module = import_duckdb()
    con = duckdb_module.connect(str(database) if database else ":memory:")
    try:
        con.execute(f"SET temp_directory = '{quoted(scratch)}'")
        limit = min(memory_bytes() // 2, most_bytes or memory_bytes())
        con.execute(f"SET memory_limit = '{limit // 2**20}MiB'")
        con.execute("SET enable_progress_bar = false")
        # Spark's default, so that a LIMIT cuts both engines' rows at the same place.
        con.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
        yield con
    except (duckdb_module.IOException, duckdb_module.OutOfMemoryException) as error:
        raise OSError(str(error).splitlines()[0]) from error
    finally:
        con.close()


def import_duckdb() -> ModuleType:
    """The duckdb module.

    Raises:
        BenchError: it is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        raise BenchError(f"duckdb is not installed; it makes the data and judges the results. Run {INSTALL}.") from error
    return duckdb


def load_extension(con: duckdb.DuckDBPyConnection, extension: str) -> None:
    """Loads a generator out of its wheel; no network is used.

    Raises:
        BenchError: the wheel is missing or belongs to another duckdb version.
    """
    try:
        from duckdb_extensions import import_extension

        import_extension(extension)
        con.execute(f"LOAD {extension}")
    except Exception as error:  # the importer raises plain Exceptions of many kinds
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise BenchError(
            f"DuckDB's {extension} generator cannot be loaded: {reason}. Its wheel must have the version of duckdb: "
            f"{INSTALL} brings matching ones."
        ) from error


def _all_tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    return [row[0] for row in con.execute("SELECT table_name FROM duckdb_tables() ORDER BY table_name").fetchall()]


def _count(con: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(_scalar(con, f"SELECT count(*) FROM {table}"))


def _scalar(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    row = con.execute(sql).fetchone()
    assert row is not None, sql
    return str(row[0])


def quoted(path: Path) -> str:
    return str(path).replace("'", "''")
