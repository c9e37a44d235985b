"""Nodes of a plan: frozen, in preorder, each with what the planner must know of its operator."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from planner.expressions import Alias, Attribute, Expression
from planner.hints import TableHint
from planner.observed import Traits
from planner.reasons import Refusal

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
    """One output column of a file scan; `distinct` is how many values it has, where the catalog knows."""

    id: int
    name: str
    type: str
    partition: bool
    distinct: int | None = None


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
    those of the filter right above it leave, as an earlier query saw it (planner/seen_rows.py). `thinned`: Spark itself has joins
    drop rows of it, as of a filter.
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


@dataclass(frozen=True, slots=True)
class ScanPlace:
    """What the place and the order of a scan's rows are used for.

    `refusal`: why its tasks must keep the rows that they have without a filter. `by_order`: something takes rows in their order.
    `reaches_root`: the plan's result has the scan's own rows, joined perhaps, and not groups of them.
    """

    refusal: Refusal | None = None
    by_order: bool = False
    reaches_root: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole plan in preorder: `nodes[i].id == i`, the root is 0, and a subtree is a run of numbers.

    Many keys are followed through the same nodes, so what a node produces is looked up in tables made at the first look.
    """

    nodes: tuple[PlanNode, ...]
    # ends[i]: the number after the last node below i; parents[0] is -1.
    ends: tuple[int, ...]
    parents: tuple[int, ...]
    # By node: which columns are equal in all its rows; planner/equalities.py fills it.
    equalities: dict[int, Mapping[int, int]] = field(default_factory=dict, compare=False, repr=False)
    # By scan: what the place and the order of its rows are used for; planner/by_place.py fills it.
    places: dict[int, ScanPlace] = field(default_factory=dict, compare=False, repr=False)
    # What by_place.py looks up once for all scans.
    said_of_places: dict[Hashable, object] = field(default_factory=dict, compare=False, repr=False)
    # By filter: what names it beyond this query; planner/traits.py fills it.
    traits: dict[Hashable, Traits] = field(default_factory=dict, compare=False, repr=False)
    _types: dict[int, str] = field(default_factory=dict, compare=False, repr=False)
    _outputs: dict[int, frozenset[int]] = field(default_factory=dict, compare=False, repr=False)
    _named: dict[int, Mapping[int, Attribute | Alias]] = field(default_factory=dict, compare=False, repr=False)
    _steady: dict[int, bool] = field(default_factory=dict, compare=False, repr=False)
    _raising: dict[int, bool] = field(default_factory=dict, compare=False, repr=False)
    _raising_ids: list[tuple[int, ...]] = field(default_factory=list, compare=False, repr=False)

    def column_types(self) -> Mapping[int, str]:
        """The types of all columns that scans put out, by expression id; copies of a scan that share ids share types."""
        if not self._types:
            self._types.update({column.id: column.type for node in self.nodes if isinstance(node, Scan) for column in node.columns})
        return self._types

    def output_ids(self, node: int) -> frozenset[int]:
        """The ids of the columns that a node hands on."""
        output = self._outputs.get(node)
        if output is None:
            output = self._outputs[node] = frozenset(self.nodes[node].output)
        return output

    def has_output(self, node: int, id: int) -> bool:
        """Whether a node hands on a column of this id."""
        return id in self.output_ids(node)

    def named(self, node: Project | Aggregate) -> Mapping[int, Attribute | Alias]:
        """What a projection or an aggregate puts out, by id."""
        found = self._named.get(node.id)
        if found is None:
            exprs = node.exprs if isinstance(node, Project) else node.results
            found = {expr.id: expr for expr in reversed(exprs) if isinstance(expr, Attribute | Alias)}
            self._named[node.id] = found
        return found

    def is_deterministic(self, node: int) -> bool:
        """Whether a node does the same with the same row every time."""
        known = self._steady.get(node)
        if known is None:
            at = self.nodes[node]
            known = self._steady[node] = (
                at.deterministic and at.by_place is None and all(expr.deterministic for expr in at.expressions())
            )
        return known

    def may_raise(self, node: int) -> bool:
        """Whether a row can make a node fail."""
        known = self._raising.get(node)
        if known is None:
            at = self.nodes[node]
            known = self._raising[node] = at.may_raise or any(expr.may_raise for expr in (*at.moved, *at.expressions()))
        return known

    def raising_below(self, node: int) -> Iterator[PlanNode]:
        """The nodes of a subtree that a row can make fail and that have not run."""
        if not self._raising_ids:
            run = [
                range(stage.id, self.ends[stage.id]) for stage in self.nodes if isinstance(stage, QueryStage) and stage.materialized
            ]
            over = {id_ for each in run for id_ in each}
            self._raising_ids.append(tuple(each.id for each in self.nodes if each.id not in over and self.may_raise(each.id)))
        ids = self._raising_ids[0]
        return (self.nodes[each] for each in ids[bisect_left(ids, node) : bisect_left(ids, self.ends[node])])

    def subtree(self, node: int) -> Iterator[PlanNode]:
        """A node and all below it, in preorder."""
        return iter(self.nodes[node : self.ends[node]])

    def is_below(self, node: int, above: int) -> bool:
        """Whether `node` is `above` or below it."""
        return above <= node < self.ends[above]

    def below_wrappers(self, node: int) -> PlanNode:
        """A node, or the first one below it that says something of rows."""
        at = self.nodes[node]
        while isinstance(at, OtherNode) and at.op.startswith(WRAPPERS) and len(at.children) == 1:
            at = self.nodes[at.children[0]]
        return at

    def ancestors(self, node: int) -> Iterator[PlanNode]:
        """The nodes above a node, nearest first."""
        at = self.parents[node]
        while at >= 0:
            yield self.nodes[at]
            at = self.parents[at]
