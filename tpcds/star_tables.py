"""The tables of the suite `star`, each with its star-tree, in folders of their own: no other suite meets the trees."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rtfilter.bench.suites.data_cache import Dataset, Manifest
from rtfilter.bench.suites.duckdb_generators import GENERATOR_BYTES, connection, quoted
from rtfilter.bench.suites.layout import DEFAULT_FILES, DEFAULT_PACK_ROWS, READ_ROWS
from rtfilter.bench.suites.pack_writer import FORMAT, plan_packs, write_packs
from rtfilter.bench.suites.suite import DataRequest
from rtfilter.errors import BenchError

# Files of the table whose last file its tree does not know.
GROWN_FILES = 100

FLAT = """
SELECT 100 * d_year + d_moy AS month, ss_store_sk AS store, i_category, i_class, hd_buy_potential,
  p_channel_dmail, p_channel_email, p_channel_tv, p_channel_event,
  ss_quantity AS quantity, ss_net_paid AS net_paid, ss_ext_sales_price AS sales_price, ss_net_profit AS net_profit,
  store_sales.* EXCLUDE (ss_store_sk, ss_quantity, ss_net_paid, ss_ext_sales_price, ss_net_profit)
FROM store_sales LEFT JOIN date_dim ON ss_sold_date_sk = d_date_sk LEFT JOIN item ON ss_item_sk = i_item_sk
  LEFT JOIN household_demographics ON ss_hdemo_sk = hd_demo_sk LEFT JOIN promotion ON ss_promo_sk = p_promo_sk"""


@dataclass(frozen=True)
class Tree:
    """A star-tree as the command line takes it."""

    name: str
    dimensions: tuple[str, ...]
    measures: tuple[str, ...]
    max_leaf: int = 10_000


@dataclass(frozen=True)
class Table:
    """A table out of generated ones. `grows`: its last file comes after its tree."""

    sql: str
    tree: Tree | None = None
    grows: bool = False


BY_DATE = Tree(
    "by_date_and_store",
    ("ss_sold_date_sk", "ss_store_sk"),
    ("count(*)", "sum(ss_quantity)", "sum(ss_net_paid)", "avg(ss_sales_price)", "min(ss_net_profit)", "max(ss_net_profit)"),
)
CUBE = Tree(
    "cube",
    (
        *("month", "store", "i_class", "i_category", "hd_buy_potential"),
        *("p_channel_dmail", "p_channel_email", "p_channel_tv", "p_channel_event"),
    ),
    ("count(*)", "sum(quantity)", "sum(net_paid)", "avg(sales_price)", "max(net_profit)"),
    # Queries by month that ask for a class or a channel read a leaf for each month.
    max_leaf=1_000,
)
SHIPPED = Tree(
    "shipped",
    ("l_shipdate", "l_shipmode", "l_returnflag", "l_linestatus"),
    ("count(*)", "sum(l_quantity)", "sum(l_extendedprice)", "avg(l_discount)", "max(l_tax)"),
)
TABLES: Mapping[str, Table] = {
    "store_sales": Table("SELECT * FROM store_sales", BY_DATE),
    "flat": Table(FLAT, CUBE),
    "flat_grown": Table(FLAT, CUBE, grows=True),
    "lineitem": Table("SELECT * FROM lineitem", SHIPPED),
    "date_dim": Table("SELECT * FROM date_dim"),
    "store": Table("SELECT * FROM store"),
}


def star_table(request: DataRequest, name: str, sources: Dataset) -> Path:
    """Finds or makes one of `TABLES` out of a generated dataset.

    Raises:
        BenchError: the data cannot be written, or its tree cannot be made.
    """
    table = TABLES[name]
    pack_rows, files = request.pack_rows or DEFAULT_PACK_ROWS, request.files or DEFAULT_FILES

    def build(directory: Path) -> Manifest:
        request.say(f"writes {name}")
        scratch = directory / ".scratch"
        scratch.mkdir()
        with connection(scratch, most_bytes=GENERATOR_BYTES) as con:
            for source in sources.path.glob("*.parquet"):
                con.execute(f"CREATE VIEW {source.stem} AS SELECT * FROM read_parquet('{quoted(source)}')")
            counted = con.execute(f"SELECT count(*) FROM ({table.sql})").fetchone()
            assert counted is not None, "a count has a row"
            rows = int(counted[0])
            size = max(1, min(pack_rows, rows // GROWN_FILES)) if table.grows else pack_rows
            most = GROWN_FILES if table.grows else files
            plan = plan_packs(rows, 1, min(most, max(1, -(-rows // size))), size)
            reader = con.execute(table.sql).to_arrow_reader(READ_ROWS)
            write_packs(reader, reader.schema, plan, directory / name)
        if table.tree is not None:
            request.say(f"makes a star-tree of {name}")
            _with_tree(directory / name, table.tree, scratch if table.grows else None)
        shutil.rmtree(scratch)
        return {"table": name, "rows": rows, "pack_rows": size, "files": len(plan.packs_per_file)}

    cut = f"{pack_rows}" if table.grows else f"{pack_rows}x{files}"
    # Another query or tree makes another table.
    digest = hashlib.sha256(repr(table).encode()).hexdigest()[:8]
    return request.cache.dataset(f"star-sf{request.sf:g}-{name}-{cut}-{digest}-{FORMAT}", build).path / name


def _with_tree(folder: Path, tree: Tree, aside: Path | None) -> None:
    """Makes the tree; `aside`: where the last file is meanwhile."""
    last = max(folder.glob("*.parquet"))
    if aside is not None:
        last.rename(aside / last.name)
    _create(folder, tree)
    if aside is not None:
        (aside / last.name).rename(last)


def _create(folder: Path, tree: Tree) -> None:
    """In a process of its own: it may start Spark, whose options are not those of the benchmark."""
    options = ["--name", tree.name, "--dimensions", ",".join(tree.dimensions), "--measures", ",".join(tree.measures)]
    options += ["--max-leaf", str(tree.max_leaf)]
    command = [sys.executable, "-m", "rtfilter", "startree", "create", str(folder), *options, "--max-rows", "100%"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"the star-tree {tree.name!r} cannot be made of {folder}: {done.stderr.strip() or done.stdout.strip()}")
