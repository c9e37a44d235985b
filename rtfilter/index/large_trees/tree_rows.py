"""The rows of a tree that Spark has made, in their order, as they are written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from rtfilter.errors import IndexStorageError
from rtfilter.index.large_trees.scratch import Scratch, spark_told
from rtfilter.index.large_trees.spark_nodes import SparkNodes
from rtfilter.star_tree.conditions import Dimension
from rtfilter.star_tree.records import Rows
from rtfilter.star_tree.row_types import rows_schema
from rtfilter.star_tree.structure import Moved, places_of, summaries_together
from rtfilter.star_tree.tree import Nodes
from rtfilter.star_tree.tree_table import ROW, STARS
from rtfilter.store.index_files.tree_snapshot import TreeDefinition


@dataclass(frozen=True)
class SparkTree:
    """A tree whose rows are kept frames. `values`: of each dimension the distinct values, by code."""

    definition: TreeDefinition
    grown: SparkNodes
    scratch: Scratch
    values: Sequence[Any]
    dimensions: tuple[Dimension, ...]
    nullable: tuple[str, ...]

    @property
    def nodes(self) -> Nodes:
        return self._placed[0]

    @property
    def base_rows(self) -> int:
        return self.grown.base.rows

    def __len__(self) -> int:
        return self.grown.rows

    @cached_property
    def _placed(self) -> tuple[Nodes, Moved]:
        return summaries_together(self.grown.nodes, self.grown.own)

    def tables(self) -> Iterator[Any]:
        """The rows in order. Raises IndexStorageError."""
        count, moved = 0, self._placed[1]
        with spark_told(self.definition.table), self._moving(moved) as moving:
            for found in self._kept():
                at = np.arange(count, count + len(found))
                count += len(found)
                yield self._rows(_exchanged(found, at, moved, moving), at)
        if count != len(self):
            raise IndexStorageError(f"Spark has given {count} rows of the star-tree {self.definition.name!r}, of {len(self)}.")

    def _kept(self) -> Iterator[Any]:
        yield from self.scratch.tables(self.grown.base.frame)
        yield from self.scratch.tables(self.grown.others)

    @contextmanager
    def _moving(self, moved: Moved) -> Iterator[Any]:
        """The rows that change places, in the order of their places, in a file."""
        if not len(moved.places) or bool((moved.places == moved.sources).all()):
            yield None
            return
        with tempfile.TemporaryDirectory(prefix="rtfilter-groups-") as folder:
            path, count = os.path.join(folder, "moving"), self.base_rows
            writer: Any = None
            for found in self.scratch.tables(self.grown.others):
                _, is_moved = places_of(np.arange(count, count + len(found)), moved.places)
                count += len(found)
                writer = writer or pa.ipc.new_file(path, found.schema)
                writer.write_table(found.filter(pa.array(is_moved)))
            writer.close()
            with pa.memory_map(path) as opened:
                yield pa.ipc.open_file(opened).read_all()

    def _rows(self, found: Any, numbers: Rows) -> Any:
        layout = self.grown.base.layout
        codes = layout.codes([found.column(name).to_numpy() for name in layout.names])
        stars = np.zeros(len(found), np.int32)
        columns: dict[str, Any] = {ROW: pa.array(numbers), STARS: None}
        for number, values in enumerate(self.values):
            stars |= np.where(codes[:, number] == layout.sizes[number], np.int32(1 << number), np.int32(0))
            columns[f"d{number}"] = values.take(pa.array(codes[:, number], mask=codes[:, number] >= len(values)))
        columns[STARS] = pa.array(stars)
        columns |= {name: found.column(f"s{number}") for number, name in enumerate(self.grown.base.stored)}
        table = pa.table(columns)
        return table.cast(rows_schema(self.definition, table.column_names))


def _exchanged(found: Any, numbers: Rows, moved: Moved, moving: Any) -> Any:
    """Rows with these numbers, those in place that are to be there."""
    if moving is None:
        return found
    at, is_moved = places_of(numbers, moved.places)
    if not is_moved.any():
        return found
    wanted, _ = places_of(moved.sources[at[is_moved]], moved.places)
    others = moving.take(pa.array(wanted))
    places = np.arange(len(found))
    places[is_moved] = len(found) + np.arange(len(wanted))
    return pa.concat_tables([found, others]).combine_chunks().take(pa.array(places))
