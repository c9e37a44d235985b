"""Measures of star-trees as they are written: `sum(price)`, `theta_sketch_agg(user, 12)`."""

from __future__ import annotations

import re

# Sketches that Spark merges to just the bytes that it makes of all rows, in whatever order.
SKETCH_FUNCTIONS = ("theta_sketch_agg", "bitmap_construct_agg")
# Sketches that have a size, log2 of entries.
SIZED = ("theta_sketch_agg",)
MEASURE_FUNCTIONS = ("count", "sum", "min", "max", "avg", *SKETCH_FUNCTIONS)
_SIZE = re.compile(r"(.+?)\s*,\s*(\d{1,3})", re.DOTALL)


def measure_text(function: str, column: str | None, size: int | None = None) -> str:
    """The canonical text, which is also the name of a stored column."""
    return f"{function}({'*' if column is None else column}{'' if size is None else f', {size}'})"


def measure_parts(text: str) -> tuple[str, str, int | None]:
    """Function, column (`*`: of all rows) and size out of a text without blanks around."""
    function, _, argument = text.removesuffix(")").partition("(")
    sized = _SIZE.fullmatch(argument) if function in SIZED else None
    return (function, argument, None) if sized is None else (function, sized[1], int(sized[2]))
