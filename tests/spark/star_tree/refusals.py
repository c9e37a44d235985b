"""The table of reasons for star-trees: a query for each, and the sentence that users see."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from planner.star_tree.reasons import TreeReason
from rtfilter import StarTree
from rtfilter.store.index_files.tree_snapshot import TREES_FOLDER
from tests.spark.star_tree.made_trees import make_tree, sales, write_table

BY_STORE = "select store, sum(x) from sales group by store"
LARGE = 2**60


@dataclass(frozen=True)
class Scene:
    """A session with the view `sales`, over a table with the trees `cube` and `wide`; `folder` is free for more."""

    spark: SparkSession
    table: Path
    folder: Path

    def copy(self) -> Path:
        """A copy of the table, trees included."""
        return Path(shutil.copytree(self.table, self.folder / "sales"))

    def show(self, table: Path, schema: str = "") -> Path:
        reader = self.spark.read.schema(schema) if schema else self.spark.read
        reader.parquet(str(table)).createOrReplaceTempView("sales")
        return table


@dataclass(frozen=True)
class Row:
    """A query, and of the tree `tree` the reason and its sentence. `fails`: it can't be run, for a sum that leaves its type."""

    reason: TreeReason
    sql: str
    sentence: str
    title: str = ""
    tree: str = "cube"
    conf: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Scene], object] | None = None
    fails: bool = False

    @property
    def name(self) -> str:
        return f"{self.reason}, {self.title}" if self.title else str(self.reason)


def more_files(scene: Scene) -> None:
    copy = scene.copy()
    pq.write_table(sales(seed=2), copy / "part-9.parquet")
    scene.show(copy)


def changed_file(scene: Scene) -> None:
    copy = scene.copy()
    pq.write_table(sales(seed=2), copy / "part-0.parquet")
    scene.show(copy)


def damaged(scene: Scene) -> None:
    copy = scene.copy()
    for file in (copy / "_rtfilter" / TREES_FOLDER / "cube" / "data").iterdir():
        file.write_bytes(b"PAR1")
    scene.show(copy)


def large_values(scene: Scene) -> None:
    table = pa.table({"store": ["a", "b", "c"], "x": pa.array([LARGE, LARGE * 3, LARGE * 3], pa.int64())})
    large = write_table(scene.folder / "large", table, files=1)
    make_tree(large, "cube", ["store"], ["sum(x)"])
    scene.show(large)


def weights(scene: Scene) -> None:
    table = write_table(scene.folder / "weights", sales())
    scene.spark.conf.set("rtfilter.startree.floats", True)
    StarTree.create(scene.spark, str(table), ["store"], ["sum(weight)"], name="cube", max_rows=1_000_000)
    scene.spark.conf.unset("rtfilter.startree.floats")
    scene.show(table)


def unique_keys(scene: Scene) -> None:
    table = write_table(scene.folder / "unique", pa.table({"store": pa.array(range(500), pa.int32()), "x": pa.array(range(500))}))
    make_tree(table, "cube", ["store"], ["sum(x)"])
    scene.show(table)


def nulls(scene: Scene) -> None:
    table = write_table(scene.folder / "nulls", sales())
    make_tree(table, "cube", ["store"], ["sum(x)", "sum(y)"])
    scene.show(table)


def sketches(scene: Scene) -> None:
    table = write_table(scene.folder / "sketches", sales())
    StarTree.create(scene.spark, str(table), ["store"], ["theta_sketch_agg(name, 8)"], name="cube", max_rows=1_000_000)
    scene.show(table)


def wider_days(scene: Scene) -> None:
    scene.show(scene.table, "day double, store string, x int")


def named_twice(scene: Scene) -> None:
    scene.spark.read.parquet(str(scene.table), str(scene.table)).createOrReplaceTempView("sales")


