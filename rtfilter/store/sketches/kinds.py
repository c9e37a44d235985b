"""The sketches that an index can have, as a user names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeAlias

from rtfilter.errors import IndexDefinitionError, did_you_mean
from rtfilter.store.sketches.domain import BYTES, LONG, domain_of

LARGEST_VALUE_SET = 65_536


@dataclass(frozen=True, slots=True)
class MinMax:
    """The lowest and the highest value of each pack, and how many are null."""

    column: str
    kind: ClassVar[str] = "min_max"
    domains: ClassVar[tuple[str, ...]] = (LONG, BYTES)


@dataclass(frozen=True, slots=True)
class Bloom:
    """A split-block bloom filter of each pack's values, sized from their exact number for `fpp` false positives."""

    column: str
    fpp: float = 0.01
    kind: ClassVar[str] = "bloom"
    domains: ClassVar[tuple[str, ...]] = (LONG, BYTES)

    def __post_init__(self) -> None:
        if not 0.0001 <= self.fpp <= 0.5:
            raise IndexDefinitionError(f"Bloom({self.column!r}, fpp={self.fpp!r}): fpp must be from 0.0001 to 0.5, such as 0.01.")


@dataclass(frozen=True, slots=True)
class CMap:
    """Which byte stands at which place in the strings of each pack, after what they have in common."""

    column: str
    kind: ClassVar[str] = "cmap"
    domains: ClassVar[tuple[str, ...]] = (BYTES,)


@dataclass(frozen=True, slots=True)
class ValueSet:
    """The distinct values of each pack that has at most `max` of them."""

    column: str
    max: int = 256
    kind: ClassVar[str] = "value_set"
    domains: ClassVar[tuple[str, ...]] = (LONG, BYTES)

    def __post_init__(self) -> None:
        if not 1 <= self.max <= LARGEST_VALUE_SET:
            raise IndexDefinitionError(f"ValueSet({self.column!r}, max={self.max!r}): max must be from 1 to {LARGEST_VALUE_SET}.")


@dataclass(frozen=True, slots=True)
class Histogram:
    """Which of 1,024 equal parts between lowest and highest value hold a value, for each pack."""

    column: str
    kind: ClassVar[str] = "histogram"
    domains: ClassVar[tuple[str, ...]] = (LONG,)


Sketch: TypeAlias = MinMax | Bloom | CMap | ValueSet | Histogram
# Cheap and exact ones come first: in this order they are asked for verdicts.
KINDS: Mapping[str, type[Sketch]] = {each.kind: each for each in (MinMax, ValueSet, Histogram, CMap, Bloom)}


def check_type(sketch: Sketch, spark_type: str) -> None:
    """Whether a sketch can be made of a column of this type.

    Raises:
        IndexDefinitionError: it can't.
    """
    name = type(sketch).__name__
    domain = domain_of(spark_type)
    if domain is None:
        raise IndexDefinitionError(f"{name}({sketch.column!r}): a column of type {spark_type} can't be indexed.")
    if domain not in sketch.domains:
        other = "MinMax, Bloom or ValueSet" if domain == BYTES else "MinMax, Histogram, Bloom or ValueSet"
        raise IndexDefinitionError(f"{name}({sketch.column!r}) does not fit the column's type {spark_type}; use {other}.")


def sketch_to_dict(sketch: Sketch) -> dict[str, Any]:
    """A sketch as the log of an index has it."""
    return {"kind": sketch.kind, **asdict(sketch)}


def sketch_from_dict(entry: Mapping[str, Any]) -> Sketch:
    """A sketch out of an index's log.

    Raises:
        IndexDefinitionError: an unknown kind, or parameters that do not fit it.
    """
    parameters = {key: value for key, value in entry.items() if key != "kind"}
    kind = KINDS.get(str(entry.get("kind")))
    if kind is None:
        raise IndexDefinitionError(f"there is no sketch {entry.get('kind')!r}. {did_you_mean(str(entry.get('kind')), KINDS)}")
    try:
        return kind(**parameters)
    except TypeError as error:
        raise IndexDefinitionError(f"the parameters {parameters} do not fit a {kind.__name__}: {error}") from error
