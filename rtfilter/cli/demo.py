"""`rtfilter demo`."""

from __future__ import annotations

from pathlib import Path

import click

from rtfilter.cli.failure import EXIT_RESULTS_DIFFER

RUNS, WARMUP = 2, 1


@click.command()
@click.option("--data", help="Directory that keeps generated data.  [default: $RTFILTER_DATA, else ~/.cache/rtfilter/data]")
@click.option("--out", type=click.Path(path_type=Path), default="out", show_default=True, help="For result.json and report.html.")
@click.option("--master", default="local[*]", show_default=True, help="Spark master URL.")
def demo(data: str | None, out: Path, master: str) -> None:
    """Show in about a minute what runtime filters do.

    Joins 20 million made-up sales with a calendar, for a holiday, for a year and for all days: in Spark with its defaults, in Spark
    with its own bloom filters, and with rtfilter. Prints what was gained and what not, and a report of one query.
    """
    from rtfilter.bench.benchmark import Plan, run_benchmark
    from rtfilter.bench.engines.modes import OFF, RTFILTER, SPARK
    from rtfilter.bench.figures.result import Settings
    from rtfilter.bench.pages.demo_text import demo_text
    from rtfilter.bench.run.progress import BenchProgress
    from rtfilter.bench.suites.data_cache import data_directory
    from rtfilter.bench.suites.demo import DEMO, PACK_ROWS

    settings = Settings(DEMO.name, None, None, DEMO.layouts[0], (OFF, SPARK, RTFILTER), RUNS, WARMUP, PACK_ROWS, master=master)
    plan = Plan(DEMO, settings, DEMO.query_ids, data_directory(data), out.absolute())
    with BenchProgress() as progress:
        result = run_benchmark(plan, progress)
    click.echo(demo_text(result))
    click.echo(f"\nThe page with charts: {plan.out / 'report.html'}")
    if result.mismatches or result.failures:
        raise SystemExit(EXIT_RESULTS_DIFFER)
