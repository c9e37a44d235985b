"""How commands print: JSON on demand, and a sign of life on stderr while something takes seconds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rtfilter.bench.run.interleaved import Failure, Measurement

Command = TypeVar("Command", bound=Callable[..., Any])


def json_option(command: Command) -> Command:
    """Adds `--json`, passed on as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output instead of text.")(command)


def print_json(content: Any) -> None:
    """JSON text on standard output."""
    click.echo(json.dumps(content, indent=2, ensure_ascii=False, default=str))


def names_in(text: str) -> tuple[str, ...]:
    """The names of a list with commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def tell_what_went_wrong(mismatches: Iterable[Measurement], failures: Iterable[Failure]) -> None:
    """A line on stderr for each result that is not the right one, and for each query that a mode could not run."""
    for measured in mismatches:
        click.echo(f"rtfilter: {measured.query.id}: {measured.mode} {measured.difference}", err=True)
    for failure in failures:
        click.echo(f"rtfilter: {failure.reason}", err=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Says on stderr what is being done: a spinner on a terminal, one line elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        console.print(f"{what} …", markup=False, highlight=False, soft_wrap=True)
        yield
        return
    with console.status(f"{what} …"):
        yield
