"""Which values of dimensions pass: what Pinot's trees serve and refuse, and SQL's logic of three values."""

from __future__ import annotations

import itertools
from typing import Any

import duckdb
import numpy as np
import pytest

from rtfilter.star_tree.conditions import (
    NO_DIMENSION,
    NOT_UNDERSTOOD,
    OR_OVER_DIMENSIONS,
    ConditionRefusedError,
    Dimension,
    passing_codes,
)

D1 = Dimension("d1", "int", np.arange(100))
D2 = Dimension("d2", "int", np.arange(100))


def leaf(op: str, column: str, value: Any, type_: str = "int") -> dict[str, Any]:
    return {"op": op, "column": column, "type": type_, "value": value}


def gt(column: str, value: int) -> dict[str, Any]:
    return leaf("gt", column, value)


def lt(column: str, value: int) -> dict[str, Any]:
    return leaf("lt", column, value)


def every(*args: Any) -> dict[str, Any]:
    return {"op": "and", "args": list(args)}


def some(*args: Any) -> dict[str, Any]:
    return {"op": "or", "args": list(args)}


def no(arg: Any) -> dict[str, Any]:
    return {"op": "not", "args": [arg]}


N = np.arange(100)
SERVED = {
    "d1=0 and d2<10": (every(leaf("eq", "d1", 0), lt("d2", 10)), {0: N == 0, 1: N < 10}),
    "d1>10 or d1<50": (some(gt("d1", 10), lt("d1", 50)), {0: N >= 0}),
    "not d1>10": (no(gt("d1", 10)), {0: N <= 10}),
    "not not": (no(no(gt("d1", 10))), {0: N > 10}),
    "not over or": (every(lt("d2", 95), some(no(gt("d1", 10)), gt("d1", 50))), {1: N < 95, 0: (N <= 10) | (N > 50)}),
    "two ors": (every(some(gt("d2", 95), lt("d2", 25)), some(gt("d1", 10), lt("d1", 50))), {1: (N > 95) | (N < 25), 0: N >= 0}),
    # Pinot refuses the rest of these; here they are served, those that are always false with no row read.
    "and below or": (some(every(gt("d1", 10), lt("d1", 50)), lt("d1", 50)), {0: N < 50}),
    "not over and": (no(every(gt("d1", 10), lt("d1", 50))), {0: (N <= 10) | (N >= 50)}),
    "not over or of one": (no(some(lt("d1", 10), gt("d1", 50))), {0: (N >= 10) & (N <= 50)}),
    "always false": (gt("d1", 100), {0: N < 0}),
    "always false or": (some(gt("d1", 100), lt("d1", 0)), {0: N < 0}),
    "not over two dimensions": (no(some(gt("d1", 10), lt("d2", 50))), {0: N <= 10, 1: N >= 50}),
    "beyond 64 bits": (lt("d1", 2**70), {0: N >= 0}),
}
REFUSED = {
    "or over dimensions": (some(gt("d1", 10), lt("d2", 50)), OR_OVER_DIMENSIONS),
    "not and over dimensions": (no(every(gt("d1", 10), lt("d2", 50))), OR_OVER_DIMENSIONS),
    "no dimension": (gt("m", 1), NO_DIMENSION),
    "a function": ({"op": "other", "columns": ["d1"]}, NOT_UNDERSTOOD),
    "another type": (leaf("gt", "d1", 1, "bigint"), NOT_UNDERSTOOD),
    "an empty list": ({"op": "in", "column": "d1", "type": "int", "values": []}, NOT_UNDERSTOOD),
    "no tree": (["d1"], NOT_UNDERSTOOD),
    "no arguments": ({"op": "and", "args": []}, NOT_UNDERSTOOD),
    "an unknown operator": (leaf("near", "d1", 1), NOT_UNDERSTOOD),
    "a text for a number": (leaf("eq", "d1", "1"), NOT_UNDERSTOOD),
}


@pytest.mark.parametrize("name", SERVED)
def test_s9_conditions_on_single_dimensions_are_served(name: str) -> None:
    tree, expected = SERVED[name]
    found = passing_codes([tree], [D1, D2])
    assert found.keys() == expected.keys() and all((found[d] == expected[d]).all() for d in expected)


