#!/usr/bin/env bash
# In Spark and in DuckDB a NaN is above every number: `f > 0` holds for it. Both leave out row groups by their bounds, and bounds
# know nothing of NaN, as the format asks. So a filter loses the NaN of a row group whose numbers all fail it, and the same filter
# above a step that hides it from the reader keeps them. The file is a plain one of pyarrow's. Seen with pyspark 4.0.1, duckdb 1.4.1
# and pyarrow 21.0.0: each counts 0 rows with the filter at the reader, and 2 without. Exits non-zero if one behaves otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check pyspark==4.0.1 duckdb==1.4.1 pyarrow==21.0.0
printed=$(SPARK_LOCAL_IP=127.0.0.1 "$folder/env/bin/python" - "$folder" 2>"$folder/err" <<'END'
import sys
import duckdb, pyarrow as pa, pyarrow.parquet as pq, pyspark
from pyspark.sql import SparkSession

path, nan = f"{sys.argv[1]}/f.parquet", float("nan")
pq.write_table(pa.table({"f": pa.array([-1.0, nan, 0.0, nan], pa.float64())}), path)
count = lambda sql: duckdb.sql(sql).fetchall()[0][0]
print("duckdb", duckdb.__version__, count(f"select count(*) from '{path}' where f > 0"),
      count(f"select count(*) filter (where f > 0) from '{path}'"))
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.read.parquet(path).createOrReplaceTempView("t")
print("pyspark", pyspark.__version__, spark.sql("select count(*) from t where f > 0").collect()[0][0],
      spark.sql("select count(*) filter (where f > 0) from t").collect()[0][0])
END
) || { cat "$folder/err"; exit 1; }
echo "$printed"
[ "$printed" = "duckdb 1.4.1 0 2
pyspark 4.0.1 0 2" ]
