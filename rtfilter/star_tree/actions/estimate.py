"""What a star-tree would take: rows, bytes, seconds, and which dimension to move or to drop."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from rtfilter.star_tree.actions.row_limit import GroupCounts, RowLimit, drop, group_counts, move, refuse_base, refuse_tree
from rtfilter.star_tree.actions.size_model import modelled_rows
from rtfilter.star_tree.actions.table_reader import Say, TableReader, footers_of, silent
from rtfilter.star_tree.actions.tree_actions import COUNTED_FIRST_ROWS, UNSURE, bounded_tree, built_tree
from rtfilter.star_tree.groups import BuiltTree
from rtfilter.star_tree.tree_files import rows_bytes
from rtfilter.store.index_files.sketching import TableFile
from rtfilter.store.index_files.tree_snapshot import TreeDefinition

# Rows that are packed to see how many bytes one takes.
PACKED_ROWS = 200_000
# Rows of a large table that are grouped to see how long it takes.
SAMPLED_ROWS = 1_000_000
# A tree with a larger share of the table's rows gains little.
MUCH = 0.1


@dataclass(frozen=True, slots=True)
class TreeEstimate:
    """What a star-tree would take, with `dry_run`.

    Attributes:
        rows: Of the tree; `base_rows` of them without stars. The table has `table_rows`.
        bytes: Of the files with its rows.
        seconds: For the build.
        values: How many values each dimension has.
        advice: What would make it smaller.
    """

    name: str
    table_rows: int
    base_rows: int
    rows: int
    bytes: int
    seconds: float
    values: dict[str, int]
    advice: str

    def to_dict(self) -> dict[str, object]:
        names = ("name", "table_rows", "base_rows", "rows", "bytes", "values", "advice")
        return {**{name: getattr(self, name) for name in names}, "seconds": round(self.seconds, 3)}

    def __str__(self) -> str:
        share = f", {self.rows / self.table_rows:.1%} of the table's" if self.table_rows else ""
        return (
            f"{self.name}: {self.rows:,} rows{share} ({self.base_rows:,} without stars), {self.bytes:,} bytes, "
            f"{self.seconds:.1f} s. {self.advice}".rstrip()
        )


def estimate_tree(definition: TreeDefinition, reader: TableReader, limit: RowLimit, say: Say = silent) -> TreeEstimate:
    """The estimate: of a large table by counts of groups and some of its rows, of others by the tree, made in memory.

    Raises:
        IndexDefinitionError: it would have more rows than it may, or values that a tree can't hold.
        IndexStorageError: the table can't be read.
    """
    table = reader.listed()
    footers = footers_of(reader, table.files, table.root)
    table_rows = sum(footer.rows for footer in footers)
    if table_rows > COUNTED_FIRST_ROWS:
        say(f"counts groups of {table_rows} rows")
        begun = time.monotonic()
        counts = group_counts(reader, definition, table.files)
        counted_s = time.monotonic() - begun
        if counts is not None:
            return _by_counts(definition, reader, table.files, table_rows, counts, counted_s, limit, say)
    begun = time.monotonic()
    with bounded_tree(definition, reader, table.files, footers, limit, say) as (base, built):
        made_s = time.monotonic() - begun
        row_bytes, packed_s = _row_bytes(definition, built)
        counts = GroupCounts.of(base, len(definition.dimensions))
        seconds = made_s + packed_s * len(built)
        return _estimate(definition, base.table_rows, replace(counts, groups=built.base_rows), len(built), row_bytes, seconds)


def _by_counts(
    definition: TreeDefinition,
    reader: TableReader,
    files: Sequence[TableFile],
    table_rows: int,
    counts: GroupCounts,
    counted_s: float,
    limit: RowLimit,
    say: Say,
) -> TreeEstimate:
    """`counted_s`: how long counting took, which reads what grouping reads."""
    most = limit.most(table_rows)
    if counts.groups > most * UNSURE:
        raise refuse_base(definition, counts, most)

    def counted(wanted: Iterable[frozenset[int]]) -> dict[frozenset[int], int]:
        sets = list(wanted)
        found = reader.counts(definition, files, [sorted(each) for each in sets]) or []
        return dict(zip(sets, found, strict=True))

    no_star = [definition.dimensions.index(name) for name in definition.no_star]
    rows = modelled_rows(len(definition.dimensions), definition.max_leaf, no_star, counted)
    if rows > most * UNSURE:
        raise refuse_tree(definition, counts, rows, most)
    say(f"groups {SAMPLED_ROWS} rows")
    with closing(reader.sampled(definition, files, SAMPLED_ROWS)) as sample:
        begun = time.monotonic()
        built = built_tree(definition, sample)
        made_s = (time.monotonic() - begun) / max(1, len(built))
        row_bytes, packed_s = _row_bytes(definition, built)
    seconds = counted_s + (made_s + packed_s) * rows
    return _estimate(definition, table_rows, counts, rows, row_bytes, seconds)


def _row_bytes(definition: TreeDefinition, built: BuiltTree) -> tuple[float, float]:
    """What a row takes in a file, in bytes and in seconds."""
    begun, rows = time.monotonic(), next(iter(built.tables())).slice(0, PACKED_ROWS)
    size_bytes = rows_bytes(definition, rows)
    return size_bytes / max(1, len(rows)), (time.monotonic() - begun) / max(1, len(rows))


def _estimate(
    definition: TreeDefinition, table_rows: int, counts: GroupCounts, rows: int, row_bytes: float, seconds: float
) -> TreeEstimate:
    what = move(definition, counts) or (drop(definition, counts) if rows > MUCH * table_rows else "")
    values = dict(zip(definition.dimensions, counts.values, strict=True))
    return TreeEstimate(definition.name, table_rows, counts.groups, rows, round(rows * row_bytes), seconds, values, what)
