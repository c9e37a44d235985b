"""Static predicates against the truth of SQL's three values, and what cannot be turned stays open."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, MinMax, ValueSet
from rtfilter.store.sketches.outcomes import Outcome, agreed
from rtfilter.store.sketches.predicates import Leaf, Open, judge_predicate, leaves_of, parse_predicate
from rtfilter.store.sketches.rows import SketchRows
from tests.cases_share import cases
from tests.index.sketching import judged, sketched

Row = tuple[int | None, str | None]
texts = st.text("ab", max_size=3)
numbers = st.integers(-3, 12)


def number_leaf(op: str, value: int | None) -> dict[str, Any]:
    return {"op": op, "column": "n", "type": "int", "value": value}


def text_leaf(op: str, value: str | None) -> dict[str, Any]:
    return {"op": op, "column": "s", "type": "string", "value": None if value is None else value.encode().hex()}


def like_leaf(pattern: str) -> dict[str, Any]:
    return {"op": "like", "column": "s", "type": "string", "pattern": pattern, "escape": "\\"}


def like(text: str, pattern: str) -> bool:
    """SQL's LIKE with a backslash before what stands for itself; one at the end stands for itself."""
    parts = re.findall(r"\\.|.", pattern)
    regex = "".join({"%": ".*", "_": "."}.get(part, re.escape(part[-1])) for part in parts)
    return re.fullmatch(regex, text, re.DOTALL) is not None


def in_list(values: list[int | None]) -> dict[str, Any]:
    return {"op": "in", "column": "n", "type": "int", "values": values}


def null_leaf(column: tuple[str, str], op: str) -> dict[str, Any]:
    return {"op": op, "column": column[0], "type": column[1]}


comparisons = st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"])
columns = st.sampled_from([("n", "int"), ("s", "string")])
leaves = st.one_of(
    st.builds(number_leaf, comparisons, numbers | st.none()),
    st.builds(text_leaf, comparisons | st.sampled_from(["prefix", "suffix", "contains"]), texts),
    st.builds(number_leaf, st.just("same"), numbers | st.none()),
    st.builds(text_leaf, st.just("same"), texts | st.none()),
    st.builds(like_leaf, st.text("ab%_\\", max_size=4)),
    st.builds(in_list, st.lists(numbers | st.none(), min_size=1, max_size=3)),
    st.builds(null_leaf, columns, st.sampled_from(["is_null", "is_not_null"])),
    st.just({"op": "udf", "column": "n", "type": "int"}),
)


