"""What a star-tree would take: rows, bytes, seconds, and which dimension to move or to drop."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rtfilter.star_tree.actions.row_limit import GroupCounts, RowLimit, drop, move
from rtfilter.star_tree.actions.table_reader import Say, TableReader, footers_of, silent
from rtfilter.star_tree.actions.tree_actions import bounded_tree
from rtfilter.star_tree.tree_files import rows_bytes
from rtfilter.store.index_files.tree_snapshot import TreeDefinition

# Rows that are packed to see how many bytes one takes.
SAMPLE_ROWS = 200_000
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
    """The estimate: the tree is made in memory, and only some of its rows are packed.

    Raises:
        IndexDefinitionError: it would have more rows than it may, or values that a tree can't hold.
        IndexStorageError: the table can't be read.
    """
    begun, table = time.monotonic(), reader.listed()
    footers = footers_of(reader, table.files, table.root)
    base, built = bounded_tree(definition, reader, table.files, footers, limit, say)
    made_s = time.monotonic() - begun
    packed = built.rows.slice(0, SAMPLE_ROWS)
    size_bytes = rows_bytes(definition, packed) * len(built.rows) // max(1, len(packed))
    packed_s = time.monotonic() - begun - made_s
    counts = GroupCounts.of(base, len(definition.dimensions))
    return TreeEstimate(
        definition.name,
        base.table_rows,
        built.tree.base_rows,
        len(built.rows),
        size_bytes,
        made_s + packed_s * len(built.rows) / max(1, len(packed)),
        dict(zip(definition.dimensions, counts.values, strict=True)),
        move(definition, counts) or (drop(definition, counts) if len(built.rows) > MUCH * base.table_rows else ""),
    )
