"""`rtfilter startree`: create, list, show, refresh, optimize, delete, restore, vacuum, cancel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rtfilter.cli.output import json_option, print_json
from rtfilter.cli.stored_commands import (
    Command,
    add_life_commands,
    location_option,
    place_options,
    print_done,
    print_list,
    session_for,
)

if TYPE_CHECKING:
    from rtfilter.index.star_tree_api import StarTree

_COMMAND = "rtfilter startree"
# A comma inside of parentheses belongs to a column's name.
_MEASURE = re.compile(r"[^,(]+(?:\([^)]*\))?[^,]*")


@click.group("startree")
def startree() -> None:
    """Make and keep star-trees of Parquet tables: rows aggregated by some dimensions, which answer aggregates of queries.

    PATH is a table's directory or file. A star-tree lives in `_rtfilter` inside it, or in --location. Where either has a scheme,
    such as s3a: or hdfs:, a Spark session reaches it, with Spark's own configuration (SPARK_CONF_DIR).
    """


def master_option(command: Command) -> Command:
    """`--master`: whose session groups the rows."""
    text = "Spark master that groups the table's rows. Default: local[*] for tables from 256 MB on, for those with partition "
    text += "columns and for a path with a scheme; else this process."
    return click.option("--master", metavar="URL", help=text)(command)


@startree.command()
@place_options
@click.option("--dimensions", required=True, metavar="A,B,C", help="Columns to group by, those with many values first.")
@click.option("--measures", required=True, metavar="LIST", help='Such as "count(*),sum(price),avg(price),min(day)".')
@click.option("--max-leaf", type=int, default=10_000, show_default=True, help="Most rows that are read one by one.")
@click.option("--no-star", default="", metavar="A,B", help="Dimensions that every query names: their values are not summed up.")
@click.option(
    "--max-rows", default="10%", show_default=True, help="Share of the table's rows, or number: a larger tree is refused."
)
@click.option("--dry-run", is_flag=True, help="Say how large it would be, and store nothing.")
@master_option
def create(
    path: str,
    name: str,
    location: str,
    as_json: bool,
    dimensions: str,
    measures: str,
    max_leaf: int,
    no_star: str,
    max_rows: str,
    dry_run: bool,
    master: str | None,
) -> None:
    """Build a star-tree of the table in PATH.

    \b
    Example
      rtfilter startree create data/sales --name cube --dimensions s_date,s_store --measures "count(*),sum(s_price)"
    """
    from rtfilter.index.star_tree_api import StarTree

    wanted: dict[str, Any] = {
        "name": name,
        "max_leaf": max_leaf,
        "no_star": _names(no_star),
        "max_rows": max_rows,
        "location": location,
    }
    with _session(path, location, master) as spark, _progress() as say:
        if dry_run:
            estimate = StarTree.create(spark, path, _names(dimensions), _measures(measures), dry_run=True, say=say, **wanted)
        else:
            made = StarTree.create(spark, path, _names(dimensions), _measures(measures), say=say, **wanted)
    if not dry_run:
        print_done(made, {} if made.last_build is None else made.last_build.to_dict(), as_json)
    elif as_json:
        print_json(estimate.to_dict())
    else:
        click.echo(str(estimate))


@startree.command("list")
@click.argument("path")
@location_option
@json_option
def list_(path: str, location: str, as_json: bool) -> None:
    """List the star-trees of the table in PATH."""
    from rtfilter.index.find import star_trees_in

    with session_for(_COMMAND, path, location) as spark:
        found = [each.stats() for each in star_trees_in(path, location, spark)]
    print_list(found, "no star-tree", _listed, as_json)


def _listed(stats: Mapping[str, Any]) -> str:
    what = f"{', '.join(stats['measures'])} by {', '.join(stats['dimensions'])}"
    return f"{stats['rows']} rows  {stats['bytes']} bytes  {what}"


@startree.command()
@place_options
def show(path: str, name: str, location: str, as_json: bool) -> None:
    """Show a star-tree: state, sizes, and how many files of the table it covers as they are now."""
    with _loaded(path, name, location) as loaded:
        stats = loaded.stats()
    if as_json:
        print_json(stats)
        return
    for key, value in stats.items():
        click.echo(f"{key.replace('_', ' ')}: {', '.join(map(str, value)) if isinstance(value, list) else value}")


@startree.command()
@place_options
@click.option("--mode", type=click.Choice(["incremental", "full"]), default="incremental", show_default=True)
@master_option
def refresh(path: str, name: str, location: str, as_json: bool, mode: str, master: str | None) -> None:
    """Bring a star-tree up to its table: incremental reads new and changed files; full reads all."""
    with _loaded(path, name, location, master, groups=True) as loaded, _progress() as say:
        report = loaded.refresh(mode, say=say)
    print_done(loaded, report.to_dict(), as_json)


@startree.command()
@place_options
def optimize(path: str, name: str, location: str, as_json: bool) -> None:
    """Merge what refreshes have added."""
    with _loaded(path, name, location) as loaded, _progress() as say:
        segments = loaded.optimize(say=say)
    print_done(loaded, {"segments": segments}, as_json)


@contextmanager
def _loaded(path: str, name: str, location: str, master: str | None = None, groups: bool = False) -> Iterator[StarTree]:
    """A star-tree; `groups`: with a session where rows are grouped by one."""
    from rtfilter.index.star_tree_api import StarTree

    with _session(path, location, master) if groups else session_for(_COMMAND, path, location, master) as spark:
        yield StarTree.load(spark, path, name, location=location)


add_life_commands(startree, "a star-tree", _loaded, kept=" and that an hour ago nothing needed either")


@contextmanager
def _session(path: str, location: str, master: str | None) -> Iterator[Any]:
    """A Spark session where one is asked for, or is the better reader of the table; else None."""
    from rtfilter.index.api import SPARK_JOB_FROM_BYTES
    from rtfilter.index.tables import partition_columns
    from rtfilter.store.index_actions.listing import list_directory
    from rtfilter.store.parquet.paths import is_remote

    if master is None and not is_remote(path):
        table = list_directory(path)
        if table.bytes >= SPARK_JOB_FROM_BYTES or partition_columns(table):
            master = "local[*]"
    with session_for(_COMMAND, path, location, master) as spark:
        yield spark


@contextmanager
def _progress() -> Iterator[Any]:
    """Steps on stderr, now and then a line where it is no terminal."""
    from rtfilter.bench.run.progress import BenchProgress

    with BenchProgress() as bar:
        yield bar.say


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _measures(text: str) -> list[str]:
    return [found.strip() for found in _MEASURE.findall(text) if found.strip()]
