"""`rtfilter calibrate`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtfilter.cli.failure import ENVIRONMENT_HELP
from rtfilter.cli.output import json_option, print_json

if TYPE_CHECKING:
    from planner.inputs.machine import Constants

LINE_EVERY_S = 5.0


@click.command(epilog=ENVIRONMENT_HELP)
@click.option("--master", default="local[*]", show_default=True, help="Spark master URL: that of the sessions that it is for.")
@click.option("--rows", type=click.IntRange(min=1_000), default=8_000_000, show_default=True, help="Rows of the largest table.")
@click.option(
    "--location",
    type=click.Path(path_type=Path, file_okay=False),
    help="A directory that driver and executors share, for tables that are removed afterwards.  [default: a temporary one]",
)
@click.option("--show", is_flag=True, help="Measure nothing: print the constants that are in use here for this master.")
@json_option
def calibrate(master: str, rows: int, location: Path | None, show: bool, as_json: bool) -> None:
    """Measure what reading, joining, shuffling and testing a row takes on this machine and master.

    Takes a minute or two on an idle machine. The figures are kept in the cache directory ($RTFILTER_CACHE, else
    rtfilter in $XDG_CACHE_HOME or ~/.cache) together with what they were measured on; applications that start later with the
    same processor, memory, Spark version and master decide by them which filters pay. Without them rtfilter uses defaults.
    """
    if show:
        _show(master, as_json)
        return
    from rtfilter.calibrate.run import calibrate as measure

    done = measure(master, rows, location, _teller())
    _print(done.constants, "measured", done.path, as_json)


def _show(master: str, as_json: bool) -> None:
    from planner.inputs.machine import DEFAULTS
    from rtfilter.calibrate.constants_file import read_calibration
    from rtfilter.calibrate.run import place_of

    fingerprint, path = place_of(master)
    found = read_calibration(fingerprint, path)
    _print(found or DEFAULTS, "measured" if found else "default", path, as_json)


def _print(constants: Constants, origin: str, path: Path, as_json: bool) -> None:
    if as_json:
        print_json({"origin": origin, "file": str(path), "constants": constants.to_dict()})
        return
    where = f"measured, kept in {path}" if origin == "measured" else f"defaults: there is no {path}"
    click.echo(where)
    for name, value in constants.to_dict().items():
        what, unit = name.rsplit("_", 1)
        click.echo(f"{what.replace('_', ' '):<14}{value:>12,.3f} {unit}")


def _teller() -> Callable[[str, int, int], None]:
    """Progress on stderr: a bar on a terminal, a line now and then elsewhere."""
    last_s = 0.0

    def tell(what: str, done: int, total: int) -> None:
        nonlocal last_s
        text = f"{what}, {done}/{total}" if total else f"{what} …"
        if sys.stderr.isatty():
            click.echo(f"\r{text:<60}", nl=bool(total) and done == total, err=True)
        elif not total or done == total or time.monotonic() - last_s >= LINE_EVERY_S:
            last_s = time.monotonic()
            click.echo(text, err=True)

    return tell
