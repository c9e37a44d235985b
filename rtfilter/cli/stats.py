"""`rtfilter stats`: a file of statistics for `rtfilter advise`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from rtfilter.cli.output import json_option, print_json, working
from rtfilter.cli.table_paths import table_paths


@click.command()
@click.argument("tables", nargs=-1, required=True, metavar="NAME=PATH...")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="The file to write or replace.",
)
@click.option(
    "--sample-rows",
    type=click.IntRange(min=1),
    default=4_000_000,
    show_default=True,
    help="Rows of each table whose values are looked at, in whole row groups spread over it.",
)
@json_option
def stats(tables: tuple[str, ...], out: Path, sample_rows: int, as_json: bool) -> None:
    """Describe Parquet tables for `rtfilter advise`: rows, bytes, distinct values, and in which order values lie.

    Reads the footers of all files and the values of a sample. Starts no Spark. No value of a table is written to the file.

    \b
    Example
      rtfilter stats sales=data/sales item=data/item.parquet --out stats.json
    """
    from rtfilter.advice.statistics.collect import collect
    from rtfilter.errors import AdviceError

    found = {}
    for name, path in table_paths(tables, remote=False, dotted=True, hint=None).items():
        with working(f"looks at {name}"):
            found[name] = collect(name, path, sample_rows)
    text = json.dumps({"tables": found}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    whole = out.with_name(f"{out.name}.{os.getpid()}")
    try:
        whole.write_text(text, encoding="utf-8")
        os.replace(whole, out)
    except OSError as error:
        whole.unlink(missing_ok=True)
        raise AdviceError(f"{out}: can't be written: {error.strerror or error}") from error
    if as_json:
        print_json({"out": str(out), "tables": found})
        return
    for name, table in found.items():
        click.echo(f"{name}: {table['rows']} rows, {table['packs']} row groups, {len(table['columns'])} columns", nl=False)
        click.echo(f"; left out: {', '.join(table['left_out'])}" if table["left_out"] else "")
    click.echo(out)
