"""The plan as the bridge shows it (docs/protocol.md, "plan"), read into frozen nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from planner.errors import SnapshotError

LEFT = "left"
RIGHT = "right"

BROADCAST = "broadcast_hash_join"
SHUFFLED_HASH = "shuffled_hash_join"
SORT_MERGE = "sort_merge_join"
JOIN_KINDS = (BROADCAST, SHUFFLED_HASH, SORT_MERGE)
EXCHANGE_KINDS = ("exchange", "broadcast_exchange", "reused_exchange")
UNARY_KINDS = ("project", "filter", "sort", *EXCHANGE_KINDS, "query_stage")

# Casts and aliases are the only expressions with an expression inside; nobody stacks more of them than this.
DEEPEST_EXPRESSION = 64


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column that a node below produces."""

    id: int
    name: str
    type: str
    deterministic: bool


@dataclass(frozen=True, slots=True)
class Alias:
    """An expression under a new id and name."""

    id: int
    name: str
    type: str
    child: Expression
    deterministic: bool


@dataclass(frozen=True, slots=True)
class Cast:
    """An expression read as another type."""

    type: str
    child: Expression
    deterministic: bool


@dataclass(frozen=True, slots=True)
class OtherExpression:
    """Anything else: its text for people, the ids it reads."""

    text: str
    type: str
    refs: tuple[int, ...]
    deterministic: bool


Expression: TypeAlias = Attribute | Alias | Cast | OtherExpression


@dataclass(frozen=True, slots=True)
class ScanColumn:
    """One output column of a file scan."""

    id: int
    name: str
    type: str
    partition: bool


@dataclass(frozen=True, slots=True)
class Node:
    """What every plan node has: its number, Spark's name for it, its children's numbers, the ids it produces."""

    id: int
    op: str
    children: tuple[int, ...]
    output: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scan(Node):
    """A file scan; `bytes` is Spark's size of the relation."""

    table: str
    format: str
    plain_parquet: bool
    columns: tuple[ScanColumn, ...]
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Project(Node):
    exprs: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Filter(Node):
    condition: Expression


@dataclass(frozen=True, slots=True)
class Sort(Node):
    """A sort; every row passes."""


@dataclass(frozen=True, slots=True)
class Join(Node):
    """An equi-join; `left_keys[i]` equals `right_keys[i]`. `build_side` is `left`, `right`, or None for sort-merge joins."""

    kind: str
    join_type: str
    build_side: str | None
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
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
        if self.build_side is None:
            return None
        return RIGHT if self.build_side == LEFT else LEFT

    def child_of(self, side: str) -> int:
        return self.left if side == LEFT else self.right

    def keys_of(self, side: str) -> tuple[Expression, ...]:
        return self.left_keys if side == LEFT else self.right_keys


@dataclass(frozen=True, slots=True)
class Exchange(Node):
    """An exchange, a broadcast or the second use of either: what is below runs in a stage of its own."""

    kind: str


@dataclass(frozen=True, slots=True)
class QueryStage(Node):
    """A stage that adaptive execution has started; its child is the plan that it runs."""

    broadcast: bool
    materialized: bool
    rows: int | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class OtherNode(Node):
    """Any operator that has no kind of its own."""


PlanNode: TypeAlias = Scan | Project | Filter | Sort | Join | Exchange | QueryStage | OtherNode


