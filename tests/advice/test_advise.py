"""`rtfilter stats` and `rtfilter advise` from end to end, the golden cases once more through them."""

from __future__ import annotations

import ast
import json
import random
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from rtfilter.advice.advise import Settings, advise_logs
from rtfilter.advice.statistics.tables import parse_statistics
from rtfilter.cli.command import main
from rtfilter.store.index_actions.listing import index_place

ROWS, PACK = 100_000, 2_000
PINOT = {
    **{"a": (20, 1, "inverted"), "b": (6, 1.5, "inverted"), "c": (7, 1, None), "d": (41, 2, None), "e": (18, 4, None)},
    **{"f": (13, 3, "range"), "h": (12, 1, None), "i": (7, 1, None), "j": (4, 1, None), "t": (10_000, 1, None)},
}
PINOT_STATISTICS = {
    "tables": {
        "tableName": {
            "rows": 1_000_000,
            "columns": {
                name: {"cardinality": cardinality, "entries_per_row": entries, "index": index}
                for name, (cardinality, entries, index) in PINOT.items()
            },
        }
    }
}
Q1 = "select i from tableName where b in (2,4) and ((a in (1,2,3) and e = 4) or c = 7) and d in ('#VALUES', 23) and t > 500"
Q2 = (
    "select j from tableName where (a=3 and (h = 5 or f >34) and REGEXP_LIKE(i, 'as*')) "
    "or ((f = 3  or j in ('#VALUES', 4)) and REGEXP_LIKE(d, 'fl*'))"
)
Q3 = (
    "select f from tableName where (a=0 or (b=1 and (e in ('#VALUES',2) or c=7))) and TEXT_MATCH(d, 'dasd') "
    "and MAX(MAX(h,i),j)=4 and t<3"
)
Q4 = "select f from tableName where (a=0 and b=1) or c=7 or (d = 7 and e =1)"
Q5 = "select f from tableName where t between 1 and 1000"
LINES = [{"sql": sql, "weight": weight} for sql, weight in ((Q1, 1), (Q2, 2), (Q3, 4), (Q4, 2), (Q5, 2))]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


def answer(*arguments: str | Path) -> Any:
    done = run("advise", *arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def written(path: Path, content: Any) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    if isinstance(content, list):
        text = "".join(json.dumps(line) + "\n" for line in content)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def pinot(tmp_path: Path) -> Path:
    return written(tmp_path / "pinot.json", PINOT_STATISTICS)


def test_a5_through_the_command(pinot: Path, tmp_path: Path) -> None:
    found = answer("--log", written(tmp_path / "q.jsonl", LINES), "--stats", pinot, "--min-gain", "0.06")
    assert found["chosen"] == {"tableName": {"indexed": ["e", "f", "j"], "sorted": "c"}}
    assert [(each["k"], "".join(each["columns"]), round(each["cost"], 3), each["accepted"]) for each in found["trace"]] == [
        (1, "d", 24.861, True),
        (2, "ce", 17.183, True),
        (3, "cde", 16.545, False),
        (4, "cefj", 9.183, True),
        (5, "cdefj", 8.545, False),
        (6, "cdefhj", 8.453, False),
    ]
    assert {name: round(vote, 3) for name, vote in found["votes"]["tableName"].items()} == {"c": 8.815, "e": 8.052, "f": 4, "j": 4}
    assert {each["table"] for each in found["trace"]} == {"tableName"} and found["unit"] == {"tableName": "column scans"}


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False))
def test_a21_a_shuffled_log_gives_the_same_bytes(tmp_path_factory: pytest.TempPathFactory, random: random.Random) -> None:
    folder = tmp_path_factory.mktemp("a21")
    tables = parse_statistics(PINOT_STATISTICS, "s")
    lines = [
        {"sql": sql.replace("500", str(i)), "weight": 0.1 * (i + 1), "ms": 0.3 * i + j, "entries_in_filter": 1000 * i + j}
        for i in range(4)
        for j, sql in enumerate((Q1, Q2, Q3, Q4, Q5))
    ]
    shuffled = list(lines)
    random.shuffle(shuffled)
    for strategy in ("freq", "parser", "estimate"):
        texts = set()
        for name, each in (("a", lines), ("b", shuffled)):
            found = advise_logs([written(folder / f"{name}.jsonl", each)], [], tables, Settings(strategy)).to_dict()
            texts.add(json.dumps(found))
        assert len(texts) == 1


