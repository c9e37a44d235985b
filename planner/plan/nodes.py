"""Nodes of a plan: frozen, in preorder, each with what the planner must know of its operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from planner.inputs.table_hints import TableHint
from planner.plan.expressions import Expression

LEFT = "left"
RIGHT = "right"

BROADCAST = "broadcast_hash_join"
SHUFFLED_HASH = "shuffled_hash_join"
SORT_MERGE = "sort_merge_join"
NESTED_LOOP = "nested_loop_join"

SHUFFLE_EXCHANGE = "exchange"
BROADCAST_EXCHANGE = "broadcast_exchange"
REUSED_EXCHANGE = "reused_exchange"


@dataclass(frozen=True, slots=True)
class ScanColumn:
    """One output column of a file scan; `distinct` is how many values it has, where the catalog knows. `label`: its name for
    people, where that is another one."""

    id: int
    name: str
    type: str
    partition: bool
    distinct: int | None = None
    label: str = ""

    @property
    def shown(self) -> str:
        """Its name for people."""
        return self.label or self.name


@dataclass(frozen=True, slots=True)
class Node:
    """What every plan node has: its number, Spark's name for it, its children's numbers, the ids it produces.

    `deterministic` and `may_raise` speak of the operator's own work beyond the expressions that it shows (aggregate functions,
    generators, sort orders), `moved` has the columns moved by a number in it, as of an expression. `literals` is equal for nodes
    that ask the same of their rows, literals included; empty where nothing is asked, None where it can't be told. `by_place`: an
    expression that may give a row another value at another place, `by_order`: a function that goes by the order of its rows, each
    as text, None where there is none. `asks_for_file`: for the file being read.
    """

    id: int
    op: str
    children: tuple[int, ...]
    output: tuple[int, ...]
    deterministic: bool
    may_raise: bool
    moved: tuple[Expression, ...]
    literals: str | None
    by_place: str | None
    by_order: str | None
    asks_for_file: bool

    def expressions(self) -> tuple[Expression, ...]:
        """What the node evaluates for its rows, as far as the snapshot shows it."""
        return ()


@dataclass(frozen=True, slots=True)
class StaticCondition:
    """One condition of the query on a scan: for people, and as a tree of docs/protocol.md ("Static predicates").

    `may_raise`: whether a row can make it fail.
    """

    text: str
    test: Mapping[str, Any]
    may_raise: bool = False


@dataclass(frozen=True, slots=True)
class Scan(Node):
    """A file scan; `bytes` is Spark's size of the relation, `columns_total` the number of the table's data columns.

    `filters` has a word for each conjunct that the scan itself has, `hints` the RTFILTER hints above it, innermost first,
    `roots` where its files are, as Hadoop's texts. `rows` is how many the catalog knows of, None mostly. `static` has the
    conjuncts in the order in which they are evaluated, where the table may have an index. `left`: how many rows its conditions and
    those of the filter right above it leave, as an earlier query saw it (planner/cost/rows_left.py). `thinned`: Spark itself has
    joins drop rows of it, as of a filter.
    `runs`: the ids of filters that are filled and at work there, `passed`: the share of rows that they probably let through.
    `skips_corrupt`: where a file can't be read its remaining rows are left out instead of an error.
    """

    table: str
    format: str
    plain_parquet: bool
    columns: tuple[ScanColumn, ...]
    columns_total: int | None
    bytes: int | None
    filters: tuple[str, ...]
    hints: tuple[TableHint, ...] = ()
    roots: tuple[str, ...] = ()
    rows: int | None = None
    static: tuple[StaticCondition, ...] = ()
    left: int | None = None
    thinned: bool = False
    runs: tuple[str, ...] = ()
    passed: float = 1.0
    skips_corrupt: bool = False


@dataclass(frozen=True, slots=True)
class Project(Node):
    exprs: tuple[Expression, ...]

    def expressions(self) -> tuple[Expression, ...]:
        return self.exprs


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """A filter; `conjuncts` has a word for each part of its condition. `thinned` as of a scan."""

    condition: Expression
    conjuncts: tuple[str, ...]
    thinned: bool = False

    def expressions(self) -> tuple[Expression, ...]:
        return (self.condition,)


@dataclass(frozen=True, slots=True)
class Sort(Node):
    """A sort; every row passes."""


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """An aggregate over `grouping` (none: one row in all) that puts out `results`."""

    grouping: tuple[Expression, ...]
    results: tuple[Expression, ...]

    def expressions(self) -> tuple[Expression, ...]:
        return (*self.grouping, *self.results)


@dataclass(frozen=True, slots=True)
class Window(Node):
    """Window functions, or a limit per group, over `partition`."""

    partition: tuple[Expression, ...]

    def expressions(self) -> tuple[Expression, ...]:
        return self.partition


@dataclass(frozen=True, slots=True)
class Union(Node):
    """All rows of all children; `output[i]` is made of `output[i]` of each."""


@dataclass(frozen=True, slots=True)
class Generate(Node):
    """Each row of the child, with one or more generated ones beside it."""


@dataclass(frozen=True, slots=True)
class Expand(Node):
    """Several rows per row of the child. `sources`: by output id, what makes it in all of them, None if they differ."""

    sources: tuple[tuple[int, Expression | None], ...]

    def expressions(self) -> tuple[Expression, ...]:
        return tuple(source for _, source in self.sources if source is not None)


@dataclass(frozen=True, slots=True)
class Join(Node):
    """A join; `left_keys[i]` equals `right_keys[i]`, `condition` is what must hold besides.

    `build_side` is `left`, `right`, or None for sort-merge joins and Cartesian products. A nested-loop join has no keys.
    """

    kind: str
    join_type: str
    build_side: str | None
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    condition: Expression | None
    null_aware: bool

    @property
    def left(self) -> int:
        return self.children[0]

    @property
    def right(self) -> int:
        return self.children[1]

    @property
    def streamed_side(self) -> str | None:
        """The side that is read row by row against the build side; None for sort-merge joins."""
        return None if self.build_side is None else other_side(self.build_side)

    def child_of(self, side: str) -> int:
        return self.left if side == LEFT else self.right

    def keys_of(self, side: str) -> tuple[Expression, ...]:
        return self.left_keys if side == LEFT else self.right_keys

    def expressions(self) -> tuple[Expression, ...]:
        return (*self.left_keys, *self.right_keys, *(() if self.condition is None else (self.condition,)))


@dataclass(frozen=True, slots=True)
class Exchange(Node):
    """An exchange, a broadcast or the second use of either: what is below runs in a stage of its own.

    `same` is equal for those of a plan that produce the same data and would be computed once.
    """

    kind: str
    same: int | None


@dataclass(frozen=True, slots=True)
class QueryStage(Node):
    """A stage that adaptive execution has started; its child is the plan that it runs. `same` as for exchanges."""

    broadcast: bool
    shuffle: bool
    materialized: bool
    rows: int | None
    bytes: int | None
    same: int | None


@dataclass(frozen=True, slots=True)
class OtherNode(Node):
    """Any operator that has no kind of its own. `runs` as of a scan."""

    runs: tuple[str, ...] = ()


# Operators that say nothing of rows: a change from columns to rows, the bounds of generated code. By the beginnings of their names.
WRAPPERS = ("ColumnarToRow", "WholeStageCodegen", "InputAdapter", "AQEShuffleRead")

PlanNode: TypeAlias = (
    Scan | Project | Filter | Sort | Aggregate | Window | Union | Generate | Expand | Join | Exchange | QueryStage | OtherNode
)


def other_side(side: str) -> str:
    return RIGHT if side == LEFT else LEFT
