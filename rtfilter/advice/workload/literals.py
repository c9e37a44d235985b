"""The literals of single calls: what a kind of query was really asked with. They are looked at, and never printed or written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

# As the statement had it: a text (also of a date, a time, "true"), a number, NULL. What it is to a column, the column's type says.
# A whole number is an int, others are normalized: equal literals must look alike.
Literal: TypeAlias = str | int | Decimal | None

MOST_DIGITS = 400
BETWEEN = "between"
# A pattern whose escape character is the backslash.
LIKE = "like"


@dataclass(frozen=True, slots=True)
class Literals:
    """What one leaf compares its column with. `form`: of a range `<`, `<=`, `>`, `>=` or `between` (two values), of a pattern
    `like`, else empty."""

    values: tuple[Literal, ...]
    form: str = ""


# What one call asked, leaf by leaf in the order of `leaves`, of each use of a table; None where a leaf's literals are not known.
Sample: TypeAlias = tuple[tuple[Literals | None, ...], ...]


def number(text: str) -> int | Decimal | None:
    """A number as a literal; None for what is none."""
    try:
        found = Decimal(text)
        if not found.is_finite() or abs(found.adjusted()) > MOST_DIGITS:
            return None
        return int(found) if found == found.to_integral_value() else found.normalize()
    except ArithmeticError:
        return None


def both_ends(ends: Sequence[Literals | None]) -> Literals | None:
    """The ends of a range, where it has two; that one may not belong to it is left open."""
    known = [end for end in ends if end is not None]
    low = [each.values[0] for each in known if each.form in (">", ">=")]
    high = [each.values[0] for each in known if each.form in ("<", "<=")]
    return Literals((low[0], high[0]), BETWEEN) if len(ends) == 2 and len(low) == len(high) == 1 else None
