"""`rtfilter bench compare`."""

from __future__ import annotations

from pathlib import Path

import click

from rtfilter.cli.output import json_option, print_json


@click.command("compare")
@click.argument("before", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("after", type=click.Path(path_type=Path, dir_okay=False))
@json_option
def compare(before: Path, after: Path, as_json: bool) -> None:
    """Hold two result.json of one suite against each other, query by query, the largest loss first.

    "runs overlap" stands where some run of the slower one was faster than some run of the other: such a difference may be chance.
    """
    from rtfilter.bench.pages.comparison import compare_files, comparison_table

    comparison = compare_files(before, after)
    if as_json:
        print_json(comparison.to_dict())
        return
    from rich.console import Console

    notes = {"differ in": comparison.unequal, "only before": comparison.only_before, "only after": comparison.only_after}
    for title, lines in notes.items():
        if lines:
            click.echo(f"{title}: {', '.join(lines)}")
    table = comparison_table(comparison)
    console = Console(width=max(Console().width, Console(width=400).measure(table).maximum))
    console.print(table)