def branches(parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    joined = st.builds(
        lambda op, args: {"op": op, "args": args}, st.sampled_from(["and", "or"]), st.lists(parts, min_size=1, max_size=3)
    )
    return joined | parts.map(lambda part: {"op": "not", "args": [part]})


trees = st.recursive(leaves, branches, max_leaves=6)


def truth(tree: Mapping[str, Any], row: Row) -> bool | None:
    """SQL's own value; the unknown function is true, false or null as it likes: here it depends on the row."""
    op = tree["op"]
    if op in ("and", "or"):
        values = [truth(each, row) for each in tree["args"]]
        decisive: bool = op == "or"
        return decisive if decisive in values else None if None in values else not decisive
    if op == "not":
        inner = truth(tree["args"][0], row)
        return None if inner is None else not inner
    own: Any = row[0] if tree["column"] == "n" else None if row[1] is None else row[1].encode()
    if op == "udf":
        return None if own is None else bool(own % 2 == 0)
    if op in ("is_null", "is_not_null"):
        return bool((own is None) == (op == "is_null"))
    if op == "like":
        return None if row[1] is None else like(row[1], str(tree["pattern"]))
    if op == "in":
        if own is None:
            return None
        return True if own in tree["values"] else None if None in tree["values"] else False
    value: Any = tree["value"] if tree["column"] == "n" or tree["value"] is None else bytes.fromhex(tree["value"])
    if op == "same":
        return bool(own == value)
    if own is None or value is None:
        return None
    if op in ("prefix", "suffix", "contains"):
        return bool({"prefix": own.startswith(value), "suffix": own.endswith(value), "contains": value in own}[op])
    return bool(
        {"eq": own == value, "ne": own != value, "lt": own < value, "le": own <= value, "gt": own > value, "ge": own >= value}[op]
    )


def judge_over(sketches: Mapping[str, list[SketchRows]], packs: int, tree: Mapping[str, Any]) -> Outcome:
    def judge(leaf: Leaf) -> Outcome:
        return agreed((judged(rows, leaf.test) for rows in sketches[leaf.column]), packs)

    return judge_predicate(parse_predicate(tree), judge, packs)


def sketches_of(packs: list[list[Row]]) -> dict[str, list[SketchRows]]:
    columns = [[row[0] for row in pack] for pack in packs], [[row[1] for row in pack] for pack in packs]
    return {
        "n": [sketched(columns[0], "int", each) for each in (MinMax("n"), ValueSet("n", 2), Histogram("n"), Bloom("n"))],
        "s": [sketched(columns[1], "string", each) for each in (MinMax("s"), ValueSet("s", 2), CMap("s"), Bloom("s"))],
    }


@settings(max_examples=cases(250), deadline=None)
@given(
    packs=st.lists(st.lists(st.tuples(numbers | st.none(), texts | st.none()), min_size=1, max_size=5), min_size=1, max_size=4),
    tree=trees,
)
def test_no_tree_is_judged_wrong(packs: list[list[Row]], tree: Mapping[str, Any]) -> None:
    outcome = judge_over(sketches_of(packs), len(packs), tree)
    for pack, rows in enumerate(packs):
        values = [truth(tree, row) for row in rows]
        assert not (outcome.reject[pack] and True in values), (tree, rows)
        assert not (outcome.accept[pack] and not all(value is True for value in values)), (tree, rows)


PACKS: list[list[Row]] = [[(1, "ab"), (2, "ac")], [(5, "b"), (None, "ba")], [(None, None)]]


@pytest.mark.parametrize(
    ("tree", "rejected", "accepted"),
    [
        (number_leaf("eq", 5), [True, False, True], [False, False, False]),
        ({"op": "not", "args": [number_leaf("lt", 3)]}, [True, False, True], [False, False, False]),
        ({"op": "not", "args": [number_leaf("gt", 2)]}, [False, True, True], [True, False, False]),
        ({"op": "or", "args": [number_leaf("eq", 9), text_leaf("prefix", "a")]}, [False, True, True], [True, False, False]),
        ({"op": "and", "args": [{"op": "udf"}, number_leaf("eq", 9)]}, [True, True, True], [False, False, False]),
        ({"op": "or", "args": [{"op": "udf"}, number_leaf("eq", 9)]}, [False, False, False], [False, False, False]),
        ({"op": "is_null", "column": "n", "type": "int"}, [True, False, False], [False, False, True]),
        (number_leaf("eq", None), [True, True, True], [False, False, False]),
        ({"op": "not", "args": [text_leaf("prefix", "a")]}, [False, False, False], [False, False, False]),
        (text_leaf("suffix", "c"), [False, True, True], [False, False, False]),
        (text_leaf("contains", "ab"), [False, True, True], [False, False, False]),
        (like_leaf("a%b"), [False, True, True], [False, False, False]),
        # In Spark's text that character may stand for any bytes that are no UTF-8.
        (like_leaf("\N{REPLACEMENT CHARACTER}a_%"), [False, False, False], [False, False, False]),
        (number_leaf("same", None), [True, False, False], [False, False, True]),
        (number_leaf("same", 5), [True, False, True], [False, False, False]),
        ({"op": "not", "args": [number_leaf("same", 9)]}, [False, False, False], [True, True, True]),
        # Each alone is met by some value of the first pack, both together by none.
        ({"op": "and", "args": [number_leaf("lt", 2), number_leaf("gt", 1)]}, [True, True, True], [False, False, False]),
        ({"op": "and", "args": [text_leaf("eq", "ab"), text_leaf("suffix", "c")]}, [True, True, True], [False, False, False]),
        ({"op": "and", "args": [text_leaf("ge", "ab"), text_leaf("le", "ac")]}, [False, True, True], [True, False, False]),
    ],
)
def test_trees_reject_and_accept_what_they_can(tree: Mapping[str, Any], rejected: list[bool], accepted: list[bool]) -> None:
    outcome = judge_over(sketches_of(PACKS), 3, tree)
    assert outcome.reject.tolist() == rejected and outcome.accept.tolist() == accepted


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"op": "and", "args": []},
        {"op": "and", "args": "x"},
        {"op": "in", "column": "n", "type": "int", "values": []},
        {"op": "not", "args": []},
        {"op": "eq", "column": "n"},
        {"op": "eq", "column": "n", "type": "int", "value": "5"},
        {"op": "eq", "column": "n", "type": "int", "value": True},
        {"op": "eq", "column": "n", "type": "array<int>", "value": 5},
        {"op": "eq", "column": "s", "type": "string", "value": "no hex"},
        {"op": "eq", "column": "s", "type": "string collate UNICODE", "value": "61"},
        {"op": "prefix", "column": "d", "type": "decimal(30,4)", "value": "61"},
    ],
)
def test_what_does_not_fit_is_open(tree: Mapping[str, Any]) -> None:
    assert parse_predicate(tree) == Open()


def test_a_tree_that_is_too_deep_is_open_at_its_end_and_no_error() -> None:
    tree: dict[str, Any] = number_leaf("eq", 1)
    for _ in range(5000):
        tree = {"op": "not", "args": [tree]}
    predicate = parse_predicate(tree)
    assert leaves_of(predicate) == ()
    assert not judge_predicate(predicate, lambda leaf: Outcome(np.ones(1, dtype=np.bool_), np.ones(1, dtype=np.bool_)), 1).reject[0]
