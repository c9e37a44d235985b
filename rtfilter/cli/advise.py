"""`rtfilter advise`: which index or order would have paid for the queries of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rtfilter.cli.output import json_option, print_json
from rtfilter.cli.table_paths import table_paths

if TYPE_CHECKING:
    from rtfilter.advice.statistics.tables import TableStatistics


@click.command()
@click.option("--log", "logs", multiple=True, metavar="FILE", help="Lines of JSON with a statement in `sql`. May be repeated.")
@click.option("--sql", multiple=True, metavar="FILE", help="Statements of Spark SQL that end in semicolons. May be repeated.")
@click.option(
    "--event-log",
    "event_logs",
    multiple=True,
    metavar="DIR|FILE",
    help="An event log of Spark, or a folder of them. May be repeated.",
)
@click.option("--stats", multiple=True, metavar="FILE", help="What `rtfilter stats` has written. May be repeated.")
@click.option("--table", "tables", multiple=True, metavar="NAME=PATH", help="A Parquet table to look at now, in place of --stats.")
@click.option(
    "--strategy",
    type=click.Choice(("freq", "parser", "estimate")),
    default="estimate",
    show_default=True,
    help="freq counts queries; parser weighs conditions by distinct values; estimate counts what a set of columns saves together.",
)
@click.option("--budget", default="10%", show_default=True, help="Most bytes of indexes for a table, or a share of its bytes.")
@click.option("--min-calls", type=click.FloatRange(min=0), default=1, show_default=True, help="Leave out what came less often.")
@click.option("--min-ms", type=click.FloatRange(min=0), default=0, show_default=True, help="Leave out what took less in all.")
@click.option("--exclude", multiple=True, metavar="TABLE", help="A table that gets no advice. May be repeated.")
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, help="Most items.")
@click.option(
    "--selectivity-threshold",
    "threshold",
    type=click.FloatRange(min=1),
    default=1,
    show_default=True,
    help="freq, parser: the selectivity that a column must exceed.",
)
@click.option("--order", type=click.IntRange(min=1), default=2, show_default=True, help="parser: conditions of an AND that count.")
@click.option(
    "--min-gain",
    type=click.FloatRange(min=0, max=1),
    default=0.05,
    show_default=True,
    help="estimate: the share of the cost by which each larger set of columns must better it.",
)
@json_option
def advise(
    logs: tuple[str, ...],
    sql: tuple[str, ...],
    event_logs: tuple[str, ...],
    stats: tuple[str, ...],
    tables: tuple[str, ...],
    as_json: bool,
    **rest: Any,
) -> None:
    """Say which index or order would have paid for the queries of a log. Starts no Spark, and builds nothing.

    \b
    Example
      rtfilter stats sales=data/sales --out stats.json
      rtfilter advise --sql month.sql --stats stats.json
    """
    from rtfilter.advice.advise import Settings, advise_logs
    from rtfilter.advice.text import advice_text

    if not logs and not sql and not event_logs:
        raise click.UsageError("Missing option '--log', '--sql' or '--event-log': a file with queries.")
    if not stats and not tables:
        raise click.UsageError("Missing option '--stats' or '--table': what is known of the tables.")
    settings = Settings(**rest)
    advice = advise_logs(logs, sql, _known(stats, tables), settings, event_logs)
    if as_json:
        print_json(advice.to_dict())
    else:
        click.echo(advice_text(advice))


def _known(stats: tuple[str, ...], tables: tuple[str, ...]) -> dict[str, TableStatistics]:
    from rtfilter.advice.statistics.collect import collect
    from rtfilter.advice.statistics.tables import parse_statistics, read_statistics
    from rtfilter.errors import AdviceError

    found: dict[str, TableStatistics] = {}
    described = [(read_statistics(file), file) for file in dict.fromkeys(stats)]
    for name, path in table_paths(tables, remote=False, dotted=True).items():
        described.append((parse_statistics({"tables": {name: collect(name, path)}}, path), "--table"))
    for each, where in described:
        for name, table in each.items():
            if name.lower() in {known.lower() for known in found}:
                raise AdviceError(f"table {name!r} is described twice, the second time in {where}: leave one out.")
            found[name] = table
    return found
