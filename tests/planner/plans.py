"""Builds plan snapshots for tests: nested calls in, the preorder node list of docs/protocol.md out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planner.inputs.settings import PlanSettings
from planner.placement.answer import Candidate, FilterPlan, Placeholder
from planner.plan.snapshot import parse_snapshot
from planner.plan.tree import Plan
from planner.questions import place

SNAPSHOTS = Path(__file__).parent / "snapshots"

Raw = dict[str, Any]


def column(id: int, name: str, type: str = "int", partition: bool = False) -> Raw:
    return {"id": id, "name": name, "type": type, "partition": partition}


def scan(table: str, *columns: Raw, **fields: Any) -> Raw:
    """A scan of a million bytes, unless `fields` say otherwise."""
    known: Raw = {
        "table": table,
        "format": "ParquetFileFormat",
        "plain_parquet": True,
        "columns": list(columns),
        "columns_total": len(columns),
        "bytes": 1_000_000,
        "filters": [],
    }
    return _node("scan", f"Scan parquet {table}", [], **{**known, **fields}) | {"output": [each["id"] for each in columns]}


def attr(id: int, name: str = "c", type: str = "int", **more: Any) -> Raw:
    return {"kind": "attr", "id": id, "name": name, "type": type, **more}


def cast(type: str, child: Raw, **more: Any) -> Raw:
    return {"kind": "cast", "type": type, "child": child, **more}


def alias(id: int, child: Raw, name: str = "renamed", **more: Any) -> Raw:
    return {"kind": "alias", "id": id, "name": name, "type": child["type"], "child": child, **more}


def computed(text: str, type: str = "int", refs: Sequence[int] = (), **more: Any) -> Raw:
    return {"kind": "other", "text": text, "type": type, "refs": list(refs), **more}


def project(child: Raw, *exprs: Raw) -> Raw:
    return _node("project", "Project", [child], exprs=list(exprs)) | {"output": [each["id"] for each in exprs]}


def normalize(child: Raw) -> Raw:
    return {"kind": "normalize", "type": child["type"], "child": child}


def shift(child: Raw, sign: int, by: int, **more: Any) -> Raw:
    """`sign · child + by`; with `may_raise=True` in a session that raises on overflow."""
    return {"kind": "shift", "type": child["type"], "child": child, "sign": sign, "by": by, **more}


def coalesce_default(child: Raw) -> Raw:
    return {"kind": "coalesce_default", "type": child["type"], "child": child}


def where(child: Raw, condition: Raw | None = None, conjuncts: Sequence[str] = ("not_null",)) -> Raw:
    condition = condition or computed("isnotnull(c)", "boolean")
    return _node("filter", "Filter", [child], condition=condition, conjuncts=list(conjuncts))


def sort(child: Raw) -> Raw:
    return _node("sort", "Sort", [child])


def aggregate(child: Raw, grouping: Sequence[Raw], results: Sequence[Raw] | None = None) -> Raw:
    put_out = list(grouping) if results is None else list(results)
    ids = {"output": [each["id"] for each in put_out]}
    return _node("aggregate", "HashAggregate", [child], grouping=list(grouping), results=put_out) | ids


def window(child: Raw, partition: Sequence[Raw], made: Sequence[int] = ()) -> Raw:
    return _node("window", "Window", [child], partition=list(partition)) | {"output": [*child["output"], *made]}


def union(output: Sequence[int], *children: Raw) -> Raw:
    return _node("union", "Union", list(children)) | {"output": list(output)}


def generate(child: Raw, made: Sequence[int]) -> Raw:
    return _node("generate", "Generate", [child]) | {"output": [*child["output"], *made]}


def expand(child: Raw, **sources: Raw | None) -> Raw:
    """Sources by output id, written `_7=attr(1)`."""
    columns = [{"id": int(name.removeprefix("_")), "source": source} for name, source in sources.items()]
    return _node("expand", "Expand", [child], columns=columns) | {"output": [column["id"] for column in columns]}


def exchange(child: Raw, same: int | None = None) -> Raw:
    return _node("exchange", "Exchange", [child], same=same)


def broadcast(child: Raw, same: int | None = None) -> Raw:
    return _node("broadcast_exchange", "BroadcastExchange", [child], same=same)


def reused(child: Raw, output: Sequence[int] | None = None) -> Raw:
    return _node("reused_exchange", "ReusedExchange", [child]) | ({} if output is None else {"output": list(output)})


def stage(child: Raw, rows: int | None = None, bytes: int | None = None, same: int | None = None) -> Raw:
    """A stage that has started; with `rows` one that has finished."""
    is_broadcast = child["kind"] == "broadcast_exchange"
    op = "BroadcastQueryStage" if is_broadcast else "ShuffleQueryStage"
    kinds = {"broadcast": is_broadcast, "shuffle": not is_broadcast}
    return _node("query_stage", op, [child], materialized=rows is not None, rows=rows, bytes=bytes, same=same, **kinds)


def other(op: str, *children: Raw, output: Sequence[int] | None = None) -> Raw:
    return _node("other", op, list(children)) | ({} if output is None else {"output": list(output)})


JOIN_OPS = {
    "broadcast_hash_join": "BroadcastHashJoin",
    "shuffled_hash_join": "ShuffledHashJoin",
    "sort_merge_join": "SortMergeJoin",
    "nested_loop_join": "BroadcastNestedLoopJoin",
}


def join(
    left: Raw,
    right: Raw,
    left_keys: Sequence[Raw],
    right_keys: Sequence[Raw],
    join_type: str = "Inner",
    build_side: str | None = "right",
    kind: str = "broadcast_hash_join",
    null_aware: bool = False,
    condition: Raw | None = None,
) -> Raw:
    op = JOIN_OPS[kind]
    output = left["output"] if join_type in ("LeftSemi", "LeftAnti") else left["output"] + right["output"]
    keys = {"left_keys": list(left_keys), "right_keys": list(right_keys), "condition": condition}
    node = _node(kind, op, [left, right], join_type=join_type, build_side=build_side, null_aware=null_aware, **keys)
    return node | {"output": list(output)}


def _node(kind: str, op: str, children: list[Raw], **fields: Any) -> Raw:
    output = [id for child in children for id in child["output"]]
    return {"kind": kind, "op": op, "children": children, "output": output, **fields}


def nodes_of(root: Raw) -> list[Raw]:
    """The node list of a nested plan."""
    nodes: list[Raw] = []

    def walk(node: Raw) -> int:
        number = len(nodes)
        flat: Raw = {"id": number}
        nodes.append(flat)
        flat.update(node)
        flat["children"] = [walk(child) for child in node["children"]]
        return number

    walk(root)
    return nodes


def plan_of(root: Raw) -> Plan:
    return parse_snapshot(nodes_of(root))


def answer_to(root: Raw, **settings: Any) -> FilterPlan:
    return place(plan_of(root), PlanSettings("d1", **settings))


def placed(root: Raw, **settings: Any) -> list[str]:
    """What is filtered by what, as `table.column <- table.column`, in the order of the answer."""
    candidates = answer_to(root, **settings).candidates
    return [f"{each.probe} <- {each.build}" for each in candidates if each.placeholder is not None]


def ahead_of(placeholder: Placeholder) -> set[str]:
    """What rows have before them: the names of the figures that are not zero."""
    return {name for name in ("shuffle_bytes", "sorts", "probes", "groups", "broadcasts") if getattr(placeholder.ahead, name) > 0}


def reasons(root: Raw, **settings: Any) -> dict[str, str]:
    """The reason of every candidate, by `probe <- build`."""
    return {f"{each.probe} <- {each.build}": each.reason for each in answer_to(root, **settings).candidates}


def only_candidate(root: Raw, **settings: Any) -> Candidate:
    """The one candidate of a plan with one key pair."""
    (candidate,) = answer_to(root, **settings).candidates
    return candidate


def read_snapshot(name: str) -> Any:
    return json.loads((SNAPSHOTS / f"{name}.json").read_text(encoding="utf-8"))


# The two tables of most tests: a large one and a small one, joined by one key.
FACT = scan("fact", column(1, "f_key"), column(2, "f_amount", "bigint"))
DIM = scan("dim", column(11, "d_key"), column(12, "d_name", "string"))


def fact_with(probe: Raw, key: Raw | None = None, **join_fields: Any) -> Raw:
    """`probe` joined with the broadcast dimension on `key`, which is column 1 if nothing is said."""
    return join(probe, broadcast(where(DIM)), [key or attr(1, "f_key")], [attr(11, "d_key")], **join_fields)


def merged(left: Raw, right: Raw, left_keys: Sequence[Raw], right_keys: Sequence[Raw], **more: Any) -> Raw:
    """A sort-merge join of two shuffled sides."""
    return join(sort(exchange(left)), sort(exchange(right)), left_keys, right_keys, build_side=None, kind="sort_merge_join", **more)


def changed(node: Raw, **fields: Any) -> Raw:
    """A node with other fields, such as `may_raise=True`."""
    return node | fields
