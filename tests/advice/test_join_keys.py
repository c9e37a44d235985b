"""Indexes on the keys of joins: promised by what the query log measured of runtime filters, with keys that are drawn."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtfilter.advice.logs.read import LogReader
from rtfilter.advice.packs.askings import askings
from rtfilter.advice.statistics.tables import ColumnStatistics, TableStatistics
from rtfilter.advice.trials.trial import try_table
from rtfilter.advice.workload.fingerprints import about, in_order
from rtfilter.store.index_files.storage import LocalStorage
from rtfilter.store.index_reading.reader import open_index
from rtfilter.store.sketches.column_tests import ValueTest, byte_keys, long_keys
from tests.advice.test_advise import answer, run, written
from tests.advice.test_own_log import line, scan

ROWS, PACK = 400_000, 4_000
PACKS, ITEMS = ROWS // PACK, 60_000
WITHIN = 2.0


@pytest.fixture
def sales(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "sales")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items lie anywhere, and each has a number and a name; `part` is one of a few hundred for each pack."""
    folder, r = tmp_path_factory.mktemp("made") / "sales", np.random.default_rng(8)
    folder.mkdir()
    item = r.integers(0, ITEMS, ROWS)
    part = np.repeat(np.arange(PACKS) % 10 * 1_000, PACK) + r.integers(0, 300, ROWS)
    # Bounds in footers tell nothing.
    part[::PACK], part[1::PACK] = 0, 9_999
    columns = {"item": item, "name": [f"item {each}" for each in item], "part": part, "price": r.random(ROWS)}
    for half in range(2):
        table = pa.table(columns).slice(half * ROWS // 2, ROWS // 2)
        pq.write_table(table, folder / f"{half}.parquet", row_group_size=PACK, use_dictionary=False)
    return folder


def joined(sales: Path, column: str, keys: int | None, kept: int = PACKS, kind: str = "set", **more: Any) -> dict[str, Any]:
    """A line of the query log: a runtime filter of so many keys has left so many packs."""
    packs = {"packs_kept": kept, "packs_total": PACKS}
    join = {"column": column, "with": "item.id", "type": "Inner", **packs}
    found = line(scan(None, "sales", path=f"file:{sales}", joins=[join], columns=[column, "price"]), **more)
    probe = {"build": "item.id", "probe": f"sales.{column}", "strategy": "broadcast", "decision": "skipped", "kind": kind}
    return {**found, "filters": [{**probe, "keys": keys, **packs}]}


def advised(sales: Path, lines: list[dict[str, Any]], *more: str) -> Any:
    log = written(sales.parent / "log.jsonl", lines)
    return answer("--log", log, "--table", f"sales={sales}", "--budget", "100%", *more)


def index_on(advice: Any, column: str) -> dict[str, Any] | None:
    """The item on a column that can be built."""
    others = ("cluster_by", "row_index", "star_tree")
    return next((each for each in advice["items"] if each["columns"] == [column] and each["kind"] not in others), None)


@pytest.mark.parametrize("keys", [2, 8, 20])
@pytest.mark.parametrize("column", ["item", "name", "part"])
def test_the_promise_is_what_the_index_then_saves(sales: Path, column: str, keys: int) -> None:
    lines = [joined(sales, column, keys)] * 5
    found = advised(sales, lines, "--apply", "1")
    item = index_on(found, column)
    assert item is not None and "keys of joins" in item["reason"] and len(item["queries"]) == 1
    assert [(each["id"], each["built"]) for each in found["applied"]] == [(item["id"], True)]
    (folder,) = (sales / "_rtfilter").glob("advised_*")
    index = open_index(LocalStorage(str(folder)))
    assert index is not None
    values = pq.read_table(sales, columns=[column, "price"])
    rejected, distinct = [], values.column(column).unique().to_numpy(zero_copy_only=False)
    for seed in range(20):
        chosen = np.random.default_rng(seed).choice(distinct, keys)
        test = byte_keys(str(each).encode() for each in chosen) if column == "name" else long_keys(map(int, chosen))
        rejected.append(index.judge(column, ValueTest(test), np.arange(PACKS), accepts=False).reject.mean())
    read = sum(
        pq.read_metadata(file).row_group(number).column(place).total_compressed_size
        for file in sales.glob("*.parquet")
        for number in range(PACKS // 2)
        for place in (["item", "name", "part"].index(column), 3)
    )
    saved = len(lines) * read * float(np.mean(rejected))
    assert saved > 0 and saved / WITHIN <= item["gain_bytes"] <= saved * WITHIN


def test_a_sample_of_packs_promises_the_same(sales: Path) -> None:
    whole = try_table("sales", str(sales), ["item", "name"], PACKS)
    some = try_table("sales", str(sales), ["item", "name"], PACKS // 4)
    for column in ("item", "name"):
        built = frozenset(each for each in whole.sample.sketches if each.column == column and each.kind == "bloom")
        for keys in (2, 20):
            kept = [float(trial.kept_share(trial.joined(column, keys, ITEMS), built).mean()) for trial in (whole, some)]
            assert 0 < kept[0] < 0.9 and kept[1] == pytest.approx(kept[0], rel=0.25)


def test_what_filters_reject_already_is_no_gain(sales: Path) -> None:
    one, tenth = (index_on(advised(sales, [joined(sales, "item", 10, kept)] * 5), "item") for kept in (PACKS, PACKS // 10))
    assert one is not None and tenth is not None
    assert tenth["gain_bytes"] == pytest.approx(one["gain_bytes"] / 10, rel=0.01)
    assert (one["kept"][0]["before"], tenth["kept"][0]["before"]) == (1.0, 0.1)
    assert index_on(advised(sales, [joined(sales, "item", 10, 0)] * 5), "item") is None


@pytest.mark.parametrize(
    ("keys", "kind"),
    # None were counted, they are no set, or there are so many that one is in every pack.
    [(None, "set"), (10, "bitmap"), (10, None), (50_000, "set"), (1_000_000_000, "set")],
)
def test_nothing_is_promised_where_keys_are_not_known_or_too_many(sales: Path, keys: int | None, kind: str) -> None:
    found = advised(sales, [joined(sales, "item", keys, kind=kind)] * 5)
    assert index_on(found, "item") is None
    assert "runtime filters may help its joins" in found["unserved"][0]["reason"]


def test_many_keys_outweigh_few(sales: Path) -> None:
    few, many = (index_on(advised(sales, [joined(sales, "item", keys)] * 4), "item") for keys in (2, 3_000))
    assert few is not None and many is None
    both = index_on(advised(sales, [joined(sales, "item", 2), *[joined(sales, "item", 3_000)] * 3]), "item")
    assert both is not None and both["gain_bytes"] == pytest.approx(few["gain_bytes"] / 4, rel=0.05)


def test_an_index_that_is_there_is_no_gain_again(sales: Path) -> None:
    lines = [joined(sales, "item", 5)] * 3
    assert run("index", "create", sales, "--name", "mine", "--bloom", "item").exit_code == 0
    found = advised(sales, lines)
    assert index_on(found, "item") is None and "runtime filters on item" in found["unserved"][0]["reason"]


def test_keys_are_counted_in_any_order(tmp_path: Path) -> None:
    known = {"sales": TableStatistics("sales", 10, {"k": ColumnStatistics("K", "int", 5, bytes=1)}, packs=10, path="/data/sales")}
    packs = {"packs_kept": 4, "packs_total": 8}
    join = {"column": "k", "with": "d.id", "type": "Inner", **packs}
    filters = [{"probe": "sales.v", "kind": "set", "keys": 1, **packs}, {"probe": "sales.k", "kind": "set", "keys": 1_000, **packs}]
    lines = [line(scan(None, joins=[join]), filters=each) for each in (filters, filters[:1], filters)]
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(map(json.dumps, lines)))
    reading = LogReader(known).read([log], [])
    ((_, calls),) = reading.workload.items()
    assert dict(calls.joined["sales", "K"].by_keys) == {about(1_000): 8} and calls.joined["sales", "K"].kept == 12
    (asking,) = askings(in_order(reading.workload), known)["sales"]
    assert asking.joined_by == {"K": {about(1_000): pytest.approx(2 / 3)}}


def test_numbers_of_keys_are_rounded_by_a_fifth_at_most() -> None:
    assert [about(count) for count in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert all(count / 1.2 <= about(count) <= count * 1.2 for count in range(1, 5_000))


def test_keys_of_every_type(tmp_path: Path) -> None:
    """Each pack has ten values of its own: of one key a pack in twenty is left, by exact sketches."""
    count, packs = 200, 20
    number = np.arange(count)
    day = pa.array(number, pa.int32()).cast(pa.date32())
    columns = {
        "small": pa.array(number, pa.int16()),
        "day": day,
        "moment": day.cast(pa.timestamp("us", tz="UTC")),
        "double": np.where(number % 50 == 7, np.nan, np.where(number == 3, -0.0, number / 7)),
        "decimal": pa.array([f"{each}.25" for each in number]).cast(pa.decimal128(9, 2)),
        "wide": pa.array([f"{each}.25" for each in number]).cast(pa.decimal128(30, 2)),
        "text": pa.array([f"n{each}" for each in number]).dictionary_encode(),
        "none": pa.nulls(count, pa.int64()),
    }
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), file, row_group_size=count // packs)
    trial = try_table("t", str(file), list(columns))
    for column in columns:
        exact = frozenset(each for each in trial.sample.sketches if each.column == column)
        asked = trial.joined(column, 1, None)
        if column == "none":
            assert asked == ()
        else:
            assert len(asked) == 16 and float(trial.kept_share(asked, exact).mean()) == pytest.approx(1 / packs, abs=0.03), column
    assert trial.joined("no such column", 1, None) == ()
