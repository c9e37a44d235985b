"""Writes docs/options.md from the option table: `python -m rtfilter.docs [FILE]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rtfilter.options import OPTIONS, Option

PAGE = Path("docs/options.md")
HEAD = """# Options

Written by `make docs` out of `rtfilter/options.py`; changes belong there.

Every option is an entry of the session's conf: `spark.conf.set("rtfilter.kinds", "set")`, `SET rtfilter.kinds=set` in SQL.
`rtfilter.prune(df, ...)` and `@rtfilter.pruned(...)` take them as keywords, without the prefix and with `_` for `.`:
`prune(df, kinds="set", set_maxKeys=1000)`. They are read at every query. (spark-submit and spark-defaults.conf
pass on only keys that begin with `spark.`: set these in the session.)

An unknown name or a value of the wrong type is an error where it is given to one of our functions or commands. Found in the
session's conf when a query runs, it is one warning with the same words, and the query runs as Spark planned it.
"""
COLUMNS = ("option", "type", "default", "unit", "meaning")


def options_page(options: Sequence[Option] = OPTIONS) -> str:
    """The whole page as Markdown, one row per option in the order of the table."""
    rows = [[f"`{o.key}`", o.type, f"`{o.default_text}`" if o.default_text else "", o.unit, o.doc] for o in options]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in [COLUMNS, *rows]]
    return "\n".join([HEAD, lines[0], "|" + "---|" * len(COLUMNS), *lines[1:], ""])


def main(arguments: Sequence[str]) -> int:
    page = Path(arguments[0]) if arguments else PAGE
    page.write_text(options_page(), encoding="utf-8")
    print(f"{page}: {len(OPTIONS)} options")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
