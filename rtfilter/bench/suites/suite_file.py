"""A suite of one's own: a folder with a `suite.toml` that names Parquet tables and files of SQL.

    name = "shop"                        # the folder's name when left out
    doc = "what our dashboards ask"
    queries = "queries"                  # a folder of *.sql: the id of a query is its file's name without .sql
    duckdb_queries = "duckdb"            # the same names in DuckDB's dialect, where the two differ
    broadcast_threshold_bytes = -1       # when --broadcast-threshold is not given

    [tables]
    sales = "data/sales"                 # a Parquet file, or a directory of them, from this file's directory on

    [spark_conf]
    "spark.sql.ansi.enabled" = "false"

The data is what it is: --sf, --zipf, --layout, --pack-rows and --files do not apply.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rtfilter.bench.suites.suite import DataRequest, Query, Suite, SuiteData
from rtfilter.errors import BenchError, did_you_mean

AS_IT_IS = "as it is"
FILE, SUFFIX = "suite.toml", ".toml"
# Both engines know a table by such a name without quotes.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STRING, _INT, _TABLE = "a text", "a whole number", "a table of texts"
KEYS: Mapping[str, str] = {
    "name": _STRING,
    "doc": _STRING,
    "queries": _STRING,
    "duckdb_queries": _STRING,
    "broadcast_threshold_bytes": _INT,
    "tables": _TABLE,
    "spark_conf": _TABLE,
}


def suite_file(name: str) -> Path | None:
    """The file that a suite's name is the path of, or of whose folder; None for a registered name."""
    inside = Path(name) / FILE
    return inside if inside.is_file() else Path(name) if name.endswith(SUFFIX) else None


def read_suite(file: Path) -> Suite:
    """The suite that a file describes.

    Raises:
        BenchError: a file that cannot be read, an unknown key, a value of the wrong type, a table or query that is not there.
    """
    content = _content(file)
    folder = file.parent
    tables = {name: _existing(file, f"table {name!r}", folder / place) for name, place in content.get("tables", {}).items()}
    if not tables:
        raise BenchError(f'{file} has no table. Name some under [tables], such as: sales = "data/sales".')
    for name in tables:
        if not _NAME.fullmatch(name):
            raise BenchError(f"{file}: table {name!r} must have a name of letters, digits and underscores, such as my_table.")
    queries = _queries(file, content, tuple(tables))

    def prepare(request: DataRequest) -> SuiteData:
        if request.pack_rows is not None or request.files is not None:
            raise BenchError(f"--pack-rows and --files do not apply to {file}: its data is there already. Leave them out.")
        return SuiteData(tables, queries)

    return Suite(
        name=content.get("name", folder.resolve().name),
        doc=content.get("doc", ""),
        layouts=(AS_IT_IS,),
        query_ids=tuple(query.id for query in queries),
        prepare=prepare,
        scales=False,
        spark_conf=content.get("spark_conf", {}),
        broadcast_threshold_bytes=content.get("broadcast_threshold_bytes"),
    )


def _content(file: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchError(f"suite {file} cannot be read: {error.strerror or error}. Give the path of a suite.toml.") from error
    except ValueError as error:
        raise BenchError(f"suite {file} is no TOML: {error}.") from error
    for key, value in content.items():
        if key not in KEYS:
            raise BenchError(f"{file} has an unknown key {key!r}. {did_you_mean(key, KEYS)}")
        if not _has_type(value, KEYS[key]):
            raise BenchError(f"{file}: {key} is {value!r}; it must be {KEYS[key]}.")
    return content


def _has_type(value: Any, wanted: str) -> bool:
    if wanted == _TABLE:
        return isinstance(value, dict) and all(isinstance(entry, str) for entry in value.values())
    return isinstance(value, str) if wanted == _STRING else isinstance(value, int) and not isinstance(value, bool)


def _existing(file: Path, what: str, path: Path) -> Path:
    if not path.exists():
        raise BenchError(f"{file}: {what}: there is no {str(path)!r}.")
    return path.resolve()


def _queries(file: Path, content: Mapping[str, Any], tables: tuple[str, ...]) -> tuple[Query, ...]:
    folder = _existing(file, "queries", file.parent / content.get("queries", "queries"))
    for_duckdb = (
        _existing(file, "duckdb_queries", file.parent / content["duckdb_queries"]) if "duckdb_queries" in content else folder
    )
    found = sorted(folder.glob("*.sql"), key=lambda path: _natural_order(path.stem))
    if not found:
        raise BenchError(f"{file}: there is no *.sql in {str(folder)!r}. Put each query into a file of its own there.")
    return tuple(_query(path, for_duckdb / path.name, tables) for path in found)


def _query(spark_file: Path, duckdb_file: Path, tables: tuple[str, ...]) -> Query:
    spark_sql = _sql(spark_file)
    duckdb_sql = _sql(duckdb_file) if duckdb_file.exists() else spark_sql
    named = tuple(table for table in tables if re.search(rf"\b{re.escape(table)}\b", spark_sql, re.IGNORECASE))
    return Query(spark_file.stem, spark_sql, duckdb_sql, named)


def _sql(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip().rstrip(";").rstrip()
    except (OSError, ValueError) as error:
        raise BenchError(f"query {file} cannot be read as UTF-8 text: {error}.") from error


def _natural_order(name: str) -> list[tuple[int, str]]:
    """`q2` before `q10`."""
    return [(int(part) if part.isdigit() else -1, part) for part in re.findall(r"\d+|\D+", name)]
