"""A physical plan as a text, read into the nodes of docs/protocol.md: an indented tree, one operator a line, by Spark's names.

    SortMergeJoin Inner fact.k = dim.k, fact.v = dim.w on fact.a > dim.b
      Sort
        Exchange {same=1}
          Filter fact.v > 5
            Scan fact[k, v bigint, day date partition] rows=1M
      ShuffleQueryStage rows=10 bytes=1k
        Exchange
          Scan dim[k, w bigint, b] bytes=10k

- `Scan TABLE[columns]`, `Scan TABLE as NAME[columns]`: a column is an int where no type stands behind it. Fields: `rows` (10M where
  nothing is said, below a broadcast 1k), `bytes` (8 a row where nothing is said), `format`, `corrupt`, `thinned`, `hint`, `roots`,
  `runs`; `asks` in braces: static conditions.
- `Project EXPRESSIONS`, `HashAggregate by GROUPS -> RESULTS`, `Window by EXPRESSIONS adds NAME`, `Generate adds NAME`,
  `Expand EXPRESSION as NAME, null as NAME`, `Union NAME[columns]`, `Filter CONDITION AND CONDITION`, `Sort`, `Exchange`,
  `BroadcastExchange`, `ReusedExchange NAME[columns]`, `ShuffleQueryStage` and `BroadcastQueryStage` (finished with `rows`, else
  running).
- Joins: `BroadcastHashJoin`, `ShuffledHashJoin` (`build=right` where nothing is said), `SortMergeJoin`, `BroadcastNestedLoopJoin`;
  then the join type, `null_aware`, the keys and `on` a condition.
- Any other operator is one that the planner does not know: `Sample`, `InMemoryTableScan memory[k]`.
- In braces behind any of them: further fields of the node, such as `{same=1; by_place=rand(7)}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.planner import plans
from tests.planner.golden import expression_text as texts
from tests.planner.golden.expression_text import Columns
from tests.planner.golden.words import count_of, fields_of, split_outside

Raw = plans.Raw
_LINE = re.compile(r"(?P<op>\w+)(?: (?P<rest>.*?))?(?: ?\{(?P<flags>.*)\})?")
_NAMED = re.compile(r"(?:(?P<table>\w+) as )?(?P<name>\w+)\[(?P<columns>.*)\](?P<fields>.*)")


@dataclass(slots=True)
class Line:
    """One operator: what stands behind its name, its further fields, whether a broadcast is above it, and what is below it."""

    op: str
    rest: str
    flags: Raw
    broadcast: bool = False
    children: list[Line] = field(default_factory=list)


def parse_plan(lines: list[str]) -> Raw:
    """The nested nodes of a plan; `plans.nodes_of` makes the protocol's list of them.

    Raises:
        ValueError: it is no plan, with the line that is none.
    """
    return _node(_tree(lines), Columns())


def _tree(lines: list[str]) -> Line:
    stack: list[tuple[int, Line]] = []
    root: Line | None = None
    for text in lines:
        found = _LINE.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"{text!r} is no operator of a plan")
        indent = len(text) - len(text.lstrip())
        line = Line(found["op"], found["rest"] or "", _flags(found["flags"] or ""))
        while stack and stack[-1][0] >= indent:
            stack.pop()
        if stack:
            above = stack[-1][1]
            line.broadcast = above.broadcast or above.op == "BroadcastExchange"
            above.children.append(line)
        elif root is None:
            root = line
        else:
            raise ValueError(f"{text!r} stands beside the root of the plan, not below it")
        stack.append((indent, line))
    if root is None:
        raise ValueError("a plan has at least one operator")
    return root


def _flags(text: str) -> Raw:
    """`same=1; by_order=first(); asks_for_file`: numbers and lists as in JSON, a name alone is true, other values are texts."""
    found: Raw = {}
    for part in split_outside(text, ";"):
        name, given, value = part.partition("=")
        try:
            found[name] = json.loads(value) if given else True
        except json.JSONDecodeError:
            found[name] = value
    return found


def _node(line: Line, columns: Columns) -> Raw:
    children = [_node(child, columns) for child in line.children]
    try:
        made = _READERS.get(line.op, _other)(line, children, columns)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{line.op} {line.rest}: {error}") from error
    return made | line.flags


def _named(line: Line) -> tuple[str, str, list[str], dict[str, str]]:
    found = _NAMED.fullmatch(line.rest)
    if found is None:
        raise ValueError("a name and columns in brackets must follow")
    return found["table"] or found["name"], found["name"], split_outside(found["columns"], ","), fields_of(found["fields"])


def _column(text: str, name: str, columns: Columns) -> Raw:
    own, _, rest = text.partition(" ")
    words = rest.split()
    types = [word for word in words if word != "partition" and not word.startswith("distinct=")]
    type = " ".join(types) or "int"
    made = plans.column(columns.define(f"{name}.{own}", type), own, type, partition="partition" in words)
    distinct = next((word.removeprefix("distinct=") for word in words if word.startswith("distinct=")), None)
    return made if distinct is None else made | {"distinct": count_of(distinct)}


def _scan(line: Line, _children: list[Raw], columns: Columns) -> Raw:
    table, name, given, fields = _named(line)
    rows = count_of(fields.get("rows", "1k" if line.broadcast else "10M"))
    known: dict[str, Any] = {"rows": rows, "bytes": None if rows is None else rows * 8}
    if "bytes" in fields:
        known |= {"bytes": count_of(fields["bytes"]), "rows": rows if "rows" in fields else None}
    if "format" in fields:
        known |= {"format": fields["format"], "plain_parquet": False}
    known |= {name: fields[name].split(",") for name in ("runs", "roots") if name in fields}
    known |= {field: True for field, word in (("skips_corrupt", "corrupt"), ("thinned", "thinned")) if word in fields}
    if "hint" in fields:
        known["hints"] = [{"words": fields["hint"].split(), "names": [table, name], "known": ["fact", "dim", table, name]}]
    if "asks" in line.flags:
        known["static"] = [_static(part, name, columns) for part in split_outside(str(line.flags.pop("asks")), " AND ")]
    return plans.scan(table, *(_column(text, name, columns) for text in given), **known)


_OPERATIONS = {"=": "eq", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "<=>": "same"}


def _static(text: str, name: str, columns: Columns) -> Raw:
    """What the query itself asks of a scan, as a tree of docs/protocol.md; its columns are written without the table's name."""
    return {
        "text": text,
        "test": _tree_of(text),
        "steps": [["Divide", "ANSI", "double", ["double", "double"]]] if " / " in text else [],
    }


