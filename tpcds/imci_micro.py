"""Suite `imci-micro`: item x inventory at chosen selectivities, after the micro-benchmark of the IMCI dynamic pruning paper.

About 6,000 packs at every scale, so that what share of the packs survives can be compared between scales. From scale factor 100 on
the two tables are made by `tpcds/inventory.py`.
"""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rtfilter.bench.suites.data_cache import Dataset, Manifest
from rtfilter.bench.suites.duckdb_generators import connection
from rtfilter.bench.suites.pack_writer import FORMAT, PackPlan, plan_packs, write_packs
from rtfilter.bench.suites.suite import DataRequest, Query, Suite, SuiteData
from tpcds import inventory
from tpcds.data import tpcds_tables

SELECTIVITIES = ("1.0", "0.9", "0.8", "0.5", "0.1", "0.01", "0.001")
WANTED_PACKS = 6000
FILES = 16
READ_ROWS = 1 << 18
ORDER_BY = {
    "clustered": "ORDER BY inv_date_sk, inv_item_sk, inv_warehouse_sk",
    "natural": "",
    # A seeded hash of the row's key: the same random order on every machine with this duckdb, whatever its threads do.
    "shuffled": "ORDER BY hash(inv_date_sk, inv_item_sk, inv_warehouse_sk, 20260101), inv_date_sk, inv_item_sk, inv_warehouse_sk",
}


def prepare(request: DataRequest) -> SuiteData:
    """Finds or makes the two tables in the asked layout, and the queries with the data's largest item key in them."""
    dataset = imci_tables(request)
    tables = {table: dataset.path / table for table in ("item", "inventory")}
    return SuiteData(tables, imci_queries(int(dataset.manifest["max_item_sk"])))


def imci_tables(request: DataRequest) -> Dataset:
    """`item/` (one file, dsdgen's order) and `inventory/` (16 files, each a contiguous share of the ordered rows)."""

    def build(directory: Path) -> Manifest:
        source = _source(request)
        (directory / "item").mkdir()
        shutil.copyfile(source.path / "item.parquet", directory / "item" / "part-00000.parquet")
        rows = pq.ParquetFile(source.path / "inventory.parquet").metadata.num_rows
        plan = plan_packs(rows, WANTED_PACKS, request.files or FILES, request.pack_rows)
        request.say(f"writes inventory, {request.layout}: {rows:,} rows in {plan.packs:,} packs of {plan.rows_per_pack:,}")
        _write_inventory(source.path / "inventory.parquet", request.layout, plan, directory)
        item_keys = pq.read_table(source.path / "item.parquet", columns=["i_item_sk"])["i_item_sk"]
        return {
            "sf": request.sf,
            "layout": request.layout,
            "rows": {"item": len(item_keys), "inventory": rows},
            "rows_per_pack": plan.rows_per_pack,
            "packs": plan.packs,
            "files": len(plan.packs_per_file),
            "max_item_sk": pc.max(item_keys).as_py(),
            "generator": source.manifest["generator"],
        }

    cut = f"-{request.pack_rows or 'auto'}x{request.files or FILES}" if request.pack_rows or request.files else ""
    return request.cache.dataset(f"imci-micro-sf{request.sf:g}-{request.layout}{cut}-{FORMAT}", build)


def _source(request: DataRequest) -> Dataset:
    if request.sf in inventory.SHAPES:
        return inventory.large_inventory(request.cache, request.sf, request.say)
    return tpcds_tables(request.cache, request.sf, ("item", "inventory"), request.say)


def _write_inventory(source: Path, layout: str, plan: PackPlan, directory: Path) -> None:
    scratch = directory / ".scratch"
    scratch.mkdir()
    with connection(scratch) as con:
        ordered = con.execute(f"SELECT * FROM read_parquet(?) {ORDER_BY[layout]}", [str(source)])
        reader: pa.RecordBatchReader = ordered.to_arrow_reader(READ_ROWS)
        write_packs(reader, reader.schema, plan, directory / "inventory")
    shutil.rmtree(scratch)


def imci_queries(max_item_sk: int) -> tuple[Query, ...]:
    """Four families over seven selectivities; every family gives the same rows at the same selectivity.

    `p=…` is the seed's form: from it Spark infers the same predicate on inventory (row by row, no pack).
    `attr p=…` names another item column too, so that it can only be tested on item.
    `swapped p=…` is the seed's second form, with the large side as build side.
    `limit p=…` is the probe alone with a literal filter: what a perfect runtime filter could reach.
    """
    families = (_seed_form, _attribute_form, _swapped_form, _limit_form)
    return tuple(family(p, max_item_sk) for family in families for p in SELECTIVITIES)


def _seed_form(p: str, max_item_sk: int) -> Query:
    return _join_query("p", "join key", p, f"i_item_sk / {max_item_sk} <= {p}")


def _attribute_form(p: str, max_item_sk: int) -> Query:
    # i_item_id is never null, so the second term is always 0: exactly the rows of the seed's form.
    return _join_query("attr p", "another column", p, f"i_item_sk / {max_item_sk} + 0 * length(i_item_id) <= {p}")


def _swapped_form(p: str, max_item_sk: int) -> Query:
    # 133 million rows (SF10) cannot be broadcast: a shuffled hash join is the way to build from inventory.
    hint = "/*+ SHUFFLE_HASH(inventory) */ "
    return _join_query("swapped p", "large side builds", p, f"inv_item_sk / {max_item_sk} <= {p}", hint)


def _join_query(name: str, what: str, p: str, predicate: str, hint: str = "") -> Query:
    body = f"count(*), sum(inv_quantity_on_hand) FROM item, inventory WHERE i_item_sk = inv_item_sk AND {predicate}"
    return Query(
        id=f"{name}={p}",
        spark_sql=f"SELECT {hint}{body}",
        duckdb_sql=f"SELECT {body}",
        tables=("item", "inventory"),
        family=f"{name} ({what})",
        selectivity=float(p),
    )


def _limit_form(p: str, max_item_sk: int) -> Query:
    largest = int(Decimal(p) * max_item_sk)
    sql = f"SELECT count(*), sum(inv_quantity_on_hand) FROM inventory WHERE inv_item_sk <= {largest}"
    return Query(f"limit p={p}", sql, sql, tables=("inventory",), family="limit p (probe alone)", selectivity=float(p))


SUITE = Suite(
    name="imci-micro",
    doc="TPC-DS item x inventory at seven selectivities, after the IMCI dynamic pruning micro-benchmark",
    layouts=("clustered", "natural", "shuffled"),
    query_ids=tuple(query.id for query in imci_queries(1)),
    prepare=prepare,
)
