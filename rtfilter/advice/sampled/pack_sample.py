"""Sketches of sampled packs, made as `rtfilter index create` makes them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from rtfilter.advice.sampled.table_packs import Pack, TablePacks
from rtfilter.store.index_actions.build import LocalRunner
from rtfilter.store.index_files.segments import compression_of, parquet_writer
from rtfilter.store.index_files.sketching import Portion
from rtfilter.store.index_files.snapshot import Definition
from rtfilter.store.sketches.arrays import Int64s
from rtfilter.store.sketches.domain import BYTES, domain_of
from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, MinMax, Sketch, ValueSet
from rtfilter.store.sketches.rows import SketchRows, load_rows, sketch_schema

# What a task reads at once.
_PACKS_AT_ONCE = 8


@dataclass(frozen=True, slots=True, eq=False)
class PackSample:
    """The packs at the places `at` of a table, each with a row in every one of the sketches. `sizes`: bytes that the rows of a
    sketch take in an index's file. `problems`: why nothing is known of a file or column, each once."""

    table: TablePacks
    at: Int64s
    sketches: Mapping[Sketch, SketchRows]
    sizes: Mapping[Sketch, int]
    problems: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """The share of the table's packs that were looked at."""
        return len(self.at) / max(1, len(self.table.packs))


def kinds_for(column: str, spark_type: str) -> tuple[Sketch, ...]:
    """Every sketch that a column can have, with the parameters that `rtfilter index create` gives it."""
    domain = domain_of(spark_type)
    every = (MinMax(column), Bloom(column), ValueSet(column), CMap(column), Histogram(column))
    return tuple(sketch for sketch in every if domain in sketch.domains)


def sample_packs(table: TablePacks, sketches: Iterable[Sketch], at: Int64s) -> PackSample:
    """Builds sketches of some packs; a file that can't be read leaves its packs unknown."""
    wanted = tuple(sketch for sketch in dict.fromkeys(sketches) if sketch.column in table.types)
    types = {sketch.column: table.types[sketch.column] for sketch in wanted}
    chosen = [table.packs[place] for place in at.tolist()]
    portions = _portions(chosen)
    definition = Definition("tried", table.name, None, wanted, types)
    batches: list[list[Any]] = [[] for _ in wanted]
    problems: dict[str, None] = {}
    found = LocalRunner().run(portions, definition) if wanted else iter(())
    for portion, each in zip(portions, found, strict=bool(wanted)):
        count = len(portion.numbers or ())
        if each.problem is not None:
            problems[f"{portion.file.local}: {each.problem}"] = None
        problems |= dict.fromkeys(f"{column}: {reason}" for column, reason in each.not_held.items())
        for mine, sketch, batch in zip(batches, wanted, each.batches or [None] * len(wanted), strict=True):
            mine.append(batch if batch is not None else _unknown(sketch, types, count))
    loaded = {sketch: load_rows(sketch, domain_of(types[sketch.column]) or BYTES, mine) for sketch, mine in _with(wanted, batches)}
    sizes = {sketch: _size(sketch, mine) for sketch, mine in _with(wanted, batches)}
    return PackSample(table, at, loaded, sizes, tuple(problems))


def _with(wanted: Sequence[Sketch], batches: list[list[Any]]) -> list[tuple[Sketch, list[Any]]]:
    return [(sketch, mine) for sketch, mine in zip(wanted, batches, strict=True) if mine]


def _portions(chosen: Sequence[Pack]) -> list[Portion]:
    """Packs of one file that follow each other, some at a time."""
    found: list[tuple[Pack, list[int]]] = []
    for pack in chosen:
        if not found or found[-1][0].file != pack.file or len(found[-1][1]) == _PACKS_AT_ONCE:
            found.append((pack, []))
        found[-1][1].append(pack.number)
    return [Portion(pack.file, 0, pack.file.size_bytes, frozenset(numbers)) for pack, numbers in found]


def _unknown(sketch: Sketch, types: Mapping[str, str], count: int) -> Any:
    schema = sketch_schema(sketch, domain_of(types[sketch.column]) or BYTES)
    return pa.RecordBatch.from_pylist([{}] * count, schema=schema)


def _size(sketch: Sketch, batches: Sequence[Any]) -> int:
    """The bytes of these rows as a file of an index has them, without those of an empty one."""
    full, empty = _written(sketch, batches), _written(sketch, [batches[0].slice(0, 0)])
    return max(0, full - empty)


def _written(sketch: Sketch, batches: Sequence[Any]) -> int:
    where = io.BytesIO()
    with parquet_writer(where, batches[0].schema, compression_of(sketch)) as writer:
        table = pa.Table.from_batches(batches)
        writer.write_table(table, row_group_size=max(1, table.num_rows))
    return len(where.getvalue())
