"""`rtfilter bench matrix`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtfilter.cli.failure import EXIT_RESULTS_DIFFER
from rtfilter.cli.output import json_option, names_in, print_json, tell_what_went_wrong
from rtfilter.errors import BenchError

if TYPE_CHECKING:
    from rtfilter.bench.matrix_benchmark import MatrixPlan, MatrixResult

WIDEST_TABLE = 200


@click.command("matrix")
@click.option("--sf", type=float, default=1.0, show_default=True, help="Scale factor of the generated data (1: about 1 GB).")
@click.option("--layout", help="Order of the rows in the files.  [default: clustered]")
@click.option("--dop", "dops", default="1,2", show_default=True, help="Comma-separated degrees of parallelism: threads of Spark.")
@click.option(
    "--builds",
    default="small,large",
    show_default=True,
    help="What builds: small (item by its key), attr (item by another column), large (inventory).",
)
@click.option("--p", "selectivities", default="", help="Comma-separated selectivities, such as 1.0,0.001.  [default: all seven]")
@click.option("--runs", type=click.IntRange(min=1), default=5, show_default=True, help="Measured runs of each cell, in turns.")
@click.option("--warmup", type=click.IntRange(min=1), default=1, show_default=True, help="Runs before those, not measured.")
@click.option("--data", help="Directory that keeps generated data.  [default: $RTFILTER_DATA, else ~/.cache/rtfilter/data]")
@click.option("--out", type=click.Path(path_type=Path), default="out", show_default=True, help="For matrix.json.")
@json_option
def matrix(as_json: bool, **options: Any) -> None:
    """The micro-benchmark of the seed in full.

    Seven selectivities, each with I/O and pruning (the tables' files are dropped from the page cache before every run), from memory
    with pruning, and from memory without it (filters drop rows only); with the small and with the large side as build side; with
    one thread and with two. Prints a table for each build side and number of threads, and writes OUT/matrix.json.
    """
    from rtfilter.bench.matrix_benchmark import run_matrix
    from rtfilter.bench.run.progress import BenchProgress

    plan = _plan(**options)
    with BenchProgress() as progress:
        result = run_matrix(plan, progress)
    _print(result, as_json)
    if result.failures or result.mismatches:
        raise SystemExit(EXIT_RESULTS_DIFFER)


def _plan(
    sf: float,
    layout: str | None,
    dops: str,
    builds: str,
    selectivities: str,
    runs: int,
    warmup: int,
    data: str | None,
    out: Path,
) -> MatrixPlan:
    from rtfilter.bench.figures.matrix import FAMILY_OF_BUILD
    from rtfilter.bench.matrix_benchmark import MatrixPlan
    from rtfilter.bench.suites.data_cache import data_directory

    if not (math.isfinite(sf) and sf > 0):
        raise BenchError(f"--sf is {sf:g}; it must be a number above 0, such as 0.1, 1 or 10.")
    threads = names_in(dops)
    if not threads or not all(each.isdecimal() and int(each) > 0 for each in threads):
        raise BenchError(f"--dop is {dops!r}; it must be whole numbers above 0, such as 1,2.")
    sides = names_in(builds)
    if not sides or not set(sides) <= set(FAMILY_OF_BUILD):
        raise BenchError(f"--builds is {builds!r}; it must be some of {', '.join(FAMILY_OF_BUILD)}.")
    return MatrixPlan(
        sf=sf,
        layout=layout,
        dops=tuple(dict.fromkeys(map(int, threads))),
        builds=sides,
        selectivities=names_in(selectivities),
        runs=runs,
        warmup=warmup,
        data=data_directory(data),
        out=out.absolute(),
    )


def _print(result: MatrixResult, as_json: bool) -> None:
    from rich.console import Console

    from rtfilter.bench.pages.matrix_table import matrix_tables

    if as_json:
        print_json(result.to_dict())
    else:
        console = Console(width=max(Console().width, WIDEST_TABLE))
        for table in matrix_tables(result.cells):
            console.print(table)
        console.print(f"{result.plan.out / 'matrix.json'}", markup=False, highlight=False, soft_wrap=True)
    tell_what_went_wrong(result.mismatches, result.failures)
