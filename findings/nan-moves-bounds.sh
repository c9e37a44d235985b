#!/usr/bin/env bash
# Two writers of Parquet store bounds of float columns that leave values out once a NaN stood among them: their running minimum or
# maximum becomes the NaN, and then the next value. A reader that skips row groups by such bounds loses rows; Spark does, with a
# literal. Seen with ladybug 0.22.0, [1, 2, 3, NaN, 4, 5]: "4.0 5.0"; with polars 0.20.31, [5, 4, 3, NaN, 2, 1]: "1.0 2.0". Bounds are
# read by pyarrow 26.0.1. Exits non-zero if either behaves otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check ladybug==0.22.0 polars==0.20.31 pyarrow==26.0.1
printed=$("$folder/env/bin/python" - "$folder" <<'END'
import sys
import ladybug, polars, pyarrow as pa, pyarrow.parquet as pq

folder, nan = sys.argv[1], float("nan")

def bounds(path):
    found = pq.read_metadata(path).row_group(0).column(0).statistics
    return f"{found.min} {found.max}"

part = pa.table({"f": pa.array([1, 2, 3, nan, 4, 5], pa.float64())})
connection = ladybug.Connection(ladybug.Database(":memory:"))
connection.execute(f"COPY (LOAD FROM part RETURN *) TO '{folder}/l.parquet'", {"part": part})
print("ladybug", ladybug.__version__, bounds(f"{folder}/l.parquet"))
polars.DataFrame({"f": [5.0, 4.0, 3.0, nan, 2.0, 1.0]}).write_parquet(f"{folder}/p.parquet", statistics=True)
print("polars", polars.__version__, bounds(f"{folder}/p.parquet"))
END
)
echo "$printed"
[ "$printed" = "ladybug 0.22.0 4.0 5.0
polars 0.20.31 1.0 2.0" ]
