"""Budgets that the usual Bloom filters do not fit: smaller ones are tried, and advised with what they save."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtfilter.advice.sampled.costs import sketch_bytes
from rtfilter.advice.sampled.pack_sample import sample_packs
from rtfilter.advice.sampled.smaller_blooms import FALSE_POSITIVES, with_smaller_blooms
from rtfilter.advice.sampled.table_packs import table_packs
from rtfilter.index import Index
from rtfilter.store.sketches.bloom import Blooms
from rtfilter.store.sketches.kinds import Bloom
from tests.advice.test_advise import answer, run, written

ROWS, PACK = 120_000, 3_000
SQL = "select sum(price) from sales where customer in ('#VALUES', 1);\nselect sum(price) from sales where item in ('#VALUES', 1);\n"


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, r = tmp_path_factory.mktemp("tight") / "sales", np.random.default_rng(21)
    folder.mkdir()
    customer = r.integers(0, 200_000, ROWS)
    columns = {"customer": customer, "name": [f"n{each}" for each in r.integers(0, 200_000, ROWS)], "price": r.random(ROWS)}
    columns |= {"item": r.integers(0, 200_000, ROWS), "empty": pa.nulls(ROWS, pa.int64())}
    pq.write_table(pa.table(columns), folder / "0.parquet", row_group_size=PACK, use_dictionary=False)
    return folder


@pytest.mark.parametrize("column", ["customer", "name", "empty"])
def test_a_smaller_filter_is_the_one_that_would_be_built(sales: Path, column: str) -> None:
    table = table_packs("sales", str(sales), [column])
    places = table.sampled(1_000)
    plain = sample_packs(table, [Bloom(column)], places)
    sample, smaller = with_smaller_blooms(plain, Bloom(column))
    # Of so many values filters for 0.05 and 0.1 have the same size.
    assert {each.fpp for each in smaller} < set(FALSE_POSITIVES) and (smaller == ()) == (column == "empty")
    for each in smaller:
        made, built = sample.sketches[each].sketch, sample_packs(table, [each], places)
        there = built.sketches[each].sketch
        assert isinstance(made, Blooms) and isinstance(there, Blooms) and made.fpp == there.fpp == each.fpp
        assert (made.blocks == there.blocks).all() and (made.words == there.words).all() and (made.valid == there.valid).all()
        assert sketch_bytes(sample, each) == pytest.approx(sketch_bytes(built, each), rel=0.05)


def indexes(sales: Path, tmp_path: Path, budget: int | str, *more: str) -> list[dict[str, Any]]:
    log = written(tmp_path / "q.sql", SQL)
    found = answer("--sql", log, "--table", f"sales={sales}", "--budget", str(budget), *more)["items"]
    return [each for each in found if each["kind"] not in ("cluster_by", "row_index")]


def test_what_does_not_fit_is_advised_smaller(sales: Path, tmp_path: Path) -> None:
    usual = indexes(sales, tmp_path, "100%")
    assert {(each["kind"], each["columns"][0]) for each in usual} == {("bloom", "customer"), ("bloom", "item")}
    assert not any("fpp" in each or "--fpp" in each["command"] for each in usual)
    whole = sum(each["cost_bytes"] for each in usual)
    small = indexes(sales, tmp_path, whole // 2 + 1_000)
    # Both, where before one of them had fitted.
    assert {each["columns"][0] for each in small} == {"customer", "item"} and all(each["fpp"] in FALSE_POSITIVES for each in small)
    assert sum(each["cost_bytes"] for each in small) <= whole // 2 + 1_000
    saved = {each["columns"][0]: each["gain_bytes"] for each in usual}
    assert all(0.7 * saved[name] < each["gain_bytes"] < saved[name] for each in small for (name,) in [each["columns"]])
    assert all("small one" in each["reason"] for each in small) and not {each["id"] for each in small} & {
        each["id"] for each in usual
    }


def test_one_that_fits_as_it_is_stays_so(sales: Path, tmp_path: Path) -> None:
    usual = indexes(sales, tmp_path, "100%")
    budget = sum(each["cost_bytes"] for each in usual) * 3 // 4 + 1_000
    found = indexes(sales, tmp_path, budget)
    # One of both may have all of its bytes.
    assert [each.get("fpp") is None for each in found].count(True) == 1 and len(found) == 2
    assert indexes(sales, tmp_path, 1_000) == []


def test_apply_builds_the_small_one(sales: Path, tmp_path: Path) -> None:
    budget = sum(each["cost_bytes"] for each in indexes(sales, tmp_path, "100%")) // 2 + 1_000
    item = indexes(sales, tmp_path, budget)[0]
    indexes(sales, tmp_path, budget, "--apply", item["id"])
    words = shlex.split(item["command"])
    index = Index.load(None, str(sales), words[words.index("--name") + 1])
    assert list(index.sketches) == [Bloom(item["columns"][0], item["fpp"])]
    assert index.stats()["bytes"] == pytest.approx(item["cost_bytes"], rel=0.2)
    assert run(*words[1:5], "by_hand", *words[6:]).exit_code == 0
    assert Index.load(None, str(sales), "by_hand").sketches == index.sketches
    for name in (index.name, "by_hand"):
        Index.load(None, str(sales), name).delete()
