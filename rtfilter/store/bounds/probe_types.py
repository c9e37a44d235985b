"""What Spark sees of a file's column when it reads it as a type of its own: bounds in the domain of the probe column's keys."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from rtfilter.store.parquet.arrays import Bools, Levels
from rtfilter.store.parquet.column_bounds import ColumnBounds
from rtfilter.store.parquet.key_values import LONGEST_SHORT_DECIMAL, NAN_KEY, long_decimals, unscaled_values
from rtfilter.store.parquet.stored_types import Kind

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


@dataclass(frozen=True, slots=True)
class SeenBounds:
    """Bounds of a file's packs as a query sees them: in its type, and only where that is certain. `nulls`: may hold a null."""

    lows: Levels
    highs: Levels
    has_bounds: Bools
    all_null: Bools
    nulls: Bools


@dataclass(frozen=True, slots=True)
class ProbeType:
    """A type of Spark's and the kinds of columns that it may be read from.

    `is_number`: its keys are int64, else byte strings. `least` and `greatest`: what a whole number of this type can be. A file may
    store more (an int column under a tinyint schema): Spark then cuts bits off, and the bounds say nothing about what it sees.
    `hidden`: the key of a value that may be in a pack whatever its bounds say.
    """

    kinds: frozenset[Kind]
    is_number: bool = True
    least: int = -(2**63)
    greatest: int = 2**63 - 1
    precision: int = 0
    scale: int = 0
    hidden: int | None = None

    def sees(self, bounds: ColumnBounds) -> SeenBounds | None:
        """The bounds in this type; None where the column's type is none that is certain to be read as this one."""
        if bounds.stored.kind not in self.kinds:
            return None
        if bounds.stored.kind is Kind.DECIMAL:
            return self._sees_decimals(bounds)
        has_bounds = bounds.has_bounds
        if self.is_number:
            has_bounds = has_bounds & (bounds.lows[0] >= self.least) & (bounds.highs[0] <= self.greatest)
        return SeenBounds(bounds.lows, bounds.highs, has_bounds, bounds.all_null, ~bounds.no_null)

    def _sees_decimals(self, bounds: ColumnBounds) -> SeenBounds | None:
        """Spark reads decimals as wider ones only: no digit lost on either side of the point."""
        stored = bounds.stored
        more_digits = self.scale - stored.scale
        if more_digits < 0 or stored.precision + more_digits > self.precision:
            return None
        lows, highs = bounds.lows, bounds.highs
        if more_digits or stored.is_long_decimal != (not self.is_number):
            lows, highs = self._rescaled(lows, 10**more_digits), self._rescaled(highs, 10**more_digits)
        return SeenBounds(lows, highs, bounds.has_bounds, bounds.all_null, ~bounds.no_null)

    def _rescaled(self, decimals: Levels, factor: int) -> Levels:
        if self.is_number:
            # Fewer digits than 19, before and after: no overflow.
            return (decimals[0] * np.int64(factor),)
        return long_decimals([value * factor for value in unscaled_values(decimals)])


def _whole(bits: int) -> ProbeType:
    return ProbeType(frozenset({Kind.INTEGER}), least=-(2 ** (bits - 1)), greatest=2 ** (bits - 1) - 1)


_TYPES = {
    "tinyint": _whole(8),
    "smallint": _whole(16),
    "int": _whole(32),
    "bigint": _whole(64),
    "boolean": ProbeType(frozenset({Kind.BOOLEAN})),
    "date": ProbeType(frozenset({Kind.DATE}), least=-(2**31), greatest=2**31 - 1),
    # Spark takes a file's microseconds as they are, whichever of the two kinds it says they are; tests/spark holds it to that.
    "timestamp": ProbeType(frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})),
    "timestamp_ntz": ProbeType(frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})),
    "float": ProbeType(frozenset({Kind.FLOAT}), hidden=NAN_KEY),
    "double": ProbeType(frozenset({Kind.FLOAT, Kind.DOUBLE}), hidden=NAN_KEY),
    # Only the plain name: with any other collation equal strings may have other bytes.
    "string": ProbeType(frozenset({Kind.STRING}), is_number=False),
    "binary": ProbeType(frozenset({Kind.STRING, Kind.FIXED_BYTES}), is_number=False),
}


def probe_type(type: str) -> ProbeType | None:
    """The type of a catalog string (`int`, `decimal(7,2)`, `string` ...); None for one without a domain of keys."""
    found = _DECIMAL.fullmatch(type)
    if found is None:
        return _TYPES.get(type)
    precision, scale = int(found[1]), int(found[2])
    if not 0 < precision <= 38 or not 0 <= scale <= precision:
        return None
    return ProbeType(frozenset({Kind.DECIMAL}), is_number=precision <= LONGEST_SHORT_DECIMAL, precision=precision, scale=scale)
