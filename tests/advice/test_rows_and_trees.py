"""Row indexes and star-trees, which take no budget: star-trees are built on demand, row indexes are only listed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from rtfilter.advice.packs.askings import Asking
from rtfilter.advice.statistics.collect import collect
from rtfilter.advice.statistics.tables import parse_statistics
from rtfilter.advice.trials.trial import try_table
from rtfilter.advice.tried.orders import advised_order
from rtfilter.advice.tried.tried_table import TriedTable
from rtfilter.advice.workload.fingerprints import Fingerprint, TableUse
from rtfilter.advice.workload.literals import Literals
from rtfilter.advice.workload.predicates import Leaf, Operator
from rtfilter.cli.command import main

ROWS, PACK = 400_000, 100_000


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("later") / "sales"
    folder.mkdir()
    random = np.random.default_rng(13)
    columns = {
        "day": (np.arange(ROWS) // 10_000).astype("int32"),
        # In every row group, and in one page of ten.
        "customer": random.integers(0, ROWS // 2, ROWS),
        "ticket": random.integers(0, 15_000, ROWS),
        "shop": random.integers(0, 50, ROWS),
        "country": random.integers(0, 4, ROWS),
        "price": random.integers(0, 100, ROWS).astype("int32"),
        "weight": random.random(ROWS),
    }
    pq.write_table(pa.table(columns), folder / "0.parquet", row_group_size=PACK)
    return folder


def run(sales: Path, sql: str, *more: str) -> Result:
    log = sales.parent / "q.sql"
    log.write_text(sql, encoding="utf-8")
    return CliRunner().invoke(main, ["advise", "--sql", str(log), "--table", f"sales={sales}", *more])


def items(sales: Path, sql: str) -> list[dict[str, Any]]:
    done = run(sales, sql, "--budget", "0", "--json")
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)["items"]
    return [item for item in found if item["kind"] != "cluster_by"]


CUBE = (
    "select country, sum(price), count(*) from sales where shop = 3 group by country;select day, max(price) from sales group by day"
)


def test_a_tree_has_the_dimensions_of_queries_that_aggregate_only(sales: Path) -> None:
    (tree,) = items(sales, CUBE)
    # The most values first.
    assert (tree["kind"], tree["columns"]) == ("star_tree", ["shop", "day", "country"])
    assert "count(*), max(price), sum(price) only" in tree["reason"] and len(tree["queries"]) == 2
    assert "--dimensions shop,day,country" in tree["command"] and tree["measures"] == ["count(*)", "max(price)", "sum(price)"]
    # Sums of floats are in no tree.
    assert items(sales, "select country, sum(weight) from sales group by country") == []
    assert items(sales, "select country, price from sales where shop = 3") == []
    # As many combinations as rows.
    assert items(sales, "select customer, ticket, sum(price) from sales group by customer, ticket") == []


def test_a_row_index_is_for_values_that_few_pages_hold(sales: Path) -> None:
    (rows,) = items(sales, "select price from sales where customer = 7")
    assert (rows["kind"], rows["columns"], rows["cost_bytes"]) == ("row_index", ["customer"], None)
    assert items(sales, "select price from sales where shop = 7") == []


def test_row_indexes_cannot_be_built(sales: Path) -> None:
    sql = "select price from sales where customer = 7"
    (rows,) = items(sales, sql)
    done = run(sales, sql, "--budget", "0", "--apply", rows["id"])
    assert done.exit_code == 2 and "does not build them" in done.output


def test_a_tree_that_was_built_is_not_advised_again(sales: Path) -> None:
    (tree,) = items(sales, CUBE)
    assert not json.loads(run(sales, CUBE, "--budget", "0", "--json").stdout)["unserved"]
    done = run(sales, CUBE, "--budget", "0", "--apply", tree["id"])
    assert done.exit_code == 0 and "star-tree cube" in done.output, done.output
    assert items(sales, CUBE) == []
    shutil.rmtree(sales / "_rtfilter")


def test_what_joins_owe_to_an_order_is_lost_in_another(sales: Path) -> None:
    table = parse_statistics({"tables": {"sales": collect("sales", sales)}}, "here")["sales"]
    trial = try_table("sales", str(sales), ["customer", "shop"])
    by_shop = Leaf(("shop",), Operator.EQUAL)
    samples: dict[tuple[Literals | None, ...], float] = {(Literals((3,)),): 1.0}

    def order(**joined: float) -> list[tuple[str, ...]]:
        uses = [TableUse("sales", by_shop, ("price",)), TableUse("sales", None, ("price",), join_keys=tuple(joined))]
        asked = [Asking(Fingerprint((use,)), use, 1.0, None, samples if use.predicate else {}, {}) for use in uses]
        asked[1] = Asking(Fingerprint((uses[1],)), uses[1], 1.0, None, {}, joined)
        return [item.columns for item in advised_order(TriedTable(asked, table, trial))]

    assert order(day=1.0) == [("shop",)]
    assert order(day=0.1) == []
    assert order(shop=0.1) == [("shop",)]
