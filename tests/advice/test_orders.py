"""The order of a table, tried on sampled rows: what footers would leave, and who loses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from rtfilter.advice.trials.sorted_sample import ends_of, sample_rows, sorted_by
from rtfilter.advice.trials.trial import NOTHING, try_table
from rtfilter.advice.workload.literals import BETWEEN, Literals
from rtfilter.advice.workload.predicates import Leaf, Operator
from rtfilter.cli.command import main

ROWS, PACK = 200_000, 1_000
COLUMNS = ["day", "shop", "price", "receipt", "hour"]


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("orders") / "sales"
    folder.mkdir()
    random = np.random.default_rng(13)
    day = np.arange(ROWS) // 1_000
    columns = {
        "day": day.astype("int32"),
        "shop": random.integers(0, 400, ROWS),
        "price": random.random(ROWS),
        # Goes with the day: it is in order as long as the table is.
        "receipt": day * 1_000 + random.integers(0, 3_000, ROWS),
        "hour": random.integers(0, 24, ROWS),
    }
    pq.write_table(pa.table(columns), folder / "0.parquet", row_group_size=PACK)
    return folder


def advised(sales: Path, *lines: tuple[str, int]) -> dict[str, Any]:
    log = sales.parent / "q.jsonl"
    log.write_text("\n".join(json.dumps({"sql": sql, "weight": weight, "ms": 10}) for sql, weight in lines), encoding="utf-8")
    asked = ["advise", "--log", str(log), "--table", f"sales={sales}", "--budget", "0", "--json"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


SHOP, DAY = "select price from sales where shop = 17", "select price from sales where day = 3"


def test_an_order_is_advised_where_it_serves_many_and_hurts_few(sales: Path) -> None:
    item = advised(sales, (SHOP, 50), (DAY, 1))["items"][0]
    assert (item["kind"], item["columns"], item["confidence"]) == ("cluster_by", ["shop"], "high")
    assert 480 < item["gain_ms"] < 500 and 0 < item["kept"][0]["after"] < 0.05 and item["kept"][0]["before"] == 1
    # Nobody who asks for a day gains, and many who do would lose.
    found = advised(sales, (SHOP, 50), (DAY, 1_000))
    assert [item["kind"] for item in found["items"]] == []
    reasons = {each["shape"]: each["reason"] for each in found["unserved"]}
    assert "footers leave it 0.5%" in reasons["sales: day = ?"] and "do not fit the budget" in reasons["sales: shop = ?"]


@pytest.mark.parametrize(
    ("order", "asked", "literals"),
    [
        ("shop", "shop", Literals((17,))),
        ("shop", "shop", Literals((17, 60), BETWEEN)),
        ("shop", "day", Literals((3,))),
        ("receipt", "day", Literals((3,))),
        ("receipt", "receipt", Literals((5_000, 9_000), BETWEEN)),
        ("hour", "shop", Literals((17,))),
        # Near the end of what there is: packs of fewer rows would not reach so far.
        ("hour", "shop", Literals((1,))),
        ("price", "price", Literals(("0.25", "0.5"), BETWEEN)),
    ],
)
def test_the_sorted_copy_keeps_what_was_foreseen(sales: Path, tmp_path: Path, order: str, asked: str, literals: Literals) -> None:
    leaf = Leaf((asked,), Operator.RANGE if literals.form else Operator.EQUAL)
    copy = tmp_path / "copy"
    copy.mkdir()
    pq.write_table(pq.read_table(sales).sort_by(order), copy / "0.parquet", row_group_size=PACK)
    trial, after = (try_table("sales", str(folder), COLUMNS, 64) for folder in (sales, copy))
    kept = float(after.kept_share(after.questions(leaf, {(literals,): 1.0}), NOTHING).mean())
    rows = sample_rows(trial.sample, COLUMNS)
    types = trial.sample.table.types
    sample = sorted_by(rows, order, types, trial.packs, ends_of(rows, types, trial.packs))
    foreseen = sample.kept_share(trial.questions(leaf, {(literals,): 1.0}))
    assert kept / 1.5 <= foreseen <= kept * 1.5 or abs(kept - foreseen) * trial.packs <= 2
