"""`rtfilter index`: create, list, show, refresh, optimize, delete, restore, vacuum, cancel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from planner.counted import counted
from rtfilter.cli.build_session import build_progress
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
    from rtfilter.index import Index
    from rtfilter.store.index_actions.build import BuildReport
    from rtfilter.store.sketches.kinds import Sketch

_COMMAND = "rtfilter index"


@click.group("index")
def index() -> None:
    """Make and keep indexes of Parquet tables: with them joins skip row groups that footers can't rule out.

    PATH is a table's directory or file. An index lives in `_rtfilter` inside it, or in --location. Where either has a scheme,
    such as s3a: or hdfs:, a Spark session reaches it, with Spark's own configuration (SPARK_CONF_DIR).
    """


def master_option(command: Command) -> Command:
    """`--master`: builds by a Spark job."""
    text = "Spark master whose tasks read tables from 256 MB on, such as local[*], which is the default for a path with a scheme. "
    text += "Without it, and for less, threads of this process."
    return click.option("--master", metavar="URL", help=text)(command)


@index.command()
@place_options
@click.option(
    "--minmax", "min_max", multiple=True, metavar="COLUMN", help="Lowest and highest value. May be repeated, as all of these."
)
@click.option("--bloom", multiple=True, metavar="COLUMN", help="Bloom filter: for keys that are spread out.")
@click.option("--cmap", multiple=True, metavar="COLUMN", help="Character map: for strings, codes above all.")
@click.option("--value-set", multiple=True, metavar="COLUMN", help="All values of packs that have few.")
@click.option("--histogram", multiple=True, metavar="COLUMN", help="1,024 bits over the span: for numbers with gaps.")
@click.option("--fpp", type=float, default=0.01, show_default=True, help="False-positive probability of the bloom filters.")
@click.option("--max-values", type=int, default=256, show_default=True, help="Largest value set.")
@master_option
def create(
    path: str, name: str, location: str, as_json: bool, fpp: float, max_values: int, master: str | None, **columns: Sequence[str]
) -> None:
    """Build an index of the table in PATH.

    \b
    Example
      rtfilter index create data/sales --name keys --minmax s_date --bloom s_customer --cmap s_code
    """
    from rtfilter.index import Index

    if not any(columns.values()):
        raise click.UsageError(
            "name what the index is to hold: --minmax, --bloom, --cmap, --value-set or --histogram with a column."
        )
    with session_for(_COMMAND, path, location, master) as spark, build_progress() as tell:
        made = Index.create(spark, path, _sketches(columns, fpp, max_values), name=name, location=location, tell=tell)
    _print_build(made, made.last_build, as_json)


@index.command("list")
@click.argument("path")
@location_option
@json_option
def list_(path: str, location: str, as_json: bool) -> None:
    """List the indexes of the table in PATH."""
    from rtfilter.index.find import indexes_in

    with session_for(_COMMAND, path, location) as spark:
        found = [each.stats() for each in indexes_in(path, location, spark)]
    print_list(found, "no index", _listed, as_json)


def _listed(stats: Mapping[str, Any]) -> str:
    sketches = ", ".join(f"{each['kind']}({each['column']})" for each in stats["sketches"])
    return f"{stats['packs']} packs  {stats['bytes']} bytes  {sketches}"


@index.command()
@place_options
def show(path: str, name: str, location: str, as_json: bool) -> None:
    """Show an index: state, sizes, and how many files of the table it knows as they are now."""
    with _loaded(path, name, location) as loaded:
        _print_stats(loaded, as_json)


@index.command()
@place_options
@click.option("--mode", type=click.Choice(["full", "incremental", "quick"]), default="incremental", show_default=True)
@master_option
def refresh(path: str, name: str, location: str, as_json: bool, mode: str, master: str | None) -> None:
    """Bring an index up to its table.

    incremental reads new and changed files; full reads all; quick reads none, drops what is gone and notes what is new.
    """
    from rtfilter.index import Index

    with session_for(_COMMAND, path, location, master) as spark, build_progress() as tell:
        loaded = Index.load(spark, path, name, location=location)
        report = loaded.refresh(mode, tell=tell)
    _print_build(loaded, report, as_json)


@index.command()
@place_options
@click.option("--mode", type=click.Choice(["quick", "full"]), default="quick", show_default=True)
def optimize(path: str, name: str, location: str, as_json: bool, mode: str) -> None:
    """Merge what refreshes have added: quick takes small parts only, full all."""
    with _loaded(path, name, location) as loaded:
        print_done(loaded, {"segments": loaded.optimize(mode)}, as_json)


@contextmanager
def _loaded(path: str, name: str, location: str) -> Iterator[Index]:
    from rtfilter.index import Index

    with session_for(_COMMAND, path, location) as spark:
        yield Index.load(spark, path, name, location=location)


add_life_commands(index, "an index", _loaded)


def _sketches(columns: dict[str, Sequence[str]], fpp: float, max_values: int) -> list[Sketch]:
    from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, MinMax, ValueSet

    return [
        *(MinMax(column) for column in columns["min_max"]),
        *(Bloom(column, fpp) for column in columns["bloom"]),
        *(CMap(column) for column in columns["cmap"]),
        *(ValueSet(column, max_values) for column in columns["value_set"]),
        *(Histogram(column) for column in columns["histogram"]),
    ]


def _print_build(built: Index, report: BuildReport | None, as_json: bool) -> None:
    said = {} if report is None else report.to_dict()
    print_done(built, said, as_json)
    if report is None:
        return
    for path, problem in report.problems:
        click.echo(f"rtfilter: {path} is not indexed: {problem}", err=True)
    for each in report.not_held:
        where = f"{each.files} of {counted(report.files, 'file')}"
        click.echo(f"rtfilter: the column {each.column!r} is not indexed in {where}: {each.reason}", err=True)


def _print_stats(shown: Index, as_json: bool) -> None:
    stats = shown.stats()
    if as_json:
        print_json(stats)
        return
    for key, value in stats.items():
        if key != "sketches":
            click.echo(f"{key.replace('_', ' ')}: {value}")
    for each in stats.get("sketches", ()):
        click.echo(f"  {each['kind']}({each['column']} {each['type']}): {each['bytes']} bytes")
