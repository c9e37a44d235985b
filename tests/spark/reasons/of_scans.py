"""Reasons on the way from the join's key down to its scan, and by the scan itself."""

from __future__ import annotations

import pyarrow as pa

from tests.spark.reasons.of_joins import JOIN
from tests.spark.reasons.row import ALWAYS, SHUFFLED, Row, Scene


def by_partition(scene: Scene) -> None:
    scene.spark.sql("select v, k % 5 p from fact").write.partitionBy("p").parquet(str(scene.folder / "parted"))
    scene.spark.read.parquet(str(scene.folder / "parted")).createOrReplaceTempView("parted")


def as_csv(scene: Scene) -> None:
    scene.spark.table("fact").limit(50).write.csv(str(scene.folder / "texts"), header=True)
    scene.spark.read.schema("k int, v bigint").csv(str(scene.folder / "texts")).createOrReplaceTempView("texts")


def in_chars(scene: Scene) -> None:
    path = scene.table("padded", pa.table({"c": ["a", "b"]}))
    scene.spark.sql(f"create or replace temporary view chars (c char(3)) using parquet options (path '{path}')")


BROADCAST = "select /*+ broadcast(dim) */ * from ({}) join dim on {} = id"
ARMS = "select v, 1 x from fact union all select v, 2 x from fact"
TWICE = """
    with a as (select k, count(*) n from fact group by k)
    select x.n from a x join dim on x.k = id where grp = 3 union all select n from a where k is not null
"""

OF_SCANS = (
    Row("NOT_DETERMINISTIC", "select v, rand(7) from fact join dim on k = id", "a value by place"),
    Row("NOT_DETERMINISTIC", "select * from (select v from fact join dim on k = id) tablesample (50 percent)", "a sample"),
    Row("MAY_RAISE", "select * from (select 100 / v q, k from fact where v > 3) join dim on k = id where q <> 3", "on the way"),
    Row("OPERATOR_IN_BETWEEN", "select /*+ broadcast(dim) */ * from (select k from fact limit 100) join dim on k = id", "limit"),
    Row(
        "OPERATOR_IN_BETWEEN",
        "select /*+ broadcast(dim) */ * from (select max(k) m from fact) join dim on m = id",
        "one row of all",
    ),
    Row(
        "OPERATOR_IN_BETWEEN",
        "select * from (select k, max(v) over (partition by s) n from fact) join dim on k = id",
        "window",
    ),
    Row(
        "OPERATOR_IN_BETWEEN",
        "select * from (select f.k, d.id from fact f full join dim d on d.id = f.k) x join dim e on x.k <=> e.id",
        "outer join",
    ),
    Row("NOT_A_PLAIN_COLUMN", "select v from fact join dim on k & 7 = id", "computed"),
    Row("NOT_A_PLAIN_COLUMN", "select v from fact join dim on coalesce(kn, k) = id", "of two columns"),
    Row("NOT_A_PLAIN_COLUMN", "select v from (select v, explode(array(k, 1)) e from fact) join dim on e = id", "generated"),
    Row(
        "OPERATOR_IN_BETWEEN",
        "select /*+ broadcast(dim) */ * from (select max(k) m from fact group by r) join dim on m = id",
        "aggregated",
    ),
    Row("NOT_A_PLAIN_COLUMN", "select /*+ broadcast(dim) */ c from chars join dim on c = name", "char", prepare=in_chars),
    Row("NOT_A_PLAIN_COLUMN", BROADCAST.format(ARMS, "x"), "the same for every row"),
    Row(
        "NOT_A_PLAIN_COLUMN", BROADCAST.format("select k, grouping_id() g from fact group by k, r with rollup", "g"), "of a rollup"
    ),
    Row("NOT_DETERMINISTIC", BROADCAST.format("select cast(rand(7) * 10 as int) x from fact", "x"), "the key"),
    Row("NOT_DETERMINISTIC", BROADCAST.format("select k, rand(7) x from fact", "k") + " where x < 0.5", "in between"),
    Row("CAST_NOT_WIDENING", "select v from fact join dim on cast(d as string) = name"),
    Row("PARTITION_COLUMN", "select v from parted join dim on p = id where grp = 3", prepare=by_partition),
    Row("NOT_PLAIN_PARQUET", "select /*+ broadcast(dim) */ v from texts join dim on k = id", prepare=as_csv),
    Row("FIELD_ID_READ", JOIN, conf={"spark.sql.parquet.fieldId.read.enabled": "true"}),
    Row("NOT_A_FILE_SCAN", "select /*+ broadcast(dim) */ * from range(9) r join dim on r.id = dim.id where grp = 3"),
    Row("SKIPS_CORRUPT_FILES", JOIN, conf={"spark.sql.files.ignoreCorruptFiles": "true"}),
    Row("SHARED_EXCHANGE", TWICE, conf=SHUFFLED | ALWAYS),
    Row("GATE_OFF", JOIN, conf={**SHUFFLED, "rtfilter.gate.enabled": "false"}),
)
