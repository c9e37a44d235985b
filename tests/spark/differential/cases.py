"""A generated case: tables as they lie in files, and a query over them. Plain data, so that it prints as a Python literal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

# How values.py writes a value of a column type; a row has them in the order of the table's columns.
Value: TypeAlias = int | str | None
Row: TypeAlias = tuple[Value, ...]


@dataclass(frozen=True)
class Column:
    """A column and its type as Spark writes it: see values.py."""

    name: str
    type: str


@dataclass(frozen=True)
class DataFile:
    """One Parquet file. `without` is a column that it lacks (its values here are null).

    `stored_as` are columns of another type in the file, by name: a narrower one, or a wider one of which Spark cuts off bits.
    """

    rows: tuple[Row, ...]
    writer: str = "pyarrow"
    pack_rows: int = 50
    statistics: bool = True
    page_index: bool = False
    dictionary: bool = True
    without: str | None = None
    stored_as: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[Column, ...]
    files: tuple[DataFile, ...]

    @property
    def rows(self) -> int:
        return sum(len(file.rows) for file in self.files)

    def type_of(self, column: str) -> str:
        return next(each.type for each in self.columns if each.name == column)


@dataclass(frozen=True)
class Filter:
    """A condition on one column, which stands for the braces."""

    column: str
    condition: str


@dataclass(frozen=True)
class Relation:
    """A table or a CTE in a FROM clause. `shape` says what is done to it first; `column`, `second` and `size` are the shape's."""

    alias: str
    source: str
    shape: str = "plain"
    filters: tuple[Filter, ...] = ()
    column: str = "a"
    second: str = ""
    size: int = 1


@dataclass(frozen=True)
class Key:
    """`left_alias.left` equals the new relation's `right`; the forms say which expression is made of the column."""

    left_alias: str
    left: str
    right: str
    left_form: str = "plain"
    right_form: str = "plain"
    null_safe: bool = False


@dataclass(frozen=True)
class Join:
    """The next relation; `filters` are further conditions of its ON clause, on columns of that relation."""

    kind: str
    relation: Relation
    keys: tuple[Key, ...]
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True)
class Subquery:
    """A predicate of the WHERE clause: in, not in, exists, not exists, scalar. With `otherwise` it is one arm of an OR."""

    kind: str
    alias: str
    column: str
    table: str
    inner: str
    filters: tuple[Filter, ...] = ()
    otherwise: Filter | None = None


@dataclass(frozen=True)
class Item:
    """One output: a column, an aggregate (count, distinct, sum, min, max) or a window function (rank, total)."""

    function: str
    alias: str
    column: str


@dataclass(frozen=True)
class Hint:
    """How a relation is to be joined: broadcast, merge, shuffle_hash."""

    strategy: str
    alias: str


@dataclass(frozen=True)
class Block:
    """One SELECT. `group` are the grouping columns; `limit` comes with an order by every output."""

    first: Relation
    joins: tuple[Join, ...]
    items: tuple[Item, ...]
    group: tuple[Item, ...] = ()
    where: tuple[tuple[str, Filter], ...] = ()
    subqueries: tuple[Subquery, ...] = ()
    hints: tuple[Hint, ...] = ()
    limit: int | None = None

    @property
    def relations(self) -> tuple[Relation, ...]:
        return (self.first, *(join.relation for join in self.joins))


@dataclass(frozen=True)
class Query:
    """The arms of a UNION ALL, mostly one; `ctes` are named by their alias."""

    blocks: tuple[Block, ...]
    ctes: tuple[Relation, ...] = ()

    def sources(self) -> Iterator[str]:
        """Every table and CTE that the query names, some more than once."""
        relations = [*self.ctes, *(relation for block in self.blocks for relation in block.relations)]
        yield from (name for relation in relations for name in (relation.source, relation.second) if name)
        yield from (subquery.table for block in self.blocks for subquery in block.subqueries)


@dataclass(frozen=True)
class Case:
    """`conf` are the session's entries for both Spark runs, those of the layer included."""

    seed: int
    tables: tuple[Table, ...]
    query: Query
    conf: tuple[tuple[str, str], ...] = ()
