"""Reasons that the indexes of a table give."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import rtfilter
from rtfilter import Index, ValueSet
from tests.spark.cases import fact_table
from tests.spark.reasons.row import Row, Scene

ASKED = "select v from t where s = 'text 3'"
COMPUTED = "select v from t where length(s) = 3"
OTHER_COLUMN = "select v from t where r = 3"
JOINED = "select /*+ broadcast(dim) */ v from t join dim on k = id where grp = 3"
COPIED_WITHIN_S = 60


def indexed(scene: Scene) -> None:
    make_indexed(scene)


def make_indexed(scene: Scene) -> Path:
    """A table `t` with an index `by_s` of its column s."""
    folder = scene.table("t", fact_table().slice(0, 2000), files=2)
    Index.create(None, str(folder), [ValueSet("s", 20)], name="by_s")
    return folder


def with_log(content: bytes) -> Callable[[Scene], None]:
    """The index, with something else in all entries of its log."""

    def prepare(scene: Scene) -> None:
        for path in (make_indexed(scene) / "_rtfilter" / "by_s" / "log").iterdir():
            path.write_bytes(content)

    return prepare


def read_as_binary(scene: Scene) -> None:
    folder = make_indexed(scene)
    scene.spark.read.schema("v bigint, s binary").parquet(str(folder)).createOrReplaceTempView("t")


def slow(scene: Scene) -> None:
    """An index behind whose stable entry there are many large ones that nobody can understand, as it is
    told from the second time on."""
    log = make_indexed(scene) / "_rtfilter" / "by_s" / "log"
    large = log / f"{3:020d}.json"
    large.write_bytes(b'{"format": 1, "state": "?", "x": [' + b'"%s",' % (b"\\u00e4" * 2) * 300_000 + b"0]}")
    for number in range(4, 100):
        (log / f"{number:020d}.json").hardlink_to(large)
    until = time.monotonic() + COPIED_WITHIN_S
    while "left alone" not in rtfilter.why_not(scene.spark.sql(ASKED)).keys[0].detail and time.monotonic() < until:
        time.sleep(0.2)


def deleted(scene: Scene) -> None:
    folder = make_indexed(scene)
    (index,) = rtfilter.indexes(scene.spark, str(folder))
    index.delete()


def gone(scene: Scene) -> None:
    """Somebody overwrites the table after a query has used its index."""
    folder = make_indexed(scene)
    scene.spark.sql(JOINED).collect()
    shutil.rmtree(folder / "_rtfilter")


def stale(scene: Scene) -> None:
    folder = make_indexed(scene)
    shutil.copyfile(folder / "part-000.parquet", folder / "part-900.parquet")
    scene.spark.read.parquet(str(folder)).createOrReplaceTempView("t")


def seen_stale(scene: Scene) -> None:
    stale(scene)
    scene.spark.sql(ASKED).collect()


def unreachable(scene: Scene) -> None:
    """A log that can't be listed: a link to itself."""
    log = make_indexed(scene) / "_rtfilter" / "by_s" / "log"
    shutil.rmtree(log)
    log.symlink_to(log)


def far(scene: Scene) -> None:
    """The table on a filesystem that only Spark reaches."""
    name = f"{len(list(scene.far.iterdir()))}/t"
    shutil.copytree(make_indexed(scene), scene.far / name)
    scene.spark.read.parquet(f"viewfs://far/here/{name}").createOrReplaceTempView("t")


def far_until(code: str) -> Callable[[Scene], None]:
    """As `far`, until somebody has looked at the index, which is in the background."""

    def prepare(scene: Scene) -> None:
        (scene.folder / "file").touch()
        if code == "INDEX_CACHE":
            scene.spark.conf.set("rtfilter.store.cacheDirectory", str(scene.folder / "file" / "cache"))
        far(scene)
        until = time.monotonic() + COPIED_WITHIN_S
        while code not in [key.reason for key in rtfilter.why_not(scene.spark.sql(ASKED)).keys] and time.monotonic() < until:
            scene.spark.sql(ASKED).collect()
            time.sleep(0.2)

    return prepare


OF_INDEXES = (
    Row("PLANNED", ASKED, "by an index", prepare=indexed),
    Row("APPLIED", ASKED.replace("text 3", "text 99"), "by an index", prepare=indexed, runs=True),
    Row("REJECTS_NO_PACK", ASKED, "by an index", prepare=indexed, runs=True),
    Row("COST_NEVER", ASKED, "by an index", prepare=indexed, conf={"rtfilter.cost": "never"}),
    Row("MAY_RAISE", ASKED.replace("where", "where 100 / (v - 500) <> 3 and"), "a condition before", prepare=indexed),
    Row("INDEX_LACKS_COLUMN", OTHER_COLUMN, prepare=indexed),
    Row("CONDITION_NOT_JUDGED", COMPUTED, "computed", prepare=indexed),
    Row("CONDITION_NOT_JUDGED", "select v from t where s = X'FF'", "of another type", prepare=read_as_binary),
    Row("FIELD_ID_READ", ASKED, "by an index", {"spark.sql.parquet.fieldId.read.enabled": "true"}, prepare=indexed),
    Row("INDEX_STALE", ASKED, "used for the rest", prepare=stale, runs=True),
    Row("INDEX_STALE", ASKED, "not used", prepare=stale, runs=True, conf={"rtfilter.index.maxStale": "0.1"}),
    Row("INDEX_STALE", ASKED, "as the latest query found", prepare=seen_stale),
    Row("INDEX_STALE", ASKED, "as the latest query did not use it", prepare=seen_stale, conf={"rtfilter.index.maxStale": "0.1"}),
    Row("INDEX_CORRUPT", ASKED, prepare=with_log(b"{")),
    Row("INDEX_SLOW", ASKED, prepare=slow),
    Row("INDEX_VERSION", ASKED, prepare=with_log(b'{"format": 2}')),
    Row("INDEX_UNFINISHED", ASKED, prepare=with_log(b'{"format": 1, "state": "CREATING"}')),
    Row("INDEX_DELETED", ASKED, prepare=deleted),
    Row("INDEX_GONE", JOINED, "in a join", prepare=gone),
    Row("INDEX_GONE", ASKED, "in a condition", prepare=gone),
    Row("INDEX_UNREACHABLE", ASKED, prepare=unreachable),
    Row("INDEX_COMING", ASKED, prepare=far),
    Row("INDEX_CACHE", ASKED, prepare=far_until("INDEX_CACHE")),
    Row("INDEX_TOO_LARGE", ASKED, prepare=far_until("INDEX_TOO_LARGE"), conf={"rtfilter.store.cacheBytes": "1000"}),
)
