"""How errors end a command: one line on stderr and an exit status that a script can tell apart."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from rtfilter.cli.interrupt import end_children, ends_in_time
from rtfilter.errors import JarBuildError, JavaNotFoundError, NotConfiguredError, RtFilterError, UnsupportedSparkError

EXIT_RESULTS_DIFFER = 1
EXIT_UNUSABLE = 2
EXIT_ENVIRONMENT = 3
EXIT_INTERRUPTED = 130
ENVIRONMENT_ERRORS = (JavaNotFoundError, JarBuildError, UnsupportedSparkError, NotConfiguredError)
ENVIRONMENT_HELP = (
    "Exit status: 0 done; 1 results differ (bench); 2 arguments or data that cannot be used; "
    "3 the machine lacks something (Java, a supported Spark): see `rtfilter doctor`."
)


class CleanErrors(click.Group):
    """A command group that turns every RtFilterError of its subcommands into one line and an exit status."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with ends_in_time(EXIT_INTERRUPTED) as interrupted:
                return super().invoke(ctx)
        except KeyboardInterrupt:
            self._end_interrupted(ctx)
        except BrokenPipeError:
            # The reader of our output (head, less) went away; pointing stdout elsewhere spares Python's complaint at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except Exception as error:
            if interrupted():
                # Spark and DuckDB make errors of their own of Ctrl-C, or fail for what it has ended.
                self._end_interrupted(ctx)
            if not isinstance(error, RtFilterError):
                raise
            click.echo(f"rtfilter: {error}", err=True)
            ctx.exit(EXIT_ENVIRONMENT if isinstance(error, ENVIRONMENT_ERRORS) else EXIT_UNUSABLE)

    @staticmethod
    def _end_interrupted(ctx: click.Context) -> None:
        # click would make it 1, which says here that results differ.
        click.echo("rtfilter: interrupted", err=True)
        end_children()
        ctx.exit(EXIT_INTERRUPTED)
