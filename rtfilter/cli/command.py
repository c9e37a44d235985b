"""The command `rtfilter` itself: which subcommands there are, and how an error ends one."""

from __future__ import annotations

import click

from rtfilter.cli.advise import advise
from rtfilter.cli.bench import bench
from rtfilter.cli.build_jar import build_jar
from rtfilter.cli.calibrate import calibrate
from rtfilter.cli.demo import demo
from rtfilter.cli.doctor import doctor
from rtfilter.cli.estimate import estimate
from rtfilter.cli.explain import explain, whynot
from rtfilter.cli.failure import ENVIRONMENT_HELP, CleanErrors
from rtfilter.cli.index import index
from rtfilter.cli.quantiles import quantiles
from rtfilter.cli.startree import startree
from rtfilter.cli.stats import stats
from rtfilter.version import __version__


@click.group(cls=CleanErrors, context_settings={"help_option_names": ["-h", "--help"]}, epilog=ENVIRONMENT_HELP)
@click.version_option(__version__, prog_name="rtfilter", message="%(prog)s %(version)s")
def main() -> None:
    """Runtime filters for Spark: while a join's small side is read, its keys decide which Parquet row groups ("packs") of
    the large side are opened at all."""


for command in (demo, bench, calibrate, doctor, build_jar, explain, whynot, index, startree, advise, estimate, stats, quantiles):
    main.add_command(command)
