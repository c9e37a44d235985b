"""`rtfilter advise`: which index or order would have paid for the queries of a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtfilter.cli.build_session import build_progress, local_session
from rtfilter.cli.output import json_option, print_json
from rtfilter.cli.table_paths import table_paths

if TYPE_CHECKING:
    from rtfilter.advice.advise import Advice
    from rtfilter.advisor.apply import Applied
    from rtfilter.advisor.check import Checked


@click.command()
@click.option(
    "--log",
    "logs",
    multiple=True,
    metavar="FILE",
    help="rtfilter's query log, or lines of JSON with a statement in `sql`. May be repeated.",
)
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
@click.option(
    "--sample-packs",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    help="Most row groups of a --table that are tried.",
)
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
@click.option("--apply", "only", multiple=True, metavar="ID", help="Build this item: its id or its rank. May be repeated.")
@click.option("--to", metavar="PATH", help="--apply of a cluster_by: where the sorted copy goes. Nothing may be there yet.")
@click.option("--html", "page", type=click.Path(dir_okay=False, writable=True), metavar="FILE", help="Write a page too.")
@click.option("--check", is_flag=True, help="Say instead whether the tables' indexes have paid since they were built, by --log.")
@json_option
def advise(
    logs: tuple[str, ...],
    sql: tuple[str, ...],
    event_logs: tuple[str, ...],
    stats: tuple[str, ...],
    tables: tuple[str, ...],
    only: tuple[str, ...],
    to: str | None,
    page: str | None,
    check: bool,
    as_json: bool,
    **rest: Any,
) -> None:
    """Say which index or order would have paid for the queries of a log. Without --apply it builds nothing.

    \b
    Example
      rtfilter stats sales=data/sales --out stats.json
      rtfilter advise --sql month.sql --stats stats.json
      rtfilter advise --sql month.sql --stats stats.json --apply 1
    """
    from rtfilter.advice.advise import Settings, advise_logs
    from rtfilter.advisor.advise import known_tables
    from rtfilter.advisor.check import check_indexes
    from rtfilter.advisor.page import advice_page
    from rtfilter.advisor.text import advice_text

    _require_sensible(bool(logs), bool(logs or sql or event_logs), bool(stats or tables), bool(only), to, check)
    settings = Settings(**rest)
    described = table_paths(tables, remote=False, dotted=True)
    known = known_tables(described, stats)
    if check:
        _print_check(check_indexes(logs, known), as_json)
        return
    paths = {name: table.path for name, table in known.items() if table.path}
    advice = advise_logs(logs, sql, known, settings, event_logs, at_hand=described)
    if page is not None:
        Path(page).write_text(advice_page(advice), encoding="utf-8")
    if not as_json:
        click.echo(advice_text(advice))
    applied = _applied(advice, only, paths, to) if only else []
    if as_json:
        print_json({**advice.to_dict(), **({"applied": [asdict(each) for each in applied]} if only else {})})
        return
    for each in applied:
        click.echo(f"{each.rank}. [{each.id}] {each.done}")


def _require_sensible(has_logs: bool, has_queries: bool, has_tables: bool, applies: bool, to: str | None, check: bool) -> None:
    if not has_queries:
        raise click.UsageError("Missing option '--log', '--sql' or '--event-log': a file with queries.")
    if not has_tables:
        raise click.UsageError("Missing option '--stats' or '--table': what is known of the tables.")
    if to is not None and not applies:
        raise click.UsageError("--to is for --apply: name the item of kind cluster_by.")
    if check and (not has_logs or applies):
        raise click.UsageError("--check needs --log, rtfilter's own query log, and does not go with --apply.")


def _print_check(checked: Checked, as_json: bool) -> None:
    if as_json:
        print_json(checked.to_dict())
    else:
        click.echo(str(checked))


def _applied(advice: Advice, only: Sequence[str], paths: Mapping[str, str], to: str | None) -> list[Applied]:
    from rtfilter.advisor.apply import apply_items, chosen_items

    chosen_items(advice.items, only)
    with build_progress() as tell:
        if to is None:
            return apply_items(None, advice.items, only, paths, to, tell)
        with local_session("rtfilter advise", "local[*]", with_layer=False) as spark:
            return apply_items(spark, advice.items, only, paths, to, tell)