@dataclass(frozen=True, slots=True)
class Projection:
    """The columns of a projection by id, and whether all of them are deterministic."""

    by_id: Mapping[int, Attribute | Alias]
    deterministic: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole plan in preorder: `nodes[i].id == i`, the root is 0.

    Many keys are followed through the same nodes, so what a node produces is looked up in tables made at the first look.
    """

    nodes: tuple[PlanNode, ...]
    _outputs: dict[int, frozenset[int]] = field(default_factory=dict, compare=False, repr=False)
    _projections: dict[int, Projection] = field(default_factory=dict, compare=False, repr=False)

    def has_output(self, node: int, id: int) -> bool:
        """Whether a node hands on a column of this id."""
        output = self._outputs.get(node)
        if output is None:
            output = self._outputs[node] = frozenset(self.nodes[node].output)
        return id in output

    def projection(self, node: Project) -> Projection:
        """What a projection produces, by id."""
        found = self._projections.get(node.id)
        if found is None:
            named = {expr.id: expr for expr in reversed(node.exprs) if isinstance(expr, Attribute | Alias)}
            found = self._projections[node.id] = Projection(named, all(expr.deterministic for expr in node.exprs))
        return found


def parse_snapshot(nodes: object) -> Plan:
    """The plan of a `plan` request's `nodes`.

    Raises:
        SnapshotError: something in it is missing, of the wrong type, or not a tree in preorder.
    """
    if not isinstance(nodes, list) or not nodes:
        raise SnapshotError("a plan snapshot must be a list of at least one node")
    parsed = tuple(_node(raw, expected) for expected, raw in enumerate(nodes))
    _check_tree(parsed)
    return Plan(parsed)


def _check_tree(nodes: Sequence[PlanNode]) -> None:
    parent: list[int | None] = [None] * len(nodes)
    for node in nodes:
        for child in node.children:
            if not node.id < child < len(nodes):
                raise SnapshotError(f"node {node.id} ({node.op}) has child {child}, which is not a node after it")
            if parent[child] is not None:
                raise SnapshotError(f"node {child} is a child of both node {parent[child]} and node {node.id}")
            parent[child] = node.id
    for orphan in range(1, len(nodes)):
        if parent[orphan] is None:
            raise SnapshotError(f"node {orphan} ({nodes[orphan].op}) is nobody's child")


def _node(raw: object, expected: int) -> PlanNode:
    if not isinstance(raw, dict):
        raise SnapshotError(f"node {expected} is {raw!r:.80}, not an object")
    if raw.get("id") != expected:
        raise SnapshotError(f"node {expected} has the id {raw.get('id')!r}; ids must count from 0 in preorder")
    where = f"node {expected} ({raw.get('op', '?')})"
    kind = _field(raw, "kind", str, where)
    base = (expected, _field(raw, "op", str, where), _ids(raw, "children", where), _ids(raw, "output", where))
    if kind == "scan":
        return _scan(raw, base, where)
    if kind in JOIN_KINDS:
        return _join(raw, kind, base, where)
    if kind == "other":
        return OtherNode(*base)
    if kind not in UNARY_KINDS:
        raise SnapshotError(f"{where} has the unknown kind {kind!r}")
    if len(base[2]) != 1:
        raise SnapshotError(f"{where} of kind {kind} has {len(base[2])} children instead of one")
    if kind == "project":
        return Project(*base, _expressions(raw, "exprs", where))
    if kind == "filter":
        return Filter(*base, parse_expression(raw.get("condition"), where))
    if kind == "sort":
        return Sort(*base)
    if kind in EXCHANGE_KINDS:
        return Exchange(*base, kind)
    broadcast, materialized = _field(raw, "broadcast", bool, where), _field(raw, "materialized", bool, where)
    return QueryStage(*base, broadcast, materialized, _count(raw, "rows", where), _count(raw, "bytes", where))


def _scan(raw: Mapping[str, Any], base: tuple[int, str, tuple[int, ...], tuple[int, ...]], where: str) -> Scan:
    if base[2]:
        raise SnapshotError(f"{where} is a scan and has children")
    columns = tuple(
        ScanColumn(
            _field(column, "id", int, where),
            _field(column, "name", str, where),
            _field(column, "type", str, where),
            _field(column, "partition", bool, where),
        )
        for column in _list(raw, "columns", where)
    )
    table, file_format = _field(raw, "table", str, where), _field(raw, "format", str, where)
    return Scan(*base, table, file_format, _field(raw, "plain_parquet", bool, where), columns, _count(raw, "bytes", where))


def _join(raw: Mapping[str, Any], kind: str, base: tuple[int, str, tuple[int, ...], tuple[int, ...]], where: str) -> Join:
    build_side = raw.get("build_side")
    if build_side not in (LEFT, RIGHT, None):
        raise SnapshotError(f"{where} has the build side {build_side!r}; it must be left, right or null")
    if kind != SORT_MERGE and build_side is None:
        raise SnapshotError(f"{where} is a {kind} without a build side")
    if len(base[2]) != 2:
        raise SnapshotError(f"{where} is a join with {len(base[2])} children")
    left_keys, right_keys = _expressions(raw, "left_keys", where), _expressions(raw, "right_keys", where)
    if len(left_keys) != len(right_keys):
        raise SnapshotError(f"{where} has {len(left_keys)} left keys and {len(right_keys)} right keys")
    return Join(
        *base, kind, _field(raw, "join_type", str, where), build_side, left_keys, right_keys, _field(raw, "null_aware", bool, where)
    )


def parse_expression(raw: object, where: str, depth: int = 0) -> Expression:
    """One expression of the snapshot.

    Raises:
        SnapshotError: it is not one of attr, alias, cast, other with their fields; `where` starts the text.
    """
    if not isinstance(raw, dict):
        raise SnapshotError(f"{where} has {raw!r:.80} where an expression should be")
    if depth > DEEPEST_EXPRESSION:
        raise SnapshotError(f"{where} has an expression nested deeper than {DEEPEST_EXPRESSION}")
    kind = raw.get("kind")
    deterministic = raw.get("deterministic", True) is True
    type_ = _field(raw, "type", str, where)
    if kind == "attr":
        return Attribute(_field(raw, "id", int, where), _field(raw, "name", str, where), type_, deterministic)
    if kind == "other":
        return OtherExpression(_field(raw, "text", str, where), type_, _ids(raw, "refs", where), deterministic)
    if kind == "alias":
        child = parse_expression(raw.get("child"), where, depth + 1)
        return Alias(_field(raw, "id", int, where), _field(raw, "name", str, where), type_, child, deterministic)
    if kind == "cast":
        return Cast(type_, parse_expression(raw.get("child"), where, depth + 1), deterministic)
    raise SnapshotError(f"{where} has an expression of the unknown kind {kind!r}")


def _field(raw: object, name: str, wanted: type, where: str) -> Any:
    value = raw.get(name) if isinstance(raw, dict) else None
    # The exact type: a bool is an int to isinstance.
    if type(value) is not wanted:
        raise SnapshotError(f"{where} has {name} = {value!r:.80}, it must be of type {wanted.__name__}")
    return value


def _list(raw: Mapping[str, Any], name: str, where: str) -> list[Any]:
    value = raw.get(name)
    if not isinstance(value, list):
        raise SnapshotError(f"{where} has {name} = {value!r:.80}, it must be a list")
    return value


def _ids(raw: Mapping[str, Any], name: str, where: str) -> tuple[int, ...]:
    values = _list(raw, name, where)
    for value in values:
        if type(value) is not int:
            raise SnapshotError(f"{where} has {value!r:.80} among its {name}, ids must be whole numbers")
    return tuple(values)


def _expressions(raw: Mapping[str, Any], name: str, where: str) -> tuple[Expression, ...]:
    return tuple(parse_expression(each, where) for each in _list(raw, name, where))


def _count(raw: Mapping[str, Any], name: str, where: str) -> int | None:
    value = raw.get(name)
    if value is None:
        return None
    if type(value) is not int:
        raise SnapshotError(f"{where} has {name} = {value!r:.80}, it must be a whole number or null")
    return value
