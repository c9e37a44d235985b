"""What a fill learns of a table's footers is used when the next query is planned."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner.plan.nodes import Scan
from planner.plan.tree import Plan
from rtfilter.host.table_facts import with_table_facts
from rtfilter.store.bounds.filters import filter_of_keys
from rtfilter.store.pack_store import PackStore
from rtfilter.store.tables.verdict import ColumnFilter
from tests.planner.plans import attr, broadcast, column, join, plan_of, scan
from tests.store.tables_at_hand import listing, write

ROWS = 800


@pytest.fixture
def table(tmp_path: Path) -> Path:
    folder = tmp_path / "fact"
    folder.mkdir()
    for number in range(2):
        values = np.arange(ROWS // 2, dtype=np.int32)
        write(folder / f"part-{number}.parquet", {"k": values % 50, "far": values * 1_000}, pack_rows=100)
    return folder


@pytest.fixture
def store(table: Path) -> PackStore:
    found = PackStore()
    found.add_list("d", *listing(sorted(table.iterdir())))
    return found


def fill(store: PackStore, *names: str) -> None:
    keys = filter_of_keys(np.array([1], dtype=np.int64))
    store.footers.prefetch("d", names)
    assert store.verdict("d", [ColumnFilter(name, "int", keys) for name in names], wait_s=20.0) is not None


def planned(table: Path, **fields: object) -> Plan:
    total_bytes = sum(file.stat().st_size for file in table.iterdir())
    columns = (column(1, "K"), column(2, "far"))
    fact = scan("fact", *columns, **{"bytes": total_bytes, "roots": [f"file:{table}"], **fields})
    return plan_of(join(fact, broadcast(scan("dim", column(11, "d"))), [attr(1, "k")], [attr(11, "d")]))


def scan_of(plan: Plan) -> Scan:
    return next(node for node in plan.nodes if isinstance(node, Scan) and node.table == "fact")


def test_rows_and_distinct_values_come_from_footers(table: Path, store: PackStore) -> None:
    plan = planned(table)
    assert with_table_facts(plan, store.seen) is plan
    fill(store, "k", "far")
    found = with_table_facts(plan, store.seen)
    assert (scan_of(found).rows, [each.distinct for each in scan_of(found).columns]) == (ROWS, [50, None])
    assert replace(scan_of(found), rows=None, columns=scan_of(plan).columns) == scan_of(plan)


def test_the_catalog_has_the_last_word(table: Path, store: PackStore) -> None:
    fill(store, "k")
    assert scan_of(with_table_facts(planned(table, rows=7), store.seen)).rows == 7


def test_a_table_with_other_bytes_stays_unknown(table: Path, store: PackStore) -> None:
    fill(store, "k")
    plan = planned(table, bytes=12)
    assert with_table_facts(plan, store.seen) is plan


def test_a_file_that_is_not_known_tells_nothing_of_the_table(table: Path) -> None:
    store = PackStore()
    (table / "part-9.parquet").write_bytes(b"no parquet at all, but long enough")
    store.add_list("d", *listing(sorted(table.iterdir())))
    fill(store, "k")
    assert store.seen.facts([f"file:{table}"], sum(file.stat().st_size for file in table.iterdir())) is None


def test_past_its_deadline_a_fill_waits_for_no_footer(store: PackStore) -> None:
    """Of the scans of one stage the last has what the others have left of the bridge's patience."""
    silent = "s3a://bucket/0.parquet"
    store.add_list("remote", [silent], [1000], [0])
    store.footers.prefetch("remote", ["k"])
    assert store.footers.needs_bridge("remote", ["k"]) == [0]
    keys = filter_of_keys(np.array([1], dtype=np.int64))
    began_s = time.monotonic()
    found = store.verdict("remote", [ColumnFilter("k", "int", keys)], wait_s=20.0, deadline_s=began_s + 0.1)
    assert found is not None and found.packs.files_unknown == 1
    assert time.monotonic() - began_s < 10.0
