"""Trees that Spark builds against trees of the same table and definition that this process builds: the same files, byte by byte."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from rtfilter import StarTree
from rtfilter.index.large_trees import row_keys, scratch
from tests.spark.star_tree.two_builders import assert_same, built_by_spark

CASES = 50
MEASURES = (
    *("count(*)", "sum(whole)", "avg(whole)", "sum(price)", "avg(long_price)", "count(price)", "min(text)", "max(text)"),
    *("min(real)", "max(real)", "max(day)", "sum(tiny)", "min(at)"),
)


ZERO_DAY, ZERO_TIME = datetime.date(2020, 1, 30), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
REALS = (0.0, -0.0, float("nan"), 1.5, -3.25, 7.0, float("inf"), 9.0, 10.0)
KINDS: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "int": (pa.int32(), lambda code: code - 2),
    "string": (pa.string(), lambda code: f"{'é' * (code % 2)}v{code}"),
    "date": (pa.date32(), lambda code: ZERO_DAY + datetime.timedelta(code)),
    "decimal": (pa.decimal128(6, 2), lambda code: Decimal(code - 1).scaleb(-2)),
    "double": (pa.float64(), lambda code: REALS[code % len(REALS)]),
    "boolean": (pa.bool_(), lambda code: bool(code % 2)),
    "binary": (pa.binary(), lambda code: bytes([255 - code, code])),
    "timestamp": (pa.timestamp("us", tz="UTC"), lambda code: ZERO_TIME + datetime.timedelta(hours=code)),
}


def _values(kind: str, codes: np.ndarray[Any, Any]) -> Any:
    arrow_type, made = KINDS[kind]
    return pa.array([made(code) for code in codes.tolist()], arrow_type)


def _with_nulls(r: np.random.Generator, values: Any) -> Any:
    return pa.array(values.to_pylist(), values.type, mask=r.random(len(values)) < 0.3) if r.random() < 0.5 else values


def random_table(r: np.random.Generator, dimensions: int) -> pa.Table:
    """Dimensions of random types and numbers of values, some with nulls, and columns to be measured."""
    rows = int(r.integers(1, 400))
    columns: dict[str, Any] = {}
    for number in range(dimensions):
        size = int(r.integers(1, 9))
        drawn = np.minimum(r.integers(0, size, rows), r.integers(0, size, rows))
        columns[f"dim {number}"] = _with_nulls(r, _values(str(r.choice(list(KINDS))), drawn))
    long_prices = [Decimal(each) * 10**9 for each in r.integers(-(10**9), 10**9, rows).tolist()]
    measured = {
        "whole": pa.array(r.integers(-(2**62), 2**62, rows) * 2, pa.int64()),
        "tiny": pa.array(r.integers(-128, 128, rows), pa.int8()),
        "price": _values("decimal", r.integers(0, 99, rows)),
        "long_price": pa.array(long_prices, pa.decimal128(28, 3)),
        "text": _values("string", r.integers(0, 30, rows)),
        "real": _values("double", r.integers(0, 9, rows)),
        "day": _values("date", r.integers(0, 30, rows)),
        "at": _values("timestamp", r.integers(0, 30, rows)),
    }
    return pa.table(columns | {name: _with_nulls(r, values) for name, values in measured.items()})


@pytest.mark.parametrize("case", range(CASES))
def test_the_same_files(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: int) -> None:
    """Every third one with keys of several words, every fifth in several parts, every seventh without files of this machine."""
    r = np.random.default_rng(case)
    own, dimensions = spark.newSession(), int(r.integers(1, 6))
    own.conf.set("spark.sql.shuffle.partitions", 3 if case % 5 == 0 else 1)
    monkeypatch.setattr(row_keys, "_WORD_BITS", 13 if case % 3 == 0 else 63)
    monkeypatch.setattr(scratch, "is_local", lambda _: case % 7 != 0)
    (tmp_path / "t").mkdir()
    pq.write_table(random_table(r, dimensions), tmp_path / "t" / "part.parquet")
    names = [f"dim {number}" for number in range(dimensions)]
    asked = r.permutation(np.array(MEASURES))[: int(r.integers(1, len(MEASURES)))].tolist()
    options: dict[str, Any] = {
        "max_leaf": int(r.choice([1, 2, 5, 20, 50])),
        "no_star": [name for name in names if r.random() < 0.2],
        "name": "cube",
    }
    table = str(tmp_path / "t")
    here = StarTree.create(None, table, names, asked, location=str(tmp_path / "here"), **options)
    there = built_by_spark(
        monkeypatch, tmp_path, StarTree.create, own, table, names, asked, location=str(tmp_path / "there"), **options
    )
    assert_same(here, there)
    assert here.last_build is not None and there.last_build is not None
    assert here.last_build.base_rows == there.last_build.base_rows
