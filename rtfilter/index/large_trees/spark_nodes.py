"""The nodes of a tree whose rows are in Spark, level by level: counts come here, and rows stay there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rtfilter.index.large_trees.merges import merge_of
from rtfilter.index.large_trees.row_keys import KeyLayout, Words
from rtfilter.index.large_trees.scratch import Scratch
from rtfilter.star_tree.records import Rows
from rtfilter.star_tree.structure import Children, Level, level_below, nodes_of, own_rows, root_level
from rtfilter.star_tree.tree import Nodes

# Nodes whose keys every task gets.
MOST_SENT = 1_000_000
# [nodes] words of keys each, of nodes in order.
Prefixes = list[NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows without stars: a kept frame with the words of a key and columns `s0`, `s1`, … for `stored`, in the order of keys."""

    frame: DataFrame
    layout: KeyLayout
    stored: Sequence[str]
    rows: int


@dataclass(slots=True)
class _Growing:
    """A tree on the way: its blocks of rows, and of each level the nodes and the prefixes of their keys."""

    base: KeyedRows
    scratch: Scratch
    blocks: dict[int, DataFrame]
    rows: int
    levels: list[Level]
    prefixes: list[Prefixes]
    children: list[Rows] = field(default_factory=list)

    @property
    def layout(self) -> KeyLayout:
        return self.base.layout

    def split(self, max_leaf: int, with_star: bool) -> None:
        """Makes the next level."""
        dimension, level = len(self.levels) - 1, self.levels[-1]
        split = np.flatnonzero(level.lengths > (max_leaf if dimension else 0))
        rows = self.of_nodes(dimension, split)
        words, lengths = self._counted(rows, dimension + 1)
        codes = self.layout.prefix_codes(words, dimension + 1)
        is_first = np.ones(len(codes), bool)
        is_first[1:] = (codes[1:, :dimension] != codes[:-1, :dimension]).any(axis=1)
        parent = split[np.cumsum(is_first) - 1]
        before = np.cumsum(lengths) - lengths
        row_from = level.row_from[parent] + before - before[np.flatnonzero(is_first)][np.cumsum(is_first) - 1]
        starred = np.flatnonzero(np.bincount(parent, minlength=len(level)) > 1) if with_star else np.zeros(0, np.int64)
        star_words, star_lengths = self._star_block(dimension, rows if len(starred) == len(split) else None, starred)
        below = level_below(len(level), Children(parent, codes[:, dimension], row_from, lengths), starred, star_lengths, self.rows)
        self.children.append(below.children)
        self.levels.append(below.level)
        self.prefixes.append([np.concatenate(pair)[below.order] for pair in zip(words, star_words, strict=True)])
        self.rows += int(star_lengths.sum())

    def of_nodes(self, level: int, nodes: Rows) -> DataFrame | None:
        """The rows of these nodes; None where there are none."""
        wanted = [words[nodes] for words in self.prefixes[level]]
        found = np.unique(self.layout.blocks(wanted, level)) if len(nodes) else np.zeros(0, np.int64)
        if not len(found) or not self.rows:
            return None
        rows = reduce(DataFrame.union, [self.blocks[block] for block in found.tolist()])
        if level == 0:
            return rows
        names = [f"w{number}" for number in range(len(wanted))]
        nodes_frame = self.scratch.frame(pa.table(dict(zip(names, wanted, strict=True))))
        nodes_frame = F.broadcast(nodes_frame) if len(nodes) <= MOST_SENT else nodes_frame
        same = [mine == F.col(name) for mine, name in zip(self.layout.prefix(level), names, strict=True)]
        return rows.join(nodes_frame, reduce(Column.__and__, same), "left_semi")

    @property
    def states(self) -> list[str]:
        return [f"s{number}" for number in range(len(self.base.stored))]

    def grouped(self, rows: DataFrame) -> DataFrame:
        """Rows with equal keys made one."""
        types = {each.name: each.dataType for each in self.base.frame.schema.fields}
        merged = [
            merge_of(stored).of_states(F.col(name)).cast(types[name]).alias(name)
            for name, stored in zip(self.states, self.base.stored, strict=True)
        ]
        return rows.groupBy(*self.layout.names).agg(*merged)

    def _star_block(self, dimension: int, rows: DataFrame | None, starred: Rows) -> tuple[Words, Rows]:
        """Keeps the rows of the star children of nodes; gives the prefixes of these children, and how many rows each has."""
        rows = rows if rows is not None or not len(starred) else self.of_nodes(dimension, starred)
        if rows is None or not len(starred):
            return self._counted(None, dimension + 1)
        block = self.layout.star_block(dimension)
        kept = self.scratch.keep(self.grouped(rows.select(*self.layout.starred(block, [dimension]), *self.states)))
        self.blocks[block] = kept
        return self._counted(kept, dimension + 1)

    def _counted(self, rows: DataFrame | None, level: int) -> tuple[Words, Rows]:
        """How many rows each node of a level has that has any of these, in the order of nodes."""
        names = [f"p{number}" for number in range(len(self.layout.prefix(level)))]
        if rows is None:
            return [np.zeros(0, np.int64) for _ in names], np.zeros(0, np.int64)
        columns = [column.alias(name) for column, name in zip(self.layout.prefix(level), names, strict=True)]
        found = pa.concat_tables(self.scratch.tables(self.scratch.keep(rows.groupBy(*columns).agg(F.count(F.lit(1)).alias("n")))))
        words = [found.column(name).to_numpy() for name in names]
        codes = self.layout.prefix_codes(words, level)
        order = np.lexsort(tuple(codes[:, number] for number in reversed(range(level))))
        return [word[order] for word in words], found.column("n").to_numpy()[order]


@dataclass(frozen=True, slots=True)
class SparkNodes:
    """Nodes, and the kept rows of their tree: those without stars, and behind them all others."""

    nodes: Nodes
    own: Rows
    rows: int
    base: KeyedRows
    others: DataFrame


def grown(base: KeyedRows, scratch: Scratch, max_leaf: int, no_star: Sequence[int]) -> SparkNodes:
    """The nodes of these rows' tree."""
    dimensions = len(base.layout.sizes)
    roots = [[np.zeros(1, np.int64)]]
    growing = _Growing(base, scratch, {0: base.frame}, base.rows, [root_level(base.rows)], roots)
    for dimension in range(dimensions):
        growing.split(max_leaf, dimension not in no_star)
    nodes = nodes_of(growing.levels, growing.children)
    own = own_rows(nodes, growing.rows, dimensions)
    starts = np.cumsum([0, *map(len, growing.levels)])
    others = [frame for block, frame in growing.blocks.items() if block]
    summed = []
    for level, needed in own.made:
        rows = growing.of_nodes(level, needed - starts[level])
        if rows is not None:
            keys = base.layout.starred(base.layout.made_block(level), range(level, dimensions))
            summed.append(rows.select(*keys, *growing.states))
    if summed:
        others.append(growing.grouped(reduce(DataFrame.union, summed)))
    rest = reduce(DataFrame.union, others) if others else base.frame.limit(0)
    kept = scratch.keep(rest.orderBy(*base.layout.names))
    return SparkNodes(nodes, own.row, growing.rows + sum(len(needed) for _, needed in own.made), base, kept)
