"""The programs that write Parquet files for tests: what each is installed from, and which program of ours drives it.

Versions are pinned: a newer writer is a change to look at, not a red run on a day when nothing was changed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Source(Enum):
    """Where a writer's packages come from. OWN needs none: it is among what the tests have anyway."""

    OWN = "this environment"
    PIP = "pip"
    NPM = "npm"


@dataclass(frozen=True, slots=True)
class Writer:
    """A writer by the name that tests use. `program`: the file in programs/ that runs it."""

    name: str
    source: Source
    packages: tuple[str, ...]
    program: str


def _pip(name: str, *packages: str) -> Writer:
    return Writer(name, Source.PIP, packages, "python_writers.py")


def _npm(name: str, *packages: str) -> Writer:
    return Writer(name, Source.NPM, packages, "node_writers.mjs")


# In the order in which they are installed: small ones first, so that a time limit costs few.
WRITERS = (
    Writer("pyarrow", Source.OWN, (), "python_writers.py"),
    Writer("duckdb", Source.OWN, (), "python_writers.py"),
    _pip("arro3", "arro3-io==0.9.1", "arro3-core==0.9.1"),
    _pip("deltalake", "deltalake==1.6.6", "arro3-io==0.9.1"),
    _npm("hyparquet", "hyparquet-writer@0.17.0"),
    _npm("parquetjs", "parquetjs@0.11.2"),
    _npm("dsnp-parquetjs", "@dsnp/parquetjs@1.8.7"),
    _npm("parquet-wasm", "parquet-wasm@0.8.0"),
    _pip("polars", "polars==2.1.0"),
    _pip("rugo", "rugo==0.5.6", "pyarrow==26.0.1"),
    _pip("carquet", "carquet==0.7.2", "pyarrow==26.0.1"),
    _pip("datafusion", "datafusion==55.0.0", "pyarrow==26.0.1"),
    _pip("duckdb-v2-pages", "duckdb==2.0.1", "pyarrow==26.0.1"),
    _pip("fastparquet", "fastparquet==2026.9.0", "pyarrow==26.0.1"),
    _pip("pyarrow-10", "pyarrow==10.0.1", "numpy==1.26.4"),
    _pip("ladybug", "ladybug==0.22.0", "pyarrow==26.0.1"),
    _pip("daft", "daft==0.7.26", "pyarrow==25.0.1"),
    _pip("clickhouse", "chdb==4.4.0", "pyarrow==26.0.1"),
    _pip("polars-0.20", "polars==0.20.31"),
    _pip("pyspark-3.5", "pyspark==3.5.9", "pyarrow==18.1.0"),
)
BY_NAME = {writer.name: writer for writer in WRITERS}
