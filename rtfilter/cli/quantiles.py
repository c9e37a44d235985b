"""`rtfilter quantiles`: how much queries looked at and how long they took."""

from __future__ import annotations

from typing import Any

import click

from rtfilter.cli.output import json_option, print_json


@click.command()
@click.option("--log", "logs", multiple=True, required=True, metavar="FILE", help="Lines of JSON, as for advise. May be repeated.")
@json_option
def quantiles(logs: tuple[str, ...], as_json: bool) -> None:
    """Show how many values the queries of a log looked at, how long they took, and what conditions cost at most.

    The last is a fit of ms to values, which is shown only where it explains more than 0.7 of the times (R²).
    """
    from rtfilter.advice.logs.quantiles import quantiles as found_in

    found = found_in(logs)
    if as_json:
        print_json(found)
        return
    click.echo("      values looked at            ms   at most for conditions, ms")
    most = found["maximum_optimisation_ms"]
    for percent in found["rows"]:
        told = most if isinstance(most, str) else f"{most[percent]:,.1f}"
        click.echo(f"{percent:>3}%  {_number(found['rows'][percent]):>16}  {_number(found['ms'][percent]):>12}   {told}")
    if found["fit"] is not None:
        click.echo(f"R² {found['fit']['r2']:.3f}: {found['fit']['alpha']:.3g} ms a value looked at")
    click.echo(f"Read {found['queries']:,} queries.")
    for reason, skipped in found["skipped"].items():
        click.echo(f"   skipped {skipped['count']}: {reason} ({', '.join(skipped['first'])})")


def _number(value: Any) -> str:
    return "unknown" if value is None else f"{value:,.1f}"
