"""Spark's types for the columns of a Parquet file, as Spark infers them with its defaults."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_PLAIN = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int8, "tinyint"),
    (pa.types.is_int16, "smallint"),
    (pa.types.is_int32, "int"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_uint8, "smallint"),
    (pa.types.is_uint16, "int"),
    (pa.types.is_uint32, "bigint"),
    (pa.types.is_uint64, "decimal(20,0)"),
    (pa.types.is_float32, "float"),
    (pa.types.is_float64, "double"),
    (pa.types.is_date32, "date"),
    (pa.types.is_string, "string"),
    (pa.types.is_large_string, "string"),
    (pa.types.is_binary, "binary"),
    (pa.types.is_large_binary, "binary"),
)


def spark_type_of(arrow_type: Any) -> str:
    """Spark's catalog text for a column; the arrow text for what has no key domain."""
    if pa.types.is_dictionary(arrow_type):
        return spark_type_of(arrow_type.value_type)
    if pa.types.is_timestamp(arrow_type):
        return "timestamp" if arrow_type.tz is not None else "timestamp_ntz"
    if pa.types.is_decimal(arrow_type):
        return f"decimal({arrow_type.precision},{arrow_type.scale})"
    return next((text for fits, text in _PLAIN if fits(arrow_type)), str(arrow_type))