def _tree_of(text: str) -> Raw:
    alternatives = split_outside(text.removeprefix("(").removesuffix(")"), " OR ")
    if len(alternatives) > 1:
        return {"op": "or", "args": [_tree_of(part) for part in alternatives]}
    if text.startswith("NOT "):
        return {"op": "not", "args": [_tree_of(text.removeprefix("NOT "))]}
    nulls = re.fullmatch(r"(\w+) is (not )?null", text)
    if nulls is not None:
        return {"op": "is_not_null" if nulls[2] else "is_null", "column": nulls[1], "type": "int"}
    compared = re.fullmatch(r"(\w+) (=|<=>|<=|>=|<|>) (-?\d+)", text)
    if compared is not None:
        return {"op": _OPERATIONS[compared[2]], "column": compared[1], "type": "int", "value": int(compared[3])}
    return {"op": "other", "columns": re.findall(r"\b[a-z]\b", text)}


def _project(line: Line, children: list[Raw], columns: Columns) -> Raw:
    return plans.project(children[0], *texts.expressions(line.rest, columns))


def _filter(line: Line, children: list[Raw], columns: Columns) -> Raw:
    """Spark hands the conditions right above a scan to it as well: so does this."""
    words, child = texts.conjunct_words(line.rest), children[0]
    if child["kind"] == "scan" and not child["filters"]:
        child["filters"] = words
    return plans.where(child, texts.condition(line.rest, columns), words)


def _aggregate(line: Line, children: list[Raw], columns: Columns) -> Raw:
    groups, made, results = line.rest.removeprefix("by ").partition(" -> ")
    grouping = [] if groups == "nothing" else texts.expressions(groups, columns)
    return plans.aggregate(children[0], grouping, texts.expressions(results, columns) if made else None)


