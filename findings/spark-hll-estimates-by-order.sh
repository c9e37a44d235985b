#!/usr/bin/env bash
# Spark 4.3.0's hll_sketch_agg estimates the same 100,000 numbers otherwise when they come in the opposite order, and otherwise again when
# sketches of four parts are merged by hll_union_agg. So an answer depends on files, splits and shuffles, and a stored sketch can't
# stand for it. approx_count_distinct and theta_sketch_agg give one answer for both orders.
# Seen with pyspark 4.3.0 on Java 17: 101,148, 101,926 and 102,878. Exits non-zero if it behaves otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.3.0
cd "$folder"
cat > hll.py <<'PY'
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.range(0, 100000, 1, 1).createOrReplaceTempView("up")
spark.sql("select 99999 - id as id from up").createOrReplaceTempView("down")
for name in ("up", "down"):
    one = spark.sql(f"""select hll_sketch_estimate(hll_sketch_agg(id)) as hll, approx_count_distinct(id) as registers,
        theta_sketch_estimate(theta_sketch_agg(id)) as theta from {name}""").first()
    print(f"{name}: hll {one.hll}, approx_count_distinct {one.registers}, theta {one.theta}")
parts = "select id % 4 as part, hll_sketch_agg(id) as sketch from up group by 1"
print("four parts: hll", spark.sql(f"select hll_sketch_estimate(hll_union_agg(sketch)) from ({parts})").first()[0])
spark.stop()
PY
SPARK_LOCAL_IP=127.0.0.1 PYSPARK_PYTHON="$folder/venv/bin/python" "$folder/venv/bin/python" hll.py 2>/dev/null | tee seen.txt
diff seen.txt - <<'TXT'
up: hll 101148, approx_count_distinct 95546, theta 98046
down: hll 101926, approx_count_distinct 95546, theta 98046
four parts: hll 102878
TXT
