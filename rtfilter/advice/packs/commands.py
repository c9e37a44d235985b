"""The command that does what an item says, and the names of the indexes that items make."""

from __future__ import annotations

import hashlib
import re
import shlex

# The option of `rtfilter index create` for each kind of sketch.
SKETCH_OPTIONS = {
    "minmax": "--minmax",
    "bloom": "--bloom",
    "cmap": "--cmap",
    "valueset": "--value-set",
    "histogram": "--histogram",
}
ADVISED = "advised_"


def index_name(kind: str, column: str) -> str:
    """The name of the index that an item makes, such as `advised_bloom_customer`.

    A column's name may have characters that a folder's name should not have. They become `_`, and a digest tells such names apart.
    """
    plain = re.sub(r"[^\w.-]", "_", column)
    digest = "" if plain == column else "_" + hashlib.sha256(column.encode()).hexdigest()[:6]
    return f"{ADVISED}{kind}_{plain}{digest}"


def create_command(kind: str, path: str, column: str, fpp: float | None = None) -> str:
    """The command line that builds an index of one sketch. `path`: of the table, or its name. `fpp`: of an unusual Bloom filter."""
    sketch = [f"{SKETCH_OPTIONS[kind]}={column}", *([] if fpp is None else ["--fpp", f"{fpp:g}"])]
    return shlex.join(["rtfilter", "index", "create", path, "--name", index_name(kind, column), *sketch])


def delete_command(path: str, name: str) -> str:
    """The command line that takes an index out of use; `rtfilter index restore` takes it back."""
    return shlex.join(["rtfilter", "index", "delete", path, "--name", name])


def sort_command(path: str, column: str) -> str:
    """A line of Python that writes a copy of the table sorted by a column."""
    return f'spark.read.parquet({path!r}).sort({_quoted(column)!r}).write.parquet("A NEW PATH")'


def _quoted(column: str) -> str:
    """A column's name as Spark's API reads it: a dot in it is none between a struct and its field."""
    return column if column.isidentifier() else "`" + column.replace("`", "``") + "`"
