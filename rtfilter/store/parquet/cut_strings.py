"""Bounds of strings as writers cut them: a cut lower bound is still one, an upper bound only where the writer raised it."""

from __future__ import annotations

# Writers that store strings whole, or raise an upper bound that they cut. Of others it is not known; they cut at 64 bytes or later.
WHOLE_STRING_WRITERS = ("parquet-mr version", "parquet-cpp-arrow version")
SHORTEST_CUT_BYTES = 64


def has_whole_strings(created_by: str | None) -> bool:
    """Whether an upper bound of a file of this writer is never below the highest value."""
    return created_by is not None and created_by.startswith(WHOLE_STRING_WRITERS)


def raised(high: bytes) -> bytes | None:
    """A bound that no string with the first 64 bytes of `high` is above; None where there is none."""
    if len(high) < SHORTEST_CUT_BYTES:
        return high
    start = high[:SHORTEST_CUT_BYTES].rstrip(b"\xff")
    return start[:-1] + bytes([start[-1] + 1]) if start else None
