"""Rows of a table drawn from sampled packs: they stand for the literals of queries where a log has none.

A value is drawn as often as it is there, so that a hot value counts for much. All conditions of a query take theirs from one row:
values that go together in the table do so here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.advice.sampled.pack_sample import PackSample
from rtfilter.advice.trials.keys import NoKeyError, literal_of
from rtfilter.advice.workload.literals import BETWEEN, Literal, Literals
from rtfilter.advice.workload.predicates import EQUALITIES, Leaf, Operator, Predicate, leaves

DRAWN_ROWS = 48
# A range reaches from one drawn row to another one so many rows further on.
_STEP = 17
_NAMED = EQUALITIES | {Operator.NOT_EQUAL, Operator.NOT_IN}


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """A row by its columns; `place`: of its pack in the sample."""

    place: int
    values: Mapping[str, Literal]


@dataclass(frozen=True, slots=True)
class DrawnCall:
    """The literals of one call that nobody made, and the packs of the sample that their values are from."""

    literals: tuple[Literals | None, ...]
    places: tuple[int, ...]


def draw_rows(sample: PackSample, columns: Sequence[str], count: int = DRAWN_ROWS) -> tuple[DrawnRow, ...]:
    """Rows from packs spread over the sample; fewer where packs can't be read."""
    if not len(sample.at) or not columns:
        return ()
    packs = min(len(sample.at), max(1, count // 2))
    rows: list[DrawnRow] = []
    for i in range(packs):
        place = (2 * i + 1) * len(sample.at) // (2 * packs)
        rows += _of_pack(sample, place, sorted(columns), count // packs + (i < count % packs))
    return tuple(rows)


def _of_pack(sample: PackSample, place: int, columns: list[str], count: int) -> list[DrawnRow]:
    pack = sample.table.packs[int(sample.at[place])]
    name = f"{sample.at[place]}"
    if not pack.rows:
        return []
    at = [int.from_bytes(hashlib.blake2b(f"{name} {i}".encode(), digest_size=8).digest()) % pack.rows for i in range(count)]
    try:
        with pq.ParquetFile(pack.file.local, coerce_int96_timestamp_unit="us") as file:
            table = file.read_row_group(pack.number, columns=columns, use_threads=False)
        found: list[dict[str, Any]] = table.select(columns).take(pa.array(at, pa.int64())).to_pylist()
        return [DrawnRow(place, {column: _known(value) for column, value in row.items()}) for row in found]
    except (pa.ArrowException, OSError, KeyError):
        return []


def _known(value: Any) -> Literal:
    """A value as a literal, NULL where there is none: such a row is passed over by whoever asks for it."""
    try:
        return literal_of(value)
    except NoKeyError:
        return None


def drawn_calls(predicate: Predicate, rows: Sequence[DrawnRow]) -> list[DrawnCall]:
    """Calls of a kind of query, a row each; rows with NULL where a value is asked for are passed over."""
    found = []
    for i in range(len(rows)):
        literals: list[Literals | None] = []
        places: set[int] = set()
        for leaf in leaves(predicate):
            of_leaf = _drawn(leaf, rows, i)
            known = [row.values.get(leaf.column) for row in of_leaf]
            if None in known:
                break
            literals.append(_literals(leaf, known))
            # Values that are excluded say nothing of where the others are.
            places |= {row.place for row in of_leaf} if leaf.operator in EQUALITIES | {Operator.RANGE} else set()
        else:
            found.append(DrawnCall(tuple(literals), tuple(sorted(places))))
    return found


def _drawn(leaf: Leaf, rows: Sequence[DrawnRow], i: int) -> list[DrawnRow]:
    if leaf.operator in _NAMED:
        return [rows[(i + step) % len(rows)] for step in range(min(leaf.values, len(rows)))]
    return [rows[i], rows[(i + _STEP) % len(rows)]] if leaf.operator is Operator.RANGE else []


def _literals(leaf: Leaf, values: Sequence[Literal]) -> Literals | None:
    if leaf.operator is Operator.RANGE:
        low, high = values
        try:
            return Literals((low, high) if low <= high else (high, low), BETWEEN)  # type: ignore[operator]
        except TypeError:
            return None
    return Literals(tuple(dict.fromkeys(values))) if values else None
