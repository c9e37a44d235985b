#!/usr/bin/env bash
# Spark 4.3.0 tells the path of one file in two texts. `df.inputFiles()` and `input_file_name()` begin with file:///, and
# `_metadata.file_path` with file:/ only. So a filter of the column by the list finds no row, and raises nothing.
# Seen with pyspark 4.3.0 on Java 17: three slashes, three slashes, one slash, and 0 of 3 rows. Exits non-zero if it behaves otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
cd "$folder"
cat > paths.py <<'PY'
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.range(3).coalesce(1).write.parquet("three")
three = spark.read.parquet("three")
row = three.select(F.input_file_name().alias("name"), F.col("_metadata.file_path").alias("path")).first()
for what, text in (("inputFiles()", three.inputFiles()[0]), ("input_file_name()", row.name), ("_metadata.file_path", row.path)):
    print(what, "file:" + "/" * (len(text) - len(text.removeprefix("file:").lstrip("/")) - len("file:")))
print(f"{three.where(F.col('_metadata.file_path').isin(three.inputFiles())).count()} of {three.count()} rows")
spark.stop()
PY
SPARK_LOCAL_IP=127.0.0.1 PYSPARK_PYTHON="$folder/venv/bin/python" "$folder/venv/bin/python" paths.py 2>/dev/null | tee seen.txt
diff seen.txt - <<'TXT'
inputFiles() file:///
input_file_name() file:///
_metadata.file_path file:/
0 of 3 rows
TXT
