"""`rtfilter estimate`: what runtime filters would have gained an application that ran without them."""

from __future__ import annotations

import click

from rtfilter.cli.output import json_option, print_json, working
from rtfilter.cli.table_paths import table_paths


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="EVENTLOG...")
@click.option(
    "--table", "tables", multiple=True, metavar="NAME=PATH", help="Where a table of the log is on this machine. May be repeated."
)
@json_option
def estimate(logs: tuple[str, ...], tables: tuple[str, ...], as_json: bool) -> None:
    """Say which joins of an application would gain, and by how much, from its event log. Starts no Spark, and changes nothing.

    An event log is what Spark writes where spark.eventLog.enabled is true: a file, or a folder of them.

    \b
    Example
      rtfilter estimate /var/spark-events/app-1 --table sales=data/sales
    """
    from rtfilter.estimate.estimate import estimate_logs
    from rtfilter.estimate.text import estimate_text

    with working("reads the event log"):
        found = estimate_logs(logs, table_paths(tables, remote=False, dotted=True))
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(estimate_text(found))