@pytest.mark.parametrize("name", REFUSED)
def test_s10_what_is_refused_has_its_reason(name: str) -> None:
    tree, reason = REFUSED[name]
    with pytest.raises(ConditionRefusedError) as raised:
        passing_codes([tree], [D1, D2])
    assert raised.value.reason == reason


def test_a_condition_as_deep_as_a_well_is_refused() -> None:
    tree = gt("d1", 1)
    for _ in range(150):
        tree = no(tree)
    with pytest.raises(ConditionRefusedError):
        passing_codes([tree], [D1])


WORDS = ("", "a", "ab", "b%", "a_b", "ünï")
TEXT = Dimension("t", "string", tuple(sorted(word.encode() for word in WORDS)), has_null=True)
NUMBER = Dimension("n", "int", np.array([-3, 0, 7]), has_null=True)


def hexed(text: str | None) -> str | None:
    return None if text is None else text.encode().hex()


def texts() -> list[tuple[dict[str, Any], str]]:
    """Conditions on a text, and the same as SQL."""
    signs = {"eq": "=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "same": "is not distinct from"}
    found: list[tuple[dict[str, Any], str]] = []
    for (op, sign), value in itertools.product(signs.items(), ("a", "b", None)):
        found.append((leaf(op, "t", hexed(value), "string"), f"t {sign} {'null' if value is None else repr(value)}"))
    found += [
        ({"op": "in", "column": "t", "type": "string", "values": [hexed("a"), hexed("zz")]}, "t in ('a', 'zz')"),
        ({"op": "in", "column": "t", "type": "string", "values": [hexed("a"), None]}, "t in ('a', null)"),
        ({"op": "is_null", "column": "t", "type": "string"}, "t is null"),
        ({"op": "is_not_null", "column": "t", "type": "string"}, "t is not null"),
        (leaf("prefix", "t", hexed("a"), "string"), "starts_with(t, 'a')"),
        (leaf("suffix", "t", hexed("b"), "string"), "suffix(t, 'b')"),
        (leaf("contains", "t", hexed("n"), "string"), "contains(t, 'n')"),
        ({"op": "like", "column": "t", "type": "string", "pattern": "a!_%", "escape": "!"}, "t like 'a!_%' escape '!'"),
        ({"op": "like", "column": "t", "type": "string", "pattern": "__%", "escape": "\\"}, "t like '__%'"),
    ]
    return found


def numbers() -> list[tuple[dict[str, Any], str]]:
    return [(leaf(op, "n", 0), f"n {sign} 0") for op, sign in (("eq", "="), ("lt", "<"), ("ge", ">="))] + [
        (leaf("same", "n", None), "n is null"),
        ({"op": "in", "column": "n", "type": "int", "values": [7, None]}, "n in (7, null)"),
    ]


@pytest.mark.parametrize(("dimension", "leaves"), [(TEXT, texts()), (NUMBER, numbers())], ids=["text", "number"])
def test_single_conditions_their_opposites_and_pairs_are_as_in_sql(dimension: Dimension, leaves: list[tuple[Any, str]]) -> None:
    keys = [key.decode() if isinstance(key, bytes) else int(key) for key in dimension.keys]
    kind = "varchar" if dimension.type == "string" else "integer"
    connection = duckdb.connect()
    connection.execute(f"create table v ({dimension.name} {kind}, i integer)")
    connection.executemany("insert into v values (?, ?)", [[key, code] for code, key in enumerate([*keys, None])])
    asked = leaves + [(no(tree), f"not ({sql})") for tree, sql in leaves]
    for (one, first), (other, second) in zip(asked, asked[3:] + asked[:3], strict=True):
        asked = [*asked, (every(one, other), f"({first}) and ({second})"), (no(some(one, other)), f"not (({first}) or ({second}))")]
    kept = 0
    for tree, sql in asked:
        rows = {row[0] for row in connection.execute(f"select i from v where {sql}").fetchall()}
        (passes,) = passing_codes([tree], [dimension]).values()
        assert set(np.flatnonzero(passes).tolist()) == rows, sql
        kept += bool(rows)
    assert kept > len(asked) / 4