def test_a12_through_the_command(tmp_path: Path) -> None:
    columns = {
        "a": {"cardinality": 1000},
        "d": {"cardinality": 50, "sorted_share": 0.5},
        "i": {"cardinality": 9, "index": "inverted"},
    }
    stats = written(tmp_path / "s.json", {"tables": {"t": {"columns": columns}}})
    lines = [{"sql": f"select 1 from t where {name} = 1", "entries_in_filter": 1_000_000} for name in columns]
    log = written(tmp_path / "q.jsonl", [*lines, {**lines[0], "entries_in_filter": 0}])
    found = answer("--log", log, "--stats", stats, "--strategy", "parser")
    assert found["votes"] == {"t": {"a": 999_000, "d": 960_000}} and found["coverage"]["t"]["a"] == pytest.approx(1 / 3)
    assert answer("--log", log, "--stats", stats, "--strategy", "freq")["votes"] == {"t": {"a": 1, "d": 1}}
    threshold = ("--selectivity-threshold", "25")
    assert answer("--log", log, "--stats", stats, "--strategy", "parser", *threshold)["votes"] == {"t": {"a": 999_000}}


@pytest.mark.parametrize("strategy", ["freq", "parser", "estimate"])
def test_a15_strangers_and_empty_logs(pinot: Path, tmp_path: Path, strategy: str) -> None:
    log = written(tmp_path / "q.jsonl", [{"sql": "select i from tableName where c = 1 and xyz = 3"}])
    found = answer("--log", log, "--stats", pinot, "--strategy", strategy)
    assert found["items"] == [] and found["votes"] == {}
    assert "tableName has no column xyz" in [note["text"] for note in found["notes"]]
    assert "no column xyz" in found["unserved"][0]["reason"]
    empty = answer("--log", written(tmp_path / "empty.jsonl", ""), "--stats", pinot, "--strategy", strategy)
    assert (empty["items"], empty["votes"], empty["unserved"], empty["read"]["queries"]) == ([], {}, [], 0)


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sales")
    random = np.random.default_rng(3)
    table = pa.table(
        {
            "day": (np.arange(ROWS) // 200).astype("int32"),
            "customer": random.integers(0, 50_000, ROWS),
            "item": random.integers(0, 4_000, ROWS),
            "shop": random.integers(0, 20, ROWS),
            "price": random.random(ROWS),
        }
    )
    pq.write_table(table, folder / "sales.parquet", row_group_size=PACK)
    return folder


@pytest.fixture(scope="module")
def stats(sales: Path) -> Path:
    done = run("stats", f"sales={sales}", "--out", sales.parent / "stats.json")
    assert done.exit_code == 0, done.output
    return sales.parent / "stats.json"


def test_advice_for_a_table(sales: Path, stats: Path, tmp_path: Path) -> None:
    sql = """
        select sum(price) from sales where customer = 17;  -- every customer is in few row groups
        select sum(price) from sales where customer = 18 and shop = 3;
        select price from sales where shop not in (1, 2);
        select price from sales where day between 7 and 8;
        select price from sales where day between 8 and 9;
        select price from sales where abs(shop) = 2;
        select price from sales where shop = 'it''s';
        selec;
        set x = 1;
        select * from nowhere where a = 1
    """
    found = answer("--sql", written(tmp_path / "q.sql", sql), "--stats", stats, "--budget", "100%")
    (item,) = found["items"]
    assert (item["kind"], item["table"], item["columns"], item["rank"], item["confidence"]) == (
        "bloom",
        "sales",
        ["customer"],
        1,
        "low",
    )
    assert len(item["queries"]) == 2 and item["gain_bytes"] > 0 and item["gain_ms"] is None
    assert item["command"] == f"rtfilter index create {sales} --name advised_bloom_customer --bloom=customer"
    reasons = {each["shape"]: each["reason"] for each in found["unserved"]}
    assert reasons == {
        "sales: shop not in (2)": (
            "sales: its conditions are ranges or exclude values: only an order could help, and none pays for the table"
        ),
        "sales: day range": "sales: the table's order and the bounds in its footers serve it already",
        "sales: function(shop)": "sales: its conditions are on functions, patterns or NULL only",
        "tables without statistics: nowhere": "nowhere: no statistics of it",
    }
    assert found["read"]["queries"] == 10 and found["read"]["without_tables"] == 1
    assert [each["first"] for each in found["read"]["skipped"].values()] == [[f"{tmp_path}/q.sql, statement {i}"] for i in (7, 8)]
    text = run("advise", "--sql", tmp_path / "q.sql", "--table", f"sales={sales}", "--budget", "100%").output
    assert "1. bloom on sales.customer" in text and "statement 7" in text and item["command"] in text


def test_the_promise_is_near_what_row_groups_hold(sales: Path, stats: Path) -> None:
    from rtfilter.advice.packs.kept_share import FALSE_POSITIVES, Layout, kept_share
    from rtfilter.advice.statistics.tables import read_statistics
    from rtfilter.advice.workload.predicates import Leaf, Operator

    table, values = read_statistics(stats)["sales"], pq.read_table(sales)
    for name in ("customer", "item", "shop"):
        packs = values.column(name).to_numpy().reshape(-1, PACK)
        asked = np.random.default_rng(5).choice(values.column(name).to_numpy(), 200)
        held = np.mean([(packs == each).any(axis=1).mean() for each in asked])
        kept = kept_share(Leaf((name,), Operator.EQUAL), table, Layout(frozenset((name,)))) - FALSE_POSITIVES
        assert held / 1.5 <= kept <= held * 1.5
        assert kept_share(Leaf((name,), Operator.EQUAL), table) > 0.95
    ordered = kept_share(Leaf(("day",), Operator.EQUAL), table)
    assert 1 / len(packs) <= ordered <= 3 / len(packs)


def test_an_order_is_advised_where_it_serves_many_and_hurts_few(stats: Path, tmp_path: Path) -> None:
    lines = [{"sql": "select price from sales where shop = 1", "weight": 50, "ms": 10}]
    found = answer("--log", written(tmp_path / "q.jsonl", lines), "--stats", stats)
    assert [(each["kind"], each["columns"]) for each in found["items"]] == [("cluster_by", ["shop"])]
    assert 400 < found["items"][0]["gain_ms"] < 500
    lines.append({"sql": "select price from sales where day = 1", "weight": 2000, "ms": 1})
    found = answer("--log", written(tmp_path / "q.jsonl", lines), "--stats", stats)
    assert found["items"] == []


def test_the_budget_bounds_indexes(stats: Path, tmp_path: Path) -> None:
    log = written(tmp_path / "q.sql", "select price from sales where customer = 1; select price from sales where item = 1")
    everything = answer("--sql", log, "--stats", stats, "--strategy", "freq", "--budget", "100%")["items"]
    assert [each["columns"][0] for each in everything] == ["customer", "item"]
    customer, item = (each["cost_bytes"] for each in everything)
    assert customer > item > 0
    for budget, columns in ((customer + item, ["customer", "item"]), (customer, ["customer"]), (item, ["item"]), (item - 1, [])):
        found = answer("--sql", log, "--stats", stats, "--strategy", "freq", "--budget", str(budget))["items"]
        assert [each["columns"][0] for each in found] == columns


def test_what_is_left_out(stats: Path, tmp_path: Path) -> None:
    lines = [
        {"sql": "select price from sales where customer = 1", "ms": 5, "weight": 3},
        {"sql": "select price from sales where item = 1", "ms": 50},
    ]
    log = written(tmp_path / "q.jsonl", lines)
    asked = ("--log", log, "--stats", stats, "--strategy", "freq")
    assert answer(*asked)["votes"] == {"sales": {"customer": 3, "item": 1}}
    assert answer(*asked, "--min-calls", "2")["votes"] == {"sales": {"customer": 3}}
    assert answer(*asked, "--min-ms", "20")["votes"] == {"sales": {"item": 1}}
    excluded = answer(*asked, "--exclude", "SALES")
    assert (excluded["votes"], excluded["items"], excluded["unserved"]) == ({}, [], [])
    assert len(answer(*asked, "--budget", "100%", "--top", "1")["items"]) == 1


def test_lines_that_cannot_be_read_are_counted_and_named(stats: Path, tmp_path: Path) -> None:
    lines = [
        '{"sql": "select price from sales where customer = 1"}',
        '{"statement": "select price from sales where customer = 1;", "ms": "soon", "entries_in_filter": -1}',
        "{broken",
        "[1]",
        "",
        '{"query": "0123456789ab", "filters": [], "scans": []}',
        '{"x": 1}',
        '{"sql": "select 1 from sales", "weight": -1}',
        '{"sql": "select 1 from sales", "weight": NaN}',
        "[" * 100_000,
        '{"sql": "\\ud800 select"}',
    ]
    log = written(tmp_path / "q.jsonl", "\n".join(lines))
    with open(log, "ab") as file:
        file.write(b"\n\xff\xfe\x00\n" + b"x" * 5_000_000 + b"\n{}")
    found = answer("--log", log, "--log", log, "--stats", stats, "--strategy", "freq")
    assert found["votes"] == {"sales": {"customer": 2}}
    skipped = {reason: each["count"] for reason, each in found["read"]["skipped"].items() if "not understood" not in reason}
    assert skipped == {
        "broken lines, which are no JSON": 3,
        "lines of more than 4194304 characters": 1,
        "lines of rtfilter's own query log of before it told conditions": 1,
        "lines that are no JSON objects": 1,
        "lines whose weight is no number from 0 on": 2,
        "lines without a statement": 2,
    }
    assert found["read"]["skipped"]["broken lines, which are no JSON"]["first"][0] == f"{log}:3"
    assert found["read"]["notes"] == [f"{log}: given twice, read once"]


def test_a_statement_that_trips_the_parser_is_counted(stats: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def trips(text: str, tables: object) -> None:
        raise AttributeError("no such node")

    monkeypatch.setattr("rtfilter.advice.logs.sql_queries.fingerprint_of", trips)
    found = answer("--sql", written(tmp_path / "q.sql", "select 1; select 2"), "--stats", stats)
    assert found["read"]["skipped"]["not understood: AttributeError while it was read"]["count"] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--stats", "STATS"], "'--log', '--sql' or '--event-log'"),
        (["--sql", "LOG"], "--stats' or '--table'"),
        (["--sql", "gone.sql", "--stats", "STATS"], "gone.sql: the log can't be read: No such file"),
        (["--sql", ".", "--stats", "STATS"], "the log can't be read: Is a directory"),
        (["--sql", "LOG", "--stats", "gone.json"], "gone.json: the statistics file can't be read"),
        (["--sql", "LOG", "--stats", "LOG"], "not a statistics file"),
        (["--sql", "LOG", "--stats", "STATS", "--budget", "much"], "the budget is 'much'"),
        (["--sql", "LOG", "--stats", "STATS", "--budget", "-1"], "the budget is '-1'"),
        (["--sql", "LOG", "--stats", "STATS", "--exclude", "salse"], "--exclude names salse; there are sales"),
        (["--sql", "LOG", "--table", "sales=gone"], "there is no 'gone'"),
        (["--sql", "LOG", "--table", "sales"], "'sales' is not NAME=PATH"),
        (["--sql", "LOG", "--table", "sales=s3a://b/t"], "not on this machine"),
        (["--sql", "LOG", "--stats", "STATS", "--table", "sales=SALES"], "table 'sales' is described twice"),
        (["--sql", "LOG", "--stats", "STATS", "--strategy", "guess"], "'guess' is not one of"),
    ],
)
def test_arguments_that_cannot_be_used(sales: Path, stats: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    names = {"STATS": stats, "LOG": written(tmp_path / "q.sql", "select 1"), "SALES": sales}
    named = [str(names.get(each, each)).replace("SALES", str(sales)) for each in arguments]
    done = run("advise", *named)
    assert done.exit_code == 2 and said in done.output and "Traceback" not in done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "OUT"], "Missing argument"),
        (["t=gone", "--out", "OUT"], "there is no 'gone'"),
        (["t=SALES", "t=OTHER", "--out", "OUT"], "given twice"),
        (["t=SALES", "--out", "OUT/no/x"], "can't be written"),
    ],
)
def test_statistics_that_cannot_be_made(sales: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    names = {"OUT": str(tmp_path / "s.json"), "SALES": str(sales), "OTHER": str(tmp_path)}
    for name, path in names.items():
        arguments = [each.replace(name, path) for each in arguments]
    done = run("stats", *arguments)
    assert done.exit_code == 2 and said in done.output and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a b", "it's", "$(date)", 'x"y', "Größe", "--bloom"])
def test_the_command_says_the_same_whatever_columns_and_folders_are_called(tmp_path: Path, name: str) -> None:
    folder = tmp_path / f"of {name}"
    folder.mkdir()
    values = np.random.default_rng(1).permutation(ROWS)
    pq.write_table(pa.table({name: values, "v": values}), folder / "0.parquet", row_group_size=PACK)
    quoted = name.replace("`", "``")
    log = written(tmp_path / "q.sql", f"select v from t where `{quoted}` = 5")
    items = answer("--sql", log, "--table", f"t={folder}", "--budget", "100%")["items"]
    commands = {item["kind"]: item["command"] for item in items}
    texts = [node.value for node in ast.walk(ast.parse(commands["cluster_by"])) if isinstance(node, ast.Constant)]
    assert {str(folder), name if name.isidentifier() else f"`{quoted}`"} < set(texts)
    program, index, create, path, *options = shlex.split(commands["bloom"])
    assert (program, index, create, path) == ("rtfilter", "index", "create", str(folder))
    assert options[0] == "--name" and options[2:] == [f"--bloom={name}"]
    assert index_place("", str(folder), options[1]).endswith(options[1])


def test_nothing_of_a_row_or_a_literal_is_in_the_output(stats: Path, tmp_path: Path) -> None:
    log = written(tmp_path / "q.sql", "select price from sales where customer = 'secret' and item in ('hidden', 'more')")
    printed = run("advise", "--sql", log, "--stats", stats, "--json").output + run("advise", "--sql", log, "--stats", stats).output
    assert "secret" not in printed and "hidden" not in printed


def test_only_statements_need_the_parser(stats: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith(("sqlglot", "rtfilter.advice.logs.sql_"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    scan = {
        **{
            "table": "sales",
            "path": None,
            "predicate": {"column": "customer", "op": "=", "values": 1},
            "partitions": None,
            "joins": [],
        },
        **{"group_keys": [], "aggregates": [], "rows": True, "columns": ["customer"], "partial": False, "literals": "#1"},
    }
    shape = {"digest": "1", "partial": False, "limit": None, "scans": [scan]}
    line = {"filters": [], "scans": [], "version": 2, "failed": False, "again": False, "ms": 9, "shape": shape}
    own = written(tmp_path / "own.jsonl", [line])
    assert answer("--log", own, "--stats", stats)["read"]["queries"] == 1
    done = run("advise", "--sql", written(tmp_path / "q.sql", "select 1"), "--stats", stats)
    assert done.exit_code == 2 and "pip install 'rtfilter[advise]'" in done.output
