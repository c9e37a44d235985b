"""Reads the plan that the bridge shows (docs/protocol.md, "plan") into frozen nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from planner.inputs.table_hints import TableHint
from planner.plan.errors import SnapshotError
from planner.plan.expressions import Expression, parse_expression, parse_expressions, read_moved
from planner.plan.json_fields import Raw, check_present, read_count, read_field, read_ids, read_list, read_words
from planner.plan.nodes import (
    BROADCAST,
    BROADCAST_EXCHANGE,
    LEFT,
    NESTED_LOOP,
    REUSED_EXCHANGE,
    RIGHT,
    SHUFFLE_EXCHANGE,
    SHUFFLED_HASH,
    SORT_MERGE,
    Aggregate,
    Exchange,
    Expand,
    Filter,
    Generate,
    Join,
    OtherNode,
    PlanNode,
    Project,
    QueryStage,
    Scan,
    ScanColumn,
    Sort,
    StaticCondition,
    Union,
    Window,
)
from planner.plan.raising import in_any_order, read_may_raise, read_steps
from planner.plan.tree import Plan


class _Common(NamedTuple):
    """The fields that every node has, in the order of the constructors. A tuple, for there is one for each node."""

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


def parse_snapshot(nodes: object) -> Plan:
    """The plan of a `plan` request's `nodes`.

    Raises:
        SnapshotError: something in it is missing, of the wrong type, or not a tree in preorder.
    """
    if not isinstance(nodes, list) or not nodes:
        raise SnapshotError("a plan snapshot must be a list of at least one node")
    parsed = tuple(_node(raw, expected) for expected, raw in enumerate(nodes))
    parents = _parents(parsed)
    return Plan(parsed, _ends(parsed, parents), parents)


def _parents(nodes: Sequence[PlanNode]) -> tuple[int, ...]:
    parents: list[int | None] = [None] * len(nodes)
    for node in nodes:
        for child in node.children:
            if not node.id < child < len(nodes):
                raise SnapshotError(f"node {node.id} ({node.op}) has child {child}, which is not a node after it")
            if parents[child] is not None:
                raise SnapshotError(f"node {child} is a child of both node {parents[child]} and node {node.id}")
            parents[child] = node.id
    for orphan in range(1, len(nodes)):
        if parents[orphan] is None:
            raise SnapshotError(f"node {orphan} ({nodes[orphan].op}) is nobody's child")
    return tuple(-1 if parent is None else parent for parent in parents)


def _ends(nodes: Sequence[PlanNode], parents: Sequence[int]) -> tuple[int, ...]:
    """The number after the last node of each subtree. In preorder children follow their parent without a gap."""
    ends = [node.id + 1 for node in nodes]
    for node in reversed(nodes):
        if node.id:
            ends[parents[node.id]] = max(ends[parents[node.id]], ends[node.id])
    for node in nodes:
        expected = node.id + 1
        for child in node.children:
            if child != expected:
                raise SnapshotError(f"node {node.id} ({node.op}) has child {child} where preorder asks for {expected}")
            expected = ends[child]
    return tuple(ends)


def _node(raw: object, expected: int) -> PlanNode:
    if not isinstance(raw, dict):
        raise SnapshotError(f"node {expected} is {raw!r:.80}, not an object")
    if raw.get("id") != expected:
        raise SnapshotError(f"node {expected} has the id {raw.get('id')!r}; ids must count from 0 in preorder")
    where = f"node {expected} ({raw.get('op', '?')})"
    kind = read_field(raw, "kind", str, where)
    common = _Common(
        expected,
        read_field(raw, "op", str, where),
        read_ids(raw, "children", where),
        read_ids(raw, "output", where),
        raw.get("deterministic", True) is True and ("functions" not in raw or _in_any_order(raw, where)),
        read_may_raise(raw, where) if "steps" in raw else raw.get("may_raise", False) is not False,
        read_moved(raw, where) if "moved" in raw else (),
        _literals(raw, where),
        read_field(raw, "by_place", str, where) if "by_place" in raw else None,
        read_field(raw, "by_order", str, where) if "by_order" in raw else None,
        "asks_for_file" in raw and raw["asks_for_file"] is not False,
    )
    read = _READERS.get(kind)
    if read is None:
        raise SnapshotError(f"{where} has the unknown kind {kind!r}")
    wanted = _CHILDREN.get(kind, 1)
    if wanted is not None and len(common.children) != wanted:
        raise SnapshotError(f"{where} of kind {kind} has {len(common.children)} children instead of {wanted}")
    return read(raw, kind, common, where)


def _in_any_order(raw: Raw, where: str) -> bool:
    return all(in_any_order(each) for each in read_steps(raw, "functions", where))


def _literals(raw: Raw, where: str) -> str | None:
    if "literals" not in raw:
        return ""
    return None if raw["literals"] is None else str(read_field(raw, "literals", str, where))


def _scan(raw: Raw, _kind: str, common: _Common, where: str) -> PlanNode:
    columns = tuple(
        ScanColumn(
            read_field(column, "id", int, where),
            read_field(column, "name", str, where),
            read_field(column, "type", str, where),
            read_field(column, "partition", bool, where),
            read_count(column, "distinct", where),
            str(column.get("label") or ""),
        )
        for column in read_list(raw, "columns", where)
    )
    return Scan(
        *common,
        table=read_field(raw, "table", str, where),
        format=read_field(raw, "format", str, where),
        plain_parquet=read_field(raw, "plain_parquet", bool, where),
        columns=columns,
        columns_total=read_count(raw, "columns_total", where),
        bytes=read_count(raw, "bytes", where),
        filters=read_words(raw, "filters", where),
        hints=parse_hints(raw, where),
        roots=read_words(raw, "roots", where),
        rows=read_count(raw, "rows", where),
        static=_static(raw, where),
        thinned=raw.get("thinned", False) is True,
        runs=_runs(raw, where),
        skips_corrupt=raw.get("skips_corrupt", False) is not False,
    )


def _runs(raw: Raw, where: str) -> tuple[str, ...]:
    return read_words(raw, "runs", where) if "runs" in raw else ()


def _static(raw: Raw, where: str) -> tuple[StaticCondition, ...]:
    if "static" not in raw:
        return ()
    return tuple(
        StaticCondition(read_field(each, "text", str, where), read_field(each, "test", dict, where), _may_raise(each, where))
        for each in read_list(raw, "static", where)
    )


def _may_raise(raw: Raw, where: str) -> bool:
    return read_may_raise(raw, where) or any(each.may_raise for each in read_moved(raw, where))


def parse_hints(raw: Raw, where: str) -> tuple[TableHint, ...]:
    """The RTFILTER hints of a scan, none where the field is absent.

    Raises:
        SnapshotError: a hint that is not as docs/protocol.md has it.
    """
    found = read_list(raw, "hints", where) if "hints" in raw else []
    if not all(isinstance(hint, dict) for hint in found):
        raise SnapshotError(f"{where} has {found!r:.80} as its hints, they must be objects")
    return tuple(
        TableHint(read_words(hint, "words", where), read_words(hint, "names", where), read_words(hint, "known", where))
        for hint in found
    )


def _project(raw: Raw, _kind: str, common: _Common, where: str) -> PlanNode:
    return Project(*common, exprs=parse_expressions(raw, "exprs", where))


def _filter(raw: Raw, _kind: str, common: _Common, where: str) -> PlanNode:
    condition = parse_expression(raw.get("condition"), where)
    thinned = raw.get("thinned", False) is True
    return Filter(*common, condition=condition, conjuncts=read_words(raw, "conjuncts", where), thinned=thinned)


def _aggregate(raw: Raw, _kind: str, common: _Common, where: str) -> PlanNode:
    grouping, results = parse_expressions(raw, "grouping", where), parse_expressions(raw, "results", where)
    return Aggregate(*common, grouping=grouping, results=results)


def _window(raw: Raw, _kind: str, common: _Common, where: str) -> PlanNode:
    return Window(*common, partition=parse_expressions(raw, "partition", where))


def _expand(raw: Raw, _kind: str, common: _Common, where: str) -> PlanNode:
    sources: list[tuple[int, Expression | None]] = []
    for column in read_list(raw, "columns", where):
        id_ = read_field(column, "id", int, where)
        check_present(column, "source", where)
        source = column["source"]
        sources.append((id_, None if source is None else parse_expression(source, where)))
    return Expand(*common, sources=tuple(sources))


def _join(raw: Raw, kind: str, common: _Common, where: str) -> PlanNode:
    build_side = raw.get("build_side")
    if build_side not in (LEFT, RIGHT, None):
        raise SnapshotError(f"{where} has the build side {build_side!r}; it must be left, right or null")
    if kind in (BROADCAST, SHUFFLED_HASH) and build_side is None:
        raise SnapshotError(f"{where} is a {kind} without a build side")
    left_keys, right_keys = parse_expressions(raw, "left_keys", where), parse_expressions(raw, "right_keys", where)
    if len(left_keys) != len(right_keys):
        raise SnapshotError(f"{where} has {len(left_keys)} left keys and {len(right_keys)} right keys")
    check_present(raw, "condition", where)
    condition = raw["condition"]
    return Join(
        *common,
        kind=kind,
        join_type=read_field(raw, "join_type", str, where),
        build_side=build_side,
        left_keys=left_keys,
        right_keys=right_keys,
        condition=None if condition is None else parse_expression(condition, where),
        null_aware=read_field(raw, "null_aware", bool, where),
    )


def _exchange(raw: Raw, kind: str, common: _Common, where: str) -> PlanNode:
    if kind != REUSED_EXCHANGE:
        check_present(raw, "same", where)
    return Exchange(*common, kind=kind, same=read_count(raw, "same", where))


def _query_stage(raw: Raw, _kind: str, common: _Common, where: str) -> PlanNode:
    check_present(raw, "same", where)
    return QueryStage(
        *common,
        broadcast=read_field(raw, "broadcast", bool, where),
        shuffle=read_field(raw, "shuffle", bool, where),
        materialized=read_field(raw, "materialized", bool, where),
        rows=read_count(raw, "rows", where),
        bytes=read_count(raw, "bytes", where),
        same=read_count(raw, "same", where),
    )


def _other(raw: Raw, _kind: str, common: _Common, where: str) -> PlanNode:
    return OtherNode(*common, runs=_runs(raw, where))


def _bare(node: type[Sort | Union | Generate]) -> Callable[[Raw, str, _Common, str], PlanNode]:
    def read(_raw: Raw, _kind: str, common: _Common, _where: str) -> PlanNode:
        return node(*common)

    return read


_READERS: dict[str, Callable[[dict[str, Any], str, _Common, str], PlanNode]] = {
    "scan": _scan,
    "project": _project,
    "filter": _filter,
    "sort": _bare(Sort),
    "aggregate": _aggregate,
    "window": _window,
    "union": _bare(Union),
    "generate": _bare(Generate),
    "expand": _expand,
    BROADCAST: _join,
    SHUFFLED_HASH: _join,
    SORT_MERGE: _join,
    NESTED_LOOP: _join,
    SHUFFLE_EXCHANGE: _exchange,
    BROADCAST_EXCHANGE: _exchange,
    REUSED_EXCHANGE: _exchange,
    "query_stage": _query_stage,
    "other": _other,
}
# How many children a kind has; None: any number. One where nothing is said.
_CHILDREN: dict[str, int | None] = {
    "scan": 0,
    BROADCAST: 2,
    SHUFFLED_HASH: 2,
    SORT_MERGE: 2,
    NESTED_LOOP: 2,
    "union": None,
    "other": None,
}
