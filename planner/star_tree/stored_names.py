"""Names of what a tree's rows hold beside dimensions: `count`, `sum(price)`, `theta_sketch_agg(user, 12)`."""

from __future__ import annotations

import re

_SKETCH = re.compile(r"theta_sketch_agg\((.+), \d+\)", re.DOTALL)


def stored_name(function: str, column: str, size: int | None = None) -> str:
    """The name of what a function gives of a column; `size` is that of a sketch."""
    return f"{function}({column}{'' if size is None else f', {size}'})"


def source_of(stored: str) -> str:
    """The table's column that it is of; empty for the number of rows."""
    sketch = _SKETCH.fullmatch(stored)
    return sketch[1] if sketch else stored.partition("(")[2].removesuffix(")")
