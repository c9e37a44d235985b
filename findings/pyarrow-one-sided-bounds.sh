#!/usr/bin/env bash
# Arrow's C++ leaves a bound of more than 4,096 bytes out of a Parquet footer and writes the other one. pyarrow 17 then reports
# has_min_max with an empty text for the one that is missing, so a reader that trusts it skips row groups that hold the value.
# pyarrow 18 reports no bounds. Seen with the same file, written by pyarrow 26.0.1 from ["a", "x" * 5000]:
# 17.0.0 "True b'a' b''", 18.0.0 "False". Exits non-zero if either behaves otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
into() { # requirements, the first of which names the environment
    python3 -m venv "$folder/$1"
    "$folder/$1/bin/pip" install --quiet --disable-pip-version-check "$@"
}
into pyarrow==26.0.1
"$folder/pyarrow==26.0.1/bin/python" -c "
import pyarrow as pa, pyarrow.parquet as pq
pq.write_table(pa.table({'s': ['a', 'x' * 5000]}), '$folder/t.parquet')"
for version in pyarrow==17.0.0 pyarrow==18.0.0; do
    into "$version" numpy==1.26.4
    printed=$("$folder/$version/bin/python" -c "
import pyarrow.parquet as pq
found = pq.read_metadata('$folder/t.parquet').row_group(0).column(0).statistics
print(found.has_min_max, *([found.min_raw, found.max_raw] if found.has_min_max else []))")
    echo "$version: $printed"
    case "$version: $printed" in "pyarrow==17.0.0: True b'a' b''" | "pyarrow==18.0.0: False") ;; *) exit 1 ;; esac
done
