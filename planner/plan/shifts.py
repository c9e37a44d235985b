"""Keys that are a whole-number column moved or mirrored: `k + c`, `k - c`, `c - k`, `-k`, `date_add(d, c)`, one after the other.

Within its type such an expression maps different values to different ones, so a filter of its values is one of the column's values.
Past the ends of its type it raises, wraps round or is null, as the session and the function have it. Nothing is made of that:
of a column's values those for which some step leaves its type are kept whatever the filter's keys are.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.plan.types import whole_number_bounds

# What the long domain of keys holds.
LEAST, MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Shift:
    """`key = sign · value + by` for the values from `low` to `high`, without rounding and without a limit of bits."""

    sign: int = 1
    by: int = 0
    low: int = LEAST
    high: int = MOST

    @property
    def is_plain(self) -> bool:
        """Whether the key is the column. `k + 1 - 1` is not: it can leave its type on the way."""
        return self == UNMOVED

    def of(self, sign: int, by: int, type_: str) -> Shift:
        """This shift of `sign · value + by`, an expression of the type `type_`: the same keys by the values below it."""
        least, most = whole_number_bounds(type_)
        inside = (max(self.low, least), min(self.high, most))
        low, high = sorted(sign * (end - by) for end in inside)
        if inside[0] > inside[1]:
            low, high = MOST, LEAST
        return Shift(self.sign * sign, self.sign * by + self.by, low, high)

    def on(self, type_: str) -> Shift:
        """The same for a column of the type `type_`: from end to end where no step can leave its type."""
        least, most = whole_number_bounds(type_)
        return Shift(self.sign, self.by, max(self.low, least), min(self.high, most))


UNMOVED = Shift()
