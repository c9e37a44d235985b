"""Sketches tried on sampled packs: the verdicts on real rows, and the advice that comes of them."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from rtfilter.advice.sampled.intervals import interval
from rtfilter.advice.trials.keys import NoKeyError, key_of
from rtfilter.advice.trials.trial import NOTHING, try_table
from rtfilter.advice.workload.literals import BETWEEN, LIKE, Literals
from rtfilter.advice.workload.predicates import And, Leaf, Not, Operator, Or
from rtfilter.cli.command import main
from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, MinMax, ValueSet

ROWS, PACK = 200_000, 1_000


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tried")
    random = np.random.default_rng(11)
    # One customer is in every pack, all others in few.
    customer = np.where(np.arange(ROWS) % 100 == 0, 1, random.integers(2, 60_000, ROWS))
    shop = np.arange(ROWS) // PACK % 50 * 7
    table = pa.table(
        {
            "day": (np.arange(ROWS) // 2_000).astype("int32"),
            "customer": customer,
            # A pack has few shops of many, between the same bounds.
            "shop": np.where(np.arange(ROWS) % PACK == 0, 0, np.where(np.arange(ROWS) % PACK == 1, 1_000, shop)),
            "code": pa.array([f"{'ab' if i // PACK % 4 == 0 else 'cd'}-{i % 977:04d}" for i in range(ROWS)]),
            "price": random.random(ROWS),
        }
    )
    for part in range(2):
        pq.write_table(table.slice(part * ROWS // 2, ROWS // 2), folder / f"{part}.parquet", row_group_size=PACK)
    return folder


def kept(sales: Path, predicate: Any, literals: tuple[Literals | None, ...], *sketches: Any) -> float:
    trial = try_table("sales", str(sales), ["day", "customer", "shop", "code", "price"], 1_000)
    return float(trial.kept_share(trial.questions(predicate, {literals: 1.0}), frozenset(sketches)).mean())


def test_verdicts_are_those_of_the_real_sketches(sales: Path) -> None:
    customer, shop, code = (Leaf((name,), Operator.EQUAL) for name in ("customer", "shop", "code"))
    values = pq.read_table(sales, columns=["customer", "shop"])
    packs = values.column("customer").to_numpy().reshape(-1, PACK)
    rare, hot = (Literals((value,)) for value in (int(packs[3][1]), 1))
    held = float((packs == packs[3][1]).any(axis=1).mean())
    assert held <= kept(sales, customer, (rare,), Bloom("customer")) <= held + 0.05
    assert kept(sales, customer, (hot,), Bloom("customer")) == kept(sales, customer, (rare,)) == 1
    # Its packs of two files, 4 of 200: exactly, with no word of footers.
    assert (
        kept(sales, shop, (Literals((7,)),), ValueSet("shop")) == 4 / 200 == kept(sales, shop, (Literals((7,)),), Histogram("shop"))
    )
    assert kept(sales, shop, (Literals((7,)),), MinMax("shop")) == 1
    like = Leaf(("code",), Operator.LIKE)
    assert kept(sales, like, (Literals(("ab%",), LIKE),), CMap("code")) == 0.25
    assert kept(sales, like, (Literals(("%b-0001",), LIKE),), CMap("code")) == 0.25
    assert kept(sales, code, (Literals(("xx-0001",)),)) == 0
    both = And((customer, shop))
    assert kept(sales, both, (hot, Literals((7,))), ValueSet("shop"), Bloom("customer")) == 4 / 200
    assert kept(sales, Or((customer, shop)), (hot, Literals((7,))), ValueSet("shop"), Bloom("customer")) == 1
    assert kept(sales, Not(Not(shop)), (Literals((7,)),), ValueSet("shop")) == 4 / 200
    assert kept(sales, shop, (None,), ValueSet("shop")) == 1


def test_ranges_of_one_column_count_together(sales: Path) -> None:
    above, below = Leaf(("day",), Operator.RANGE), Leaf(("day",), Operator.RANGE)
    literals = (Literals((10,), ">="), Literals((12,), "<"))
    assert kept(sales, And((above, below)), literals) == 4 / 200
    assert kept(sales, Leaf(("day",), Operator.RANGE), (Literals((10, Decimal("11.5")), BETWEEN),)) == 4 / 200


def test_drawn_values_weigh_as_often_as_they_are_there(sales: Path) -> None:
    trial = try_table("sales", str(sales), ["customer"], 1_000)
    questions = trial.questions(Leaf(("customer",), Operator.EQUAL), {})
    shares = [float(trial.kept_share([each], frozenset((Bloom("customer"),))).mean()) for each in questions]
    assert len(questions) == 48 and min(shares) < 0.1
    assert trial.kept_share(questions, NOTHING).mean() == pytest.approx(1)


def test_a_sample_says_what_all_packs_would(sales: Path) -> None:
    every = try_table("sales", str(sales), ["customer", "day"], 1_000)
    some = try_table("sales", str(sales), ["customer", "day"], 40)
    assert (every.sampled, some.sampled) == (200, 40)
    for predicate, sketch in (
        (Leaf(("customer",), Operator.EQUAL), Bloom("customer")),
        (Leaf(("day",), Operator.EQUAL), Bloom("day")),
    ):
        shares = [float(trial.kept_share(trial.questions(predicate, {}), frozenset((sketch,))).mean()) for trial in (every, some)]
        assert shares[0] == pytest.approx(shares[1], abs=0.03)


def run(*arguments: str | Path) -> Any:
    done = CliRunner().invoke(main, ["advise", *map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("sql", "kinds"),
    [
        ("select price from sales where customer = 23", [("bloom", "customer")]),
        ("select price from sales where shop = 14", [("valueset or histogram", "shop")]),
        ("select price from sales where shop between 14 and 15", [("valueset or histogram", "shop")]),
        ("select price from sales where code like 'ab%' and price > 2", []),
        ("select price from sales where code like '%b-0001'", [("cmap", "code")]),
        # The one customer of all packs.
        ("select price from sales where customer = 1", []),
        ("select price from sales where day = 3", []),
    ],
)
def test_the_kind_that_serves_a_query_is_advised(sales: Path, tmp_path: Path, sql: str, kinds: list[tuple[str, str]]) -> None:
    log = tmp_path / "q.sql"
    log.write_text(sql, encoding="utf-8")
    found = run("--sql", log, "--table", f"sales={sales}", "--budget", "50%")
    indexes = [item for item in found["items"] if item["kind"] not in ("cluster_by", "row_index")]
    assert [item["columns"][0] for item in indexes] == [column for _, column in kinds]
    assert all(item["kind"] in kind for item, (kind, _) in zip(indexes, kinds, strict=True))
    for item in indexes:
        assert item["build_s"] is not None and item["refresh"] > 0 and item["gain_low"] <= item["gain_bytes"] <= item["gain_high"]
        assert [set(each) for each in item["kept"]] == [{"query", "before", "after", "low", "high"}]


def test_equal_input_gives_equal_bytes(sales: Path, tmp_path: Path) -> None:
    log = tmp_path / "q.sql"
    log.write_text("select price from sales where customer in (3, 4); select price from sales where shop = 7", encoding="utf-8")
    asked = ("--sql", log, "--table", f"sales={sales}", "--budget", "50%")
    assert run(*asked) == run(*asked)


@pytest.mark.parametrize(
    ("literal", "spark_type", "key"),
    [
        (5, "int", (5, True)),
        ("5", "bigint", (5, True)),
        (Decimal("5.5"), "int", (5, False)),
        (Decimal("-5.5"), "int", (-6, False)),
        (Decimal("1.25"), "decimal(7,2)", (125, True)),
        (1, "decimal(38,0)", ("8" + "0" * 30 + "1", True)),
        ("1970-01-03", "date", (2, True)),
        ("1970-01-01 00:00:01", "timestamp", (1_000_000, True)),
        ("true", "boolean", (1, True)),
        ("é", "string", ("c3a9", True)),
        (None, "int", (None, True)),
    ],
)
def test_keys_of_literals(literal: Any, spark_type: str, key: Any) -> None:
    assert key_of(literal, spark_type) == key


@pytest.mark.parametrize(
    ("literal", "spark_type"), [("x", "int"), (1, "string"), (1, "date"), ("x", "date"), (2, "boolean"), (1, "binary")]
)
def test_literals_without_a_key(literal: Any, spark_type: str) -> None:
    with pytest.raises(NoKeyError):
        key_of(literal, spark_type)


def test_wilsons_interval() -> None:
    # 81 of 263: (0.2553, 0.3662), as in Newcombe, "Two-sided confidence intervals for the single proportion", 1998.
    low, high = interval(81 / 263, 263, 1e15)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    assert interval(0, 10, 1e15)[0] == 0 and 0.27 < interval(0, 10, 1e15)[1] < 0.28
    assert interval(0.3, 50, 50) == (0.3, 0.3) and interval(0.3, 0, 50) == (0, 1)
    assert interval(0.3, 40, 50)[0] > interval(0.3, 40, 5_000)[0]
