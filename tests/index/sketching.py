"""Packs out of Python values, their sketches as a file has them, and what is true of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from rtfilter.store.sketches.column_tests import ValueTest
from rtfilter.store.sketches.domain import PackValues, domain_of, pack_values
from rtfilter.store.sketches.kinds import Sketch
from rtfilter.store.sketches.outcomes import Outcome
from rtfilter.store.sketches.rows import SketchRows, load_rows, sketch_row, sketch_schema

ARROW = {
    "tinyint": pa.int8(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "boolean": pa.bool_(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal(9,2)": pa.decimal128(9, 2),
    "decimal(30,4)": pa.decimal128(30, 4),
    "string": pa.string(),
    "binary": pa.binary(),
}


def values_of(pack: Sequence[Any], spark_type: str) -> PackValues | None:
    return pack_values(pa.chunked_array([pa.array(pack, type=ARROW[spark_type])]), spark_type)


def sketched(packs: Sequence[Sequence[Any]], spark_type: str, sketch: Sketch) -> SketchRows:
    """The sketches of these packs, once through their record batch."""
    return sketched_values([values_of(pack, spark_type) for pack in packs], spark_type, sketch)


def sketched_values(packs: Sequence[PackValues | None], spark_type: str, sketch: Sketch) -> SketchRows:
    domain = domain_of(spark_type)
    assert domain is not None
    rows = [sketch_row(sketch, values) for values in packs]
    batch = pa.RecordBatch.from_pylist(rows, schema=sketch_schema(sketch, domain))
    return load_rows(sketch, domain, [batch])


def judged(rows: SketchRows, test: ValueTest) -> Outcome:
    return rows.judge(test, np.arange(len(rows), dtype=np.int64))


def verdicts(rows: SketchRows, test: ValueTest) -> list[str]:
    outcome = judged(rows, test)
    pairs = zip(outcome.reject.tolist(), outcome.accept.tolist(), strict=True)
    return ["reject" if reject else "accept" if accept else "partial" for reject, accept in pairs]
