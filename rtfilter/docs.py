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
With `spark.` before it, it is an entry of the SparkConf, for all sessions of an application: `--conf spark.rtfilter.enabled=true`
for spark-submit, spark-sql and the servers, `spark.rtfilter.enabled true` in spark-defaults.conf, or
`.config("spark.rtfilter.enabled", True)` on a session builder. (Without `spark.` spark-submit says "Ignoring non-Spark config
property" and passes nothing on.) The session's value wins. `rtfilter.prune(df, ...)` and `@rtfilter.pruned(...)` take options as
keywords, without the prefix and with `_` for `.`: `prune(df, kinds="set", set_maxKeys=1000)`; those win over both. Options are
read at every query.

Who may set an option, the column "set by":

- `session`: a session, or the SparkConf.
- `place`: it names a file or a folder, or bounds one. In an application of one user as above. Where a driver serves several users,
  the SparkConf alone counts, and a session's value is one warning. Such drivers are the Thrift server and Connect servers, Kyuubi's
  and Livy's, and those whose SparkConf says `spark.rtfilter.shared=true`. With `spark.rtfilter.session.paths=true` there, sessions
  may name places all the same.
- `SparkConf`: it names a program, and only the SparkConf counts: `spark.rtfilter.python`.

An unknown name or a value of the wrong type is an error where it is given to one of our functions or commands. Found in the
session's conf when a query runs, it is one warning with the same words, and the query runs as Spark planned it.
"""
COLUMNS = ("option", "type", "default", "unit", "set by", "meaning")


def options_page(options: Sequence[Option] = OPTIONS) -> str:
    """The whole page as Markdown, one row per option in the order of the table."""
    rows = [[f"`{o.key}`", o.type, f"`{o.default_text}`" if o.default_text else "", o.unit, o.set_by, o.doc] for o in options]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in [COLUMNS, *rows]]
    return "\n".join([HEAD, lines[0], "|" + "---|" * len(COLUMNS), *lines[1:], ""])


def main(arguments: Sequence[str]) -> int:
    page = Path(arguments[0]) if arguments else PAGE
    page.write_text(options_page(), encoding="utf-8")
    print(f"{page}: {len(OPTIONS)} options")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
