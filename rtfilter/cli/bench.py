"""`rtfilter bench`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtfilter.cli.bench_compare import compare
from rtfilter.cli.bench_matrix import matrix
from rtfilter.cli.failure import EXIT_RESULTS_DIFFER
from rtfilter.cli.output import json_option, names_in, print_json, tell_what_went_wrong
from rtfilter.errors import BenchError

WIDEST_TABLE = 400

if TYPE_CHECKING:
    from rtfilter.bench.benchmark import Plan
    from rtfilter.bench.figures.result import Result


@click.group(
    invoke_without_command=True,
    epilog="Exit status: 0 all results equal; 1 a mode's result differs from the others, or a query failed; "
    "2 arguments or data that cannot be used; "
    "3 the machine lacks something, see `rtfilter doctor`.",
)
@click.option(
    "--suite",
    "suite_name",
    help="Suite, such as imci-micro (an unknown name lists all), or the path of a suite.toml or its folder.",
)
@click.option("--sf", type=float, help="Scale factor of the generated data (1: about 1 GB).  [default: 1]")
@click.option("--zipf", type=float, help="Skew of the data, for suites that have skewed data.")
@click.option("--queries", default="", help="Comma-separated query ids or patterns, such as 'p=0.001,attr*'; all when left out.")
@click.option("--runs", type=click.IntRange(min=1), default=5, show_default=True, help="Measured runs of each query in each mode.")
@click.option("--warmup", type=click.IntRange(min=0), default=1, show_default=True, help="Runs before those, not measured.")
@click.option(
    "--modes",
    default="off,rtfilter,duckdb",
    show_default=True,
    help="Comma-separated: off (Spark with its defaults), off-again (the same once more: what differs is noise), spark (its "
    "own bloom filters and dynamic partition pruning at thresholds 0), rtfilter (which learns from a query's earlier runs), "
    "rtfilter-first (which does not), rtfilter-rows (without skipping packs), rtfilter-always and rtfilter-never (with "
    "rtfilter.cost so), duckdb (the same query in DuckDB, also the judge of the results).",
)
@click.option("--layout", help="Order of the rows in the files; the suite's default when left out.")
@click.option("--pack-rows", type=click.IntRange(min=1), help="Rows of a pack (row group).  [default: the suite's, mostly 65536]")
@click.option("--files", type=click.IntRange(min=1), help="Files of each large table.  [default: the suite's]")
@click.option(
    "--timeout", "timeout_s", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Limit of a single run."
)
@click.option("--data", help="Directory that keeps generated data.  [default: $RTFILTER_DATA, else ~/.cache/rtfilter/data]")
@click.option("--out", type=click.Path(path_type=Path), default="out", show_default=True, help="For result.json and report.html.")
@click.option("--master", default="local[*]", show_default=True, help="Spark master URL.")
@click.option("--broadcast-threshold", type=int, metavar="BYTES", help="Spark's autoBroadcastJoinThreshold; -1: none.")
@json_option
@click.pass_context
def bench(ctx: click.Context, /, as_json: bool, **options: Any) -> None:
    """Measure what runtime filters do for a set of queries.

    Makes the suite's data when it is not there yet (from DuckDB's generators, nothing is downloaded), runs every query in
    every mode, the modes taking turns, compares the results, and writes OUT/result.json and OUT/report.html.

    \b
    Example: the micro-benchmark, small
      rtfilter bench --suite imci-micro --sf 0.1 --runs 3

    A run that was killed goes on where it was when it is started again with the same options.
    """
    if ctx.invoked_subcommand is not None:
        return
    if options["suite_name"] is None:
        raise click.UsageError("Missing option '--suite'.", ctx)
    from rtfilter.bench.benchmark import run_benchmark
    from rtfilter.bench.run.progress import BenchProgress

    plan = _plan(Options(**options))
    with BenchProgress() as progress:
        result = run_benchmark(plan, progress)
    _print(result, plan, as_json)
    if result.mismatches or result.failures:
        raise SystemExit(EXIT_RESULTS_DIFFER)


bench.add_command(compare)
bench.add_command(matrix)


@dataclass(frozen=True)
class Options:
    """The options of the command line as click gives them."""

    suite_name: str
    sf: float | None
    zipf: float | None
    queries: str
    runs: int
    warmup: int
    modes: str
    layout: str | None
    pack_rows: int | None
    files: int | None
    data: str | None
    out: Path
    master: str
    broadcast_threshold: int | None
    timeout_s: float | None


def _plan(options: Options) -> Plan:
    from rtfilter.bench.benchmark import Plan
    from rtfilter.bench.engines.modes import parse_modes
    from rtfilter.bench.figures.result import Settings
    from rtfilter.bench.suites.data_cache import data_directory
    from rtfilter.bench.suites.suite import choose_layout, load_suite, select_query_ids
    from rtfilter.bench.suites.suite_file import read_suite, suite_file

    if options.sf is not None and not (math.isfinite(options.sf) and options.sf > 0):
        raise BenchError(f"--sf is {options.sf:g}; it must be a number above 0, such as 0.1, 1 or 10.")
    own = suite_file(options.suite_name)
    suite = load_suite(options.suite_name) if own is None else read_suite(own)
    given = options.broadcast_threshold
    settings = Settings(
        suite=suite.name,
        sf=1.0 if options.sf is None and suite.scales else options.sf,
        zipf=suite.default_zipf if options.zipf is None else options.zipf,
        layout=choose_layout(suite, options.layout),
        modes=parse_modes(names_in(options.modes)),
        runs=options.runs,
        warmup=options.warmup,
        pack_rows=options.pack_rows,
        files=options.files,
        timeout_s=options.timeout_s,
        broadcast_threshold_bytes=suite.broadcast_threshold_bytes if given is None else given,
        master=options.master,
    )
    if options.queries and not names_in(options.queries):
        raise BenchError(f"--queries is {options.queries!r}, which names no query. Leave it out for all of them.")
    query_ids = select_query_ids(suite.query_ids, names_in(options.queries))
    return Plan(suite, settings, query_ids, data_directory(options.data), options.out.absolute())


def _print(result: Result, plan: Plan, as_json: bool) -> None:
    from rich.console import Console

    from rtfilter.bench.pages.result_table import result_table, result_title

    if as_json:
        print_json(result.to_dict())
    else:
        table = result_table(result)
        # Figures cut off by a narrow terminal, or by the 80 columns that a log file has, would be no figures.
        console = Console(width=max(Console().width, Console(width=WIDEST_TABLE).measure(table).maximum))
        console.print(result_title(result), markup=False, highlight=False)
        console.print(table)
        console.print(f"{plan.out / 'report.html'}\n{plan.out / 'result.json'}", markup=False, highlight=False, soft_wrap=True)
    tell_what_went_wrong(result.mismatches, result.failures)
