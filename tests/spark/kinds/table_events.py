"""What becomes of the fact table and its index while the cases of a world run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from tests.spark.kinds.names import Naming

CASES_PER_WORLD = 20
TEXTS = ("s", "c", "t")
NO_HISTOGRAM = ("u", "m")
# Columns that conditions and keys name, with those that only an index can tell packs of.
INDEXED = ("k", "r", "r", "s", "s", "c", "dt", "m", "l", "x", "ts", "kn", "u", "g", "z")


@dataclass(frozen=True)
class Event:
    """Before case `before` of the world: `what` is created, added, rewritten, refreshed, overwritten, deleted or optimized.

    `sketches` are (sketch, letter) of an index that is created; `file` is the number of a file.
    """

    before: int
    what: str
    sketches: tuple[tuple[str, str], ...] = ()
    file: int = 0


def draw_life(rng: Random, types: Mapping[str, str], naming: Naming) -> tuple[Event, ...]:
    """Most worlds have an index from early on, and changes after it."""
    if rng.random() < 0.15:
        return ()
    first = rng.choice([0, 0, 0, 1, 4])
    letters = {letter for letter in rng.choices(INDEXED, k=rng.randint(3, 6)) if not naming.is_field(letter)} or {"r"}
    sketches = tuple((_sketch(rng, letter), letter) for letter in sorted(letters))
    events = [Event(first, "created", sketches)]
    changes = ["added", "rewritten", "refreshed", "overwritten", "optimized", "added", "refreshed", "created", "deleted"]
    at = first
    for number in range(rng.randint(0, 4)):
        at += rng.randint(1, 5)
        what = "added" if number == 0 and rng.random() < 0.5 else rng.choice(changes)
        if at < CASES_PER_WORLD:
            events.append(Event(at, what, sketches if what == "created" else (), rng.randrange(2)))
    return tuple(events)


def _sketch(rng: Random, letter: str) -> str:
    others = ["Bloom", "ValueSet", "MinMax"]
    # Decimals of many digits and texts have no histogram, and only texts a character map.
    return rng.choice([*others, "CMap"] if letter in TEXTS else others if letter in NO_HISTOGRAM else [*others, "Histogram"])
