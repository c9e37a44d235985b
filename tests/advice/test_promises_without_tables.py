"""What is promised from a statistics file alone, beside what trials on the same table promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtfilter.advice.statistics.collect import collect
from tests.advice.test_advise import answer, run, written

ROWS, PACK = 800_000, 20_000
PACKS = ROWS // PACK
WITHIN = 2.0
# Literals are not known, so trials take those of drawn rows, as formulas do on average.
ONE, THREE, ELEVEN = (f"customer in ('#VALUES', {count})" for count in (1, 3, 11))

CONDITIONS = (
    *(ONE, THREE, ELEVEN),
    *(f"{ONE} and shop in ('#VALUES', 1)", f"{THREE} and price is not null", f"{THREE} or {ONE}"),
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same rows with dictionaries and without: 100 customers in each pack, of 10,000 that lie anywhere. In `runs`
    ten rows of a customer come one after the other."""
    folder, r = tmp_path_factory.mktemp("tables"), np.random.default_rng(4)
    customers = np.concatenate([r.choice(r.integers(0, 10_000, 100), PACK) for _ in range(PACKS)])
    spread = {"customer": customers, "shop": r.integers(0, 3_000, ROWS), "price": r.random(ROWS)}
    runs = {**spread, "customer": np.repeat(r.integers(0, 20_000, ROWS // 10), 10)}
    found = {}
    for name, columns, coded in (
        ("dictionary", spread, ["customer"]),
        ("both", spread, ["customer", "shop"]),
        ("plain", spread, False),
        ("runs", runs, ["customer"]),
        ("plain runs", runs, False),
    ):
        found[name] = folder / f"{name}.parquet"
        pq.write_table(pa.table(columns), found[name], row_group_size=PACK, use_dictionary=coded)
    return found


@pytest.fixture(scope="module")
def stats(tables: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: statistics(path, tmp_path_factory.mktemp("stats")) for name, path in tables.items()}


def statistics(path: Path, folder: Path, without: tuple[str, ...] = ()) -> Path:
    content = collect("sales", path)
    for column in content["columns"].values():
        for key in without:
            del column[key]
    file = folder / "stats.json"
    file.write_text(json.dumps({"tables": {"sales": content}}), encoding="utf-8")
    return file


def index_of(sql: Path, *options: Any) -> dict[str, Any]:
    items = answer("--sql", sql, *options, "--budget", "100%")["items"]
    found = [each for each in items if each["kind"] not in ("cluster_by", "row_index") and each["columns"] == ["customer"]]
    return found[0] if found else {"gain_bytes": 0.0}


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        *((name, condition) for name in ("dictionary", "runs") for condition in CONDITIONS),
        *((name, condition) for name in ("both", "plain", "plain runs") for condition in CONDITIONS[1::2]),
    ],
)
def test_both_promise_about_the_same(
    tables: dict[str, Path], stats: dict[str, Path], tmp_path: Path, name: str, condition: str
) -> None:
    sql = written(tmp_path / "q.sql", f"select sum(price) from sales where {condition};\n")
    tried = index_of(sql, "--table", f"sales={tables[name]}")["gain_bytes"]
    promised = index_of(sql, "--stats", stats[name])["gain_bytes"]
    assert tried > 0 and tried / WITHIN <= promised <= tried * WITHIN


def test_what_spark_leaves_out_by_itself_is_in_the_file(tables: dict[str, Path]) -> None:
    coded, plain, runs = (collect("sales", tables[name])["columns"]["customer"] for name in ("dictionary", "plain", "runs"))
    assert (coded["dictionary_share"], plain["dictionary_share"]) == (1.0, 0.0)
    # At most a hundred whole numbers of eight bytes, and the head of their page.
    assert 400 <= coded["dictionary_bytes"] <= 900 and plain["dictionary_bytes"] is None
    values = pq.read_table(tables["dictionary"]).column("customer").to_numpy().reshape(-1, PACK)
    packs, asked = [set(pack) for pack in values.tolist()], values[:, ::1_000].ravel().tolist()
    held = np.mean([value in pack for pack in packs for value in asked])
    assert coded["held_by"] == pytest.approx(held * PACKS, rel=0.1) and coded["held_by"] == plain["held_by"]
    # 2,000 draws of 20,000 customers: another pack has one with 1 - exp(-0.1).
    assert runs["held_by"] == pytest.approx(1 + (PACKS - 1) * 0.095, rel=0.1)


def test_a_sample_tells_how_many_packs_hold_a_value(tables: dict[str, Path]) -> None:
    whole, some = (collect("sales", tables["runs"], rows)["columns"]["customer"] for rows in (ROWS, ROWS // 4))
    assert some["held_by"] == pytest.approx(whole["held_by"], rel=0.2)
    # Of one pack nobody knows what others hold.
    assert collect("sales", tables["runs"], PACK)["columns"]["customer"]["held_by"] is None


def test_without_these_keys_the_promise_is_a_range(tables: dict[str, Path], tmp_path: Path) -> None:
    sql = written(tmp_path / "q.sql", f"select sum(price) from sales where {ONE};\n")
    known = index_of(sql, "--stats", statistics(tables["dictionary"], tmp_path))
    found = index_of(sql, "--stats", statistics(tables["dictionary"], tmp_path, ("dictionary_share", "dictionary_bytes")))
    assert found["confidence"] == "low" and "dictionaries" in found["reason"]
    assert found["gain_low"] <= known["gain_bytes"] * 1.01 < found["gain_high"] == found["gain_bytes"]
    assert known["gain_low"] is None and "dictionaries" not in known["reason"]


@pytest.mark.parametrize(
    ("key", "value"), [("held_by", -1), ("dictionary_share", 1.1), ("dictionary_bytes", "x"), ("dictionary_bytes", 1.5)]
)
def test_values_that_cannot_be(tables: dict[str, Path], tmp_path: Path, key: str, value: Any) -> None:
    file = statistics(tables["plain"], tmp_path)
    content = json.loads(file.read_text(encoding="utf-8"))
    content["tables"]["sales"]["columns"]["customer"][key] = value
    file.write_text(json.dumps(content), encoding="utf-8")
    sql = written(tmp_path / "q.sql", f"select sum(price) from sales where {ONE};\n")
    done = run("advise", "--sql", sql, "--stats", file)
    assert done.exit_code == 2 and f'"{key}" is {value!r}' in done.output


def test_a_query_that_dictionaries_serve_is_told_so(tmp_path: Path) -> None:
    few = {"type": "int", "cardinality": 100, "bytes": 10**7, "depth": 100, "held_by": 1.0}
    rest = {"type": "double", "cardinality": None, "bytes": 10**12}
    sql = written(tmp_path / "q.sql", f"select sum(price) from sales where {ONE};\n")
    for coded, reason in (
        ({"dictionary_share": 1.0, "dictionary_bytes": 4_000}, "Spark itself finds in the dictionaries"),
        ({}, None),
    ):
        table = {"rows": 10**7, "packs": 100, "columns": {"customer": {**few, **coded}, "price": rest}}
        file = written(tmp_path / "stats.json", json.dumps({"tables": {"sales": table}}))
        found = answer("--sql", sql, "--stats", file, "--budget", "100%")
        assert [reason in query["reason"] for query in found["unserved"]] == ([True] if reason else [])
        assert (found["items"] == []) == bool(reason)