def _window(line: Line, children: list[Raw], columns: Columns) -> Raw:
    groups, _, name = line.rest.removeprefix("by ").partition(" adds ")
    partition = [] if groups == "nothing" else texts.expressions(groups, columns)
    return plans.window(children[0], partition, [columns.define(name, "int")] if name else [])


def _generate(line: Line, children: list[Raw], columns: Columns) -> Raw:
    return plans.generate(children[0], [columns.define(line.rest.removeprefix("adds "), "int")])


def _expand(line: Line, children: list[Raw], columns: Columns) -> Raw:
    made = {}
    for part in split_outside(line.rest, ","):
        source, _, name = part.partition(" as ")
        read = None if source == "null" else texts.expression(source, columns)
        made[f"_{columns.define(name, 'int' if read is None else read['type'])}"] = read
    return plans.expand(children[0], **made)


def _union(line: Line, children: list[Raw], columns: Columns) -> Raw:
    _, name, given, _ = _named(line)
    of_first = children[0]["output"]
    types = [columns.type_of(of_first[at]) if at < len(of_first) else "int" for at in range(len(given))]
    return plans.union([columns.define(f"{name}.{own}", type) for own, type in zip(given, types, strict=True)], *children)


def _reused(line: Line, children: list[Raw], columns: Columns) -> Raw:
    if not line.rest:
        return plans.reused(children[0])
    _, name, given, _ = _named(line)
    types = (columns.type_of(id) for id in children[0]["output"])
    return plans.reused(children[0], [columns.define(f"{name}.{own}", type) for own, type in zip(given, types, strict=True)])


def _stage(line: Line, children: list[Raw], _columns: Columns) -> Raw:
    fields = fields_of(line.rest)
    rows = count_of(fields["rows"]) if "rows" in fields else None
    made = plans.stage(children[0], rows, count_of(fields["bytes"]) if "bytes" in fields else None if rows is None else rows * 8)
    is_broadcast = line.op == "BroadcastQueryStage"
    return made | {"op": line.op, "broadcast": is_broadcast, "shuffle": not is_broadcast}


_JOINS = {op: kind for kind, op in plans.JOIN_OPS.items()}


def _join(line: Line, children: list[Raw], columns: Columns) -> Raw:
    found = re.fullmatch(r"(\S+)(?: (build=(?:left|right)))?(?: (null_aware))?(?: (?!on )(.*?))?(?: on (.*))?", line.rest)
    if found is None:
        raise ValueError("a join type and keys must follow")
    (left, right), kind, join_type = children, _JOINS[line.op], found[1]
    exists = re.fullmatch(r"ExistenceJoin\((\w+)\)", join_type)
    if exists is not None:
        join_type = f"ExistenceJoin({exists[1]}#{columns.define(exists[1], 'boolean')})"
    by_default = None if kind == "sort_merge_join" else "right"
    made = plans.join(
        left,
        right,
        *texts.key_pairs(found[4] or "", columns),
        join_type=join_type,
        build_side=found[2].removeprefix("build=") if found[2] else by_default,
        kind=kind,
        null_aware=found[3] is not None,
        condition=texts.condition(found[5], columns) if found[5] else None,
    )
    return made if exists is None else made | {"output": [*left["output"], columns.known[exists[1]][0]]}


def _other(line: Line, children: list[Raw], columns: Columns) -> Raw:
    if not line.rest:
        return plans.other(line.op, *children)
    _, name, given, _ = _named(line)
    return plans.other(line.op, *children, output=[_column(text, name, columns)["id"] for text in given])


_READERS: dict[str, Callable[[Line, list[Raw], Columns], Raw]] = {
    "Scan": _scan,
    "Project": _project,
    "Filter": _filter,
    "Sort": lambda _line, children, _columns: plans.sort(children[0]),
    "HashAggregate": _aggregate,
    "Window": _window,
    "Generate": _generate,
    "Expand": _expand,
    "Union": _union,
    "Exchange": lambda _line, children, _columns: plans.exchange(children[0]),
    "BroadcastExchange": lambda _line, children, _columns: plans.broadcast(children[0]),
    "ReusedExchange": _reused,
    "ShuffleQueryStage": _stage,
    "BroadcastQueryStage": _stage,
    **dict.fromkeys(_JOINS, _join),
}
