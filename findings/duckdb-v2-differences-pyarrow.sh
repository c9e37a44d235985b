#!/usr/bin/env bash
# DuckDB's PARQUET_VERSION V2 stores 32-bit numbers as differences of up to 64 bits (DELTA_BINARY_PACKED). pyarrow refuses to read
# such a column where a difference needs more than 32 bits; DuckDB reads it. Seen with duckdb 2.0.1 and the values -2147483648 and
# 2147483647 among small ones: pyarrow 26.0.1 raises "Unexpected end of stream: InitBlock EOF", pyarrow 18.0.0 "delta bit width larger
# than integer bit width". Exits non-zero if either reads the column, or DuckDB does not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
into() { # version
    python3 -m venv "$folder/$1"
    "$folder/$1/bin/pip" install --quiet --disable-pip-version-check "pyarrow==$1" duckdb==2.0.1
}
into 26.0.1
into 18.0.0
"$folder/26.0.1/bin/python" -c "
import duckdb
extremes = 'case i when 7 then -2147483648 when 8 then 2147483647 else i end::int as v'
duckdb.sql(f'select {extremes} from range(1000) t(i)').write_parquet('$folder/plain.parquet')
duckdb.sql(f\"copy (select {extremes} from range(1000) t(i)) to '$folder/t.parquet' (format parquet, parquet_version v2)\")
same = 'select min(v), max(v), sum(v), count(*) from '
assert duckdb.sql(same + \"'$folder/t.parquet'\").fetchall() == duckdb.sql(same + \"'$folder/plain.parquet'\").fetchall()
print('duckdb', duckdb.__version__, 'reads it')"
for version in 26.0.1 18.0.0; do
    printed=$("$folder/$version/bin/python" -c "
import pyarrow.parquet as pq
try:
    pq.read_table('$folder/t.parquet')
    print('read')
except OSError as error:
    print(error)")
    echo "pyarrow $version: $printed"
    case "$version: $printed" in
    "26.0.1: Unexpected end of stream: InitBlock EOF"* | "18.0.0: "*"delta bit width larger than integer bit width"*) ;;
    *) exit 1 ;;
    esac
done