ROWS = (
    Row(TreeReason.USED, BY_STORE, "8 rows of the tree in place of 20,000 of the table."),
    Row(TreeReason.OTHER_TREE, BY_STORE, "cube has fewer rows to read: 8.", tree="wide"),
    Row(
        TreeReason.OPERATOR_BELOW,
        "select sum(x) from (select * from sales limit 100)",
        "GlobalLimit lies between the aggregate and the table.",
    ),
    Row(
        TreeReason.OPERATOR_BELOW,
        "select sum(x) from (select x from sales union all select x from sales)",
        "Union lies between the aggregate and the table.",
        title="a union",
    ),
    Row(
        TreeReason.NOT_PRESERVED,
        "select k, sum(x) from days left join sales on day = k group by k",
        "the table is on the right side of a LeftOuter join, which may put nulls in its rows' place.",
    ),
    Row(
        TreeReason.NOT_DETERMINISTIC,
        "select store, sum(x) from sales where rand(7) < 0.5 group by store",
        "LessThan may give another value at another time.",
    ),
    Row(
        TreeReason.OR_OVER_DIMENSIONS,
        "select sum(x) from sales where day = 3 or store = 's1'",
        "a condition is about day, store together.",
    ),
    Row(
        TreeReason.NO_DIMENSION,
        "select name, sum(x) from sales where item < 9 group by name",
        "the query filters, groups or joins by item, name: no dimension of the tree.",
    ),
    Row(
        TreeReason.OTHER_TYPE,
        "select day, sum(x) from sales group by day",
        "the query reads day as double, the tree holds it as int.",
        prepare=wider_days,
        fails=True,
    ),
    Row(TreeReason.NOT_STORED, "select sum(y) from sales", "sum(y) needs sum(y), which the tree does not hold."),
    Row(
        TreeReason.NOT_STORED,
        "select sum(length(name)) from sales",
        "sum(length(name)) sums an expression that can't be made of stored sums.",
        title="an expression",
    ),
    Row(
        TreeReason.NOT_STORED,
        "select theta_sketch_agg(name, 12) from sales",
        "theta_sketch_agg(name, 12) needs sketches of its own size, and the tree holds theta_sketch_agg(name, 8).",
        title="sketches of another size",
        prepare=sketches,
    ),
    Row(
        TreeReason.FUNCTION_NOT_SERVED,
        "select store, hll_sketch_estimate(hll_sketch_agg(name, 12)) > 0 from sales group by store",
        "hll_sketch_agg(name, 12): the bytes and the estimates of such a sketch depend on the order of rows.",
        title="sketches that depend on the order of rows",
    ),
    Row(
        TreeReason.MAY_OVERFLOW,
        "select sum(x * y) from sales",
        "sum((x * y)): what it sums up may be rounded or overflow in a row of the table.",
        title="an expression",
    ),
    Row(
        TreeReason.DISTINCT_MEASURE,
        "select store, count(distinct name) from sales group by store",
        "count(DISTINCT name) counts the values of name, and a tree has those of dimensions only.",
    ),
    Row(
        TreeReason.FUNCTION_NOT_SERVED,
        "select store, collect_set(x) from sales where store = 's1' group by store",
        "collect_set(x): collect_set can't be made of stored aggregates.",
    ),
    Row(
        TreeReason.MAY_OVERFLOW,
        "select sum(x) from sales",
        "sum(x): sums of x may leave what a bigint holds exactly, and fail or round in another order of rows.",
        prepare=large_values,
        fails=True,
    ),
    Row(
        TreeReason.NULLS_BETWEEN,
        "select store, sum(x + y) from sales group by store",
        "sum((x + y)) leaves out rows with a null on either side, and the table has nulls in y.",
        prepare=nulls,
    ),
    Row(
        TreeReason.FLOATS_OFF,
        "select sum(weight) from sales",
        "sum(weight): the last digits of a double's sum depend on the order of rows; set rtfilter.startree.floats to allow that.",
        prepare=weights,
    ),
    Row(
        TreeReason.HINT_SKIP,
        BY_STORE.replace("select", "select /*+ RTFILTER(skip()) */"),
        "a hint of the query says not to use it.",
    ),
    Row(
        TreeReason.HYBRID_OFF,
        BY_STORE,
        "it does not cover 1 file, and rtfilter.startree.hybrid is false.",
        conf={"rtfilter.startree.hybrid": "false"},
        prepare=more_files,
    ),
    Row(
        TreeReason.TOO_STALE,
        BY_STORE,
        "it does not cover N% of the table's bytes, above rtfilter.index.maxStale; use refresh.",
        conf={"rtfilter.index.maxStale": "0.2"},
        prepare=more_files,
    ),
    Row(
        TreeReason.TOO_STALE,
        BY_STORE,
        "it covers no file of the table as it is now; use refresh. part-0.parquet was changed or removed.",
        title="a changed file",
        prepare=changed_file,
    ),
    Row(
        TreeReason.LISTED_TWICE,
        BY_STORE,
        "the query names a file of the table more than once.",
        prepare=named_twice,
    ),
    Row(
        TreeReason.NOT_FEWER_ROWS,
        BY_STORE,
        "it has 500 rows to read for this query, where the table has 500.",
        prepare=unique_keys,
    ),
    Row(
        TreeReason.UNREADABLE,
        BY_STORE,
        "…/@star_trees…/FILE.parquet of the index can't be used: it has N bytes, the log says N.",
        prepare=damaged,
    ),
)
