"""A table of every type that writers are given, in packs that lie apart, and which columns of whose files reject nothing."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa

PACKS, ROWS = 6, 60
# Columns of which nothing is rejected, by writer, and why not. Every other column is: where one falls out, pruning was lost.
CUT_BOUNDS = {"long"}  # bounds of 16 to 64 bytes say nothing of texts that are alike in these
NO_ORDER = {"text", "long", "accents", "bytes"}  # the footer does not say in what order bytes were compared
DECIMALS = {"decimal9", "decimal18", "decimal38"}
FLOATS = {"float", "double"}
NOT_BELIEVED = {
    "arro3": CUT_BOUNDS,
    "daft": CUT_BOUNDS,
    "parquet-wasm": CUT_BOUNDS,
    "polars": CUT_BOUNDS,
    "rugo": CUT_BOUNDS,
    # Without a version in the footer: its decimals were wrong once.
    "hyparquet": {"long", "accents"} | DECIMALS,
    # Nobody has looked at how it compares decimals, which it stores as bytes.
    "carquet": {"long", "accents"} | DECIMALS,
    # No statistics at all.
    "parquetjs": {"int", "bigint", "holes", "flag"} | NO_ORDER,
    "dsnp-parquetjs": NO_ORDER,
    "fastparquet": NO_ORDER,
    # A NaN spoils the bounds of floats.
    "ladybug": NO_ORDER | FLOATS,
    # The same; its decimals are doubles.
    "polars-0.20": FLOATS | DECIMALS,
    # INT96.
    "pyspark-3.5": {"time_utc"},
}
# Pack and row: at the beginning, within, and at the end.
NANS = {(1, 0), (2, 30), (3, ROWS - 1)}
# The pack of only nulls in the column `holes`.
ALL_NULL = 4


def numbers(pack: int) -> list[int]:
    """Packs lie apart, negative ones first, then one with both signs; in the even ones numbers fall, in the others they rise."""
    rising = [(pack - 3) * 1000 + 7 * row - 200 for row in range(ROWS)]
    return rising[::-1] if pack % 2 == 0 else rising


def handed() -> pa.Table:
    """Every type that writers are given, in packs that lie apart."""
    packs = [(pack, number) for pack in range(PACKS) for number in numbers(pack)]
    values = [number for _, number in packs]

    def decimals(precision: int, scale: int, times: int = 1) -> pa.Array:
        return pa.array([Decimal(value * times).scaleb(-scale) for value in values], pa.decimal128(precision, scale))

    def holed(number: int, pack: int, row: int) -> int | None:
        return None if pack == ALL_NULL or row % 3 == 0 else number

    def floats(type: pa.DataType) -> pa.Array:
        return pa.array([float("nan") if (i // ROWS, i % ROWS) in NANS else value / 4 for i, value in enumerate(values)], type)

    day = datetime.date(1970, 1, 1)
    epoch = datetime.datetime(1970, 1, 1)
    times = [epoch + datetime.timedelta(seconds=1001 * value, microseconds=1) for value in values]
    return pa.table(
        {
            "int": pa.array(values, pa.int32()),
            "bigint": pa.array([value * 10**12 for value in values], pa.int64()),
            "holes": pa.array([holed(number, pack, i) for i, (pack, number) in enumerate(packs)], pa.int64()),
            "float": floats(pa.float32()),
            "double": floats(pa.float64()),
            "flag": pa.array([pack % 2 == 0 for pack, _ in packs]),
            "text": [f"k{value + 5000:05d}" for value in values],
            "long": ["same-in-front-" * 5 + f"{value + 5000:05d}" for value in values],
            "accents": ["é" * 20 + f"{value + 5000:05d}" + "ÿ" * 30 for value in values],
            "bytes": pa.array([(value % 2**32).to_bytes(4, "big") for value in values], pa.binary()),
            "day": pa.array([day + datetime.timedelta(days=value) for value in values], pa.date32()),
            "time": pa.array(times, pa.timestamp("us")),
            "time_utc": pa.array(times, pa.timestamp("us", "UTC")),
            "decimal9": decimals(9, 2),
            "decimal18": decimals(18, 3, 10**9),
            "decimal38": decimals(38, 4, 10**20 + 1),
        }
    )
