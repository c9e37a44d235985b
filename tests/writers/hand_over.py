"""Has a writer of the catalogue write an Arrow table: `write("polars", table, folder, pack_rows)`.

python -m tests.writers.hand_over WRITER TABLE.parquet FOLDER --pack-rows 100
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.writers.catalogue import BY_NAME, Source, Writer
from tests.writers.make_environment import environment_of, is_installed, python_of

_DIGITS = Context(prec=60)
PROGRAMS = Path(__file__).parent / "programs"
TIMEOUT_S = 120


class WriterMissingError(Exception):
    """The writer is not installed; make_environment.py installs it."""


class WriterFailedError(Exception):
    """The writer ended with an error; the message has its last words."""


@dataclass(frozen=True, slots=True)
class Written:
    """The files in the order of their rows where the writer keeps one, and why it left a column out."""

    files: tuple[Path, ...]
    without: dict[str, str]


def write(name: str, table: pa.Table, folder: Path, pack_rows: int) -> Written:
    """Has writer `name` write `table` into the new or empty `folder`, in packs of about `pack_rows` rows.

    Types: int32, int64, float, double, bool, string, binary, date32, timestamp('us') with UTC or without a zone, decimal128. A type
    that a writer does not have costs the column, which `Written.without` names. Where a writer has no say over the size of a pack
    each pack is a file. Raises WriterMissingError, WriterFailedError.
    """
    writer = BY_NAME[name]
    if not is_installed(writer):
        raise WriterMissingError(f"{name} is not installed: python tests/writers/make_environment.py {name}")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as given:
        source = _handed_over(table, Path(given), writer)
        ended = subprocess.run(
            [*_interpreter(writer), str(PROGRAMS / writer.program), name, str(source), str(folder.resolve()), str(pack_rows)],
            cwd=given if writer.source is Source.OWN else environment_of(writer),
            env={key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "SPARK_HOME", "PYSPARK_PYTHON")},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    if ended.returncode != 0:
        raise WriterFailedError(f"{name}: {(ended.stderr or ended.stdout).strip()[-2000:]}")
    for other in folder.rglob("*"):
        if other.is_file() and (other.suffix != ".parquet" or other.name.startswith((".", "_"))):
            other.unlink()
    without = (line.removeprefix("without ").split(": ", 1) for line in ended.stdout.splitlines() if line.startswith("without "))
    return Written(tuple(sorted(folder.rglob("*.parquet"))), {column: reason for column, reason in without})


def _interpreter(writer: Writer) -> list[str]:
    return ["node"] if writer.source is Source.NPM else [str(python_of(writer))]


def _handed_over(table: pa.Table, folder: Path, writer: Writer) -> Path:
    """The table in the form that this writer's program reads."""
    if writer.source is Source.NPM:
        with pa.OSFile(str(folder / "table.stream"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
        (folder / "table.json").write_text(json.dumps([_as_text(table, name) for name in table.column_names]))
        return folder / "table.json"
    pq.write_table(table, folder / "table.parquet")
    with pa.OSFile(str(folder / "table.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as stream:
        stream.write_table(table)
    return folder / "table.arrow"


def _as_text(table: pa.Table, name: str) -> dict[str, Any]:
    """A column for JSON: its kind and each value as text, decimals unscaled, days and microseconds since 1970."""
    column = table.column(name)
    type = column.type
    kind, text = _kind(type)
    facts = {"precision": type.precision, "scale": type.scale} if kind == "decimal" else {}
    stored = column.cast(pa.int64()) if kind == "timestamp" else column.cast(pa.int32()) if kind == "date" else column
    return {"name": name, "type": kind, **facts, "values": [None if each is None else text(each) for each in stored.to_pylist()]}


def _kind(type: pa.DataType) -> tuple[str, Callable[[Any], str]]:
    if pa.types.is_decimal(type):
        return "decimal", lambda value: str(int(value.scaleb(type.scale, _DIGITS)))
    if pa.types.is_timestamp(type):
        return "timestamp", str
    if pa.types.is_date32(type):
        return "date", str
    if pa.types.is_binary(type):
        return "binary", bytes.hex
    if pa.types.is_boolean(type):
        return "bool", lambda value: "true" if value else "false"
    if pa.types.is_floating(type):
        return str(type), lambda value: "nan" if math.isnan(value) else repr(value)
    return str(type), str


def main() -> None:
    parser = argparse.ArgumentParser(description="Has a Parquet writer write a table that stands in a Parquet file.")
    parser.add_argument("writer", choices=sorted(BY_NAME))
    parser.add_argument("table", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pack-rows", type=int, default=1000)
    options = parser.parse_args()
    written = write(options.writer, pq.read_table(options.table), options.folder, options.pack_rows)
    for column, reason in written.without.items():
        print(f"without {column}: {reason}")
    for file in written.files:
        print(file)


if __name__ == "__main__":
    main()
