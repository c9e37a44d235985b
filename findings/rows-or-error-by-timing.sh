#!/usr/bin/env bash
# Under ANSI the same inner join gives an error or no rows in Spark 4.3.0, by which of its sides ends first. One side leaves no row, a
# row of the other one fails. Where the side without rows is slow the query ends with DIVIDE_BY_ZERO. Where the side that fails is
# slow adaptive execution drops the join, and with it the error, as soon as the other side has ended.
# Seen with pyspark 4.3.0 on Java 17: "no row, slow: DIVIDE_BY_ZERO", "failing, slow: 0 rows", and without adaptive execution
# DIVIDE_BY_ZERO both times. Exits non-zero if it behaves otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
cd "$folder"
cat > join.py <<'PY'
import time

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.sql.autoBroadcastJoinThreshold", "-1").config("spark.sql.shuffle.partitions", "2").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.range(0, 10, 1, 1).selectExpr("id", "id as n").write.parquet("ten")
spark.read.parquet("ten").createOrReplaceTempView("ten")
spark.udf.register("slow", lambda number: time.sleep(0.5) or number, "long")
spark.udf.register("quick", lambda number: number, "long")


def outcome(failing: str, none: str, adaptive: bool) -> str:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    sides = f"(select id, 1 / ({failing}(n) - 9) as v from ten) f join (select id from ten where {none}(n) > 99) e"
    try:
        return f"{len(spark.sql(f'select f.id, v from {sides} on f.id = e.id').collect())} rows"
    except PySparkException as error:
        return str(error.getCondition())


outcome("quick", "quick", False)  # Python's workers are there from now on
for adaptive in (True, False):
    for text, failing, none in (("no row, slow", "quick", "slow"), ("failing, slow", "slow", "quick")):
        print(f"adaptive {adaptive}, {text}: {outcome(failing, none, adaptive)}")
spark.stop()
PY
SPARK_LOCAL_IP=127.0.0.1 PYSPARK_PYTHON="$folder/venv/bin/python" "$folder/venv/bin/python" join.py 2>/dev/null | tee seen.txt
diff seen.txt - <<'TXT'
adaptive True, no row, slow: DIVIDE_BY_ZERO
adaptive True, failing, slow: 0 rows
adaptive False, no row, slow: DIVIDE_BY_ZERO
adaptive False, failing, slow: DIVIDE_BY_ZERO
TXT
