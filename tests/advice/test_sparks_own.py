"""What Spark leaves out by dictionaries is no gain of an index; only the dictionaries are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtfilter.advice.statistics.packs_held import READ_AT_ONCE
from rtfilter.advice.trials.sparks_own import left_out, sparks_own
from rtfilter.advice.trials.trial import try_table
from rtfilter.store.sketches.predicates import parse_predicate
from tests.advice.test_advise import answer, written

ROWS, PACK = 400_000, 20_000
PACKS = ROWS // PACK


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same rows with dictionaries and without: 100 customers in each pack, of 10,000 that lie anywhere."""
    folder, r = tmp_path_factory.mktemp("tables"), np.random.default_rng(4)
    customers = np.concatenate([r.choice(r.integers(0, 10_000, 100), PACK) for _ in range(PACKS)])
    table = pa.table({"customer": customers, "price": r.random(ROWS)})
    found = {"dictionary": folder / "d.parquet", "plain": folder / "p.parquet"}
    for name, file in found.items():
        pq.write_table(table, file, row_group_size=PACK, use_dictionary=["customer"] if name == "dictionary" else False)
    return found


def gain_of(table: Path, folder: Path, *options: Any) -> float:
    sql = written(folder / "q.sql", "select sum(price) from sales where customer = 5017;\n")
    items = answer("--sql", sql, *options, "--budget", "100%")["items"]
    return float(next((each["gain_bytes"] for each in items if each["kind"] in ("bloom", "valueset", "histogram")), 0.0))


def test_of_packs_with_a_dictionary_an_index_saves_the_dictionary(tables: dict[str, Path], tmp_path: Path) -> None:
    plain, own = (gain_of(tables[name], tmp_path, "--table", f"sales={tables[name]}") for name in ("plain", "dictionary"))
    pack_bytes = tables["plain"].stat().st_size / PACKS
    assert plain > 0.9 * PACKS * pack_bytes * 0.95
    # 1 % of the customers are in a pack, so nearly all packs are left out after a look at their dictionary.
    assert 0.9 * PACKS * READ_AT_ONCE <= own <= PACKS * READ_AT_ONCE < plain / 2


@pytest.mark.parametrize(
    ("test", "is_left_out"),
    [
        ({"op": "eq", "value": 10_001}, True),
        ({"op": "in", "values": [10_001, 10_002]}, True),
        # Of a long list Spark pushes down the ends only.
        ({"op": "in", "values": list(range(10_001, 10_020))}, False),
        ({"op": "is_not_null"}, False),
    ],
)
def test_what_spark_pushes_down(tables: dict[str, Path], test: dict[str, Any], is_left_out: bool) -> None:
    trial = try_table("sales", str(tables["dictionary"]), ["customer"])
    asked = parse_predicate({"column": "customer", "type": "bigint", **test})
    cost = left_out(asked, trial.sample, sparks_own(trial.sample))
    assert np.isfinite(cost).any() == is_left_out
    plain = try_table("sales", str(tables["plain"]), ["customer"]).sample
    assert not np.isfinite(left_out(asked, plain, sparks_own(plain))).any()


def test_a_file_that_is_gone_tells_nothing(tables: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(tables["dictionary"].read_bytes())
    trial = try_table("sales", str(copy), ["customer"])
    copy.unlink()
    assert not np.isfinite(sparks_own(trial.sample).costs["customer"]).any()


def test_a_query_that_dictionaries_serve_is_told_so(tmp_path: Path) -> None:
    r, pack = np.random.default_rng(6), 100_000
    few = np.concatenate([7 * number + 1_000 * r.integers(0, 2, pack) for number in range(20)])
    columns = {"few": few, **{f"c{number}": r.random(len(few)) for number in range(4)}}
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), file, row_group_size=pack, use_dictionary=["few"], write_statistics=False)
    sql = written(tmp_path / "q.sql", "select sum(c0 + c1 + c2 + c3) from sales where few = 1014;\n")
    (query,) = answer("--sql", sql, "--table", f"sales={file}", "--budget", "0", "--top", "1")["unserved"]
    assert "Spark itself finds in the dictionaries" in query["reason"]
