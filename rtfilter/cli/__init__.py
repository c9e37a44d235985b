"""The `rtfilter` command: one file per subcommand, each a thin layer over a function of the package."""

from rtfilter.cli.command import main

__all__ = ["main"]
