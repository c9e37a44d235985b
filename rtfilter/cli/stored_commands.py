"""What `rtfilter index` and `rtfilter startree` share: options, a session where one is needed, and the commands of a life."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rtfilter.cli.build_session import local_session
from rtfilter.cli.output import json_option, print_json

if TYPE_CHECKING:
    from rtfilter.index.stored_handle import StoredHandle

Command = TypeVar("Command", bound=Callable[..., Any])
# Gives what PATH, --name and --location stand for.
Load = Callable[[str, str, str], AbstractContextManager[Any]]

location_option = click.option(
    "--location", default="", help="Directory of indexes and star-trees (rtfilter.store.location), if not inside the table."
)


def place_options(command: Command) -> Command:
    """PATH, --name and --location."""
    options = (
        click.argument("path"),
        click.option("--name", required=True, help="Its name."),
        location_option,
        json_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


def add_life_commands(group: click.Group, one: str, load: Load, kept: str = "") -> None:
    """Adds delete, restore, vacuum and cancel of `one`, "an index" say; `kept`: what a vacuum leaves beside what is needed."""

    @group.command(help=f"Take {one} out of use; its files stay for restore.")
    @place_options
    def delete(path: str, name: str, location: str, as_json: bool) -> None:
        with load(path, name, location) as loaded:
            loaded.delete()
            print_done(loaded, {}, as_json)

    @group.command(help=f"Bring {one} back after delete.")
    @place_options
    def restore(path: str, name: str, location: str, as_json: bool) -> None:
        with load(path, name, location) as loaded:
            loaded.restore()
            print_done(loaded, {}, as_json)

    @group.command(help=f"Remove files that nothing needs{kept}; of {one} that is deleted all.")
    @place_options
    def vacuum(path: str, name: str, location: str, as_json: bool) -> None:
        with load(path, name, location) as loaded:
            print_done(loaded, {"files_removed": loaded.vacuum()}, as_json)

    @group.command(help="End an action whose writer died, or is to stop; the state before it is back.")
    @place_options
    def cancel(path: str, name: str, location: str, as_json: bool) -> None:
        with load(path, name, location) as loaded:
            loaded.cancel()
            print_done(loaded, {}, as_json)


@contextmanager
def session_for(command: str, path: str, location: str, master: str | None = None) -> Iterator[Any]:
    """A Spark session where one is asked for, or needed for a path that Python can't open; else None."""
    from rtfilter.store.parquet.paths import is_remote

    is_elsewhere = is_remote(path) or is_remote(location)
    if master is None and not is_elsewhere:
        yield None
        return
    with local_session(command, master or "local[*]", with_layer=is_elsewhere) as spark:
        yield spark


def print_list(found: Sequence[Mapping[str, Any]], nothing: str, line: Callable[[Mapping[str, Any]], str], as_json: bool) -> None:
    """A line for each by its stats; `nothing` where there is none."""
    from rtfilter.store.index_actions.made_indexes import GONE

    if as_json:
        print_json(found)
        return
    for stats in found:
        lost = "it was inside the table, and somebody has overwritten that"
        click.echo(f"{stats['name']}  {stats['state']}  {lost if stats['state'] == GONE else line(stats)}")
    if not found:
        click.echo(nothing)


def print_done(changed: StoredHandle, said: dict[str, Any], as_json: bool) -> None:
    """What has become of it, and figures."""
    content = {"name": changed.name, "place": changed.place, "state": changed.state, **said}
    if as_json:
        print_json(content)
    else:
        figures = "".join(f", {key.replace('_', ' ')} {value}" for key, value in said.items() if not isinstance(value, dict))
        click.echo(f"{changed.name}: {content['state']}{figures}")
