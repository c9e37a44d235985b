"""NAME=PATH entries of the command line: names for tables that are given as paths."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click


def table_paths(
    entries: Iterable[str], *, remote: bool = True, dotted: bool = False, hint: str | None = "--table"
) -> dict[str, str]:
    """Paths by name. `remote`: whether a URI may stand for a path. `dotted`: whether names may have parts, as `db.sales`.

    Raises:
        click.BadParameter: one is no such entry, its path is not there, or a name is given twice with two paths.
    """
    found: dict[str, str] = {}
    for entry in entries:
        name, separator, path = entry.partition("=")
        if not (separator and path and all(part.isidentifier() for part in (name.split(".") if dotted else [name]))):
            raise click.BadParameter(f"{entry!r} is not NAME=PATH, such as item=data/item.parquet.", param_hint=hint)
        if "://" in path and not remote:
            raise click.BadParameter(
                f"table {name!r}: {path!r} is not on this machine; statistics are made of local files.", param_hint=hint
            )
        if "://" not in path and not Path(path).exists():
            raise click.BadParameter(f"table {name!r}: there is no {path!r}.", param_hint=hint)
        if found.setdefault(name, path) != path:
            raise click.BadParameter(f"table {name!r} is given twice, with two paths.", param_hint=hint)
    return found
