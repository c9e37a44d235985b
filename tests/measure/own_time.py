"""How long the layer itself holds up each query of a suite in the driver, by step. Prints a line a query and the shares; no test.

python tests/measure/own_time.py SUITE SF LAYOUT [queries or all] [runs] [warm-up runs]
For example: python tests/measure/own_time.py tpcds 1 natural all 5 3

Figures are milliseconds of a query's median run. Waiting for the build side of a shuffled join is no step; the time of the query
has it.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from statistics import median, quantiles
from typing import TYPE_CHECKING

from rtfilter.bridge import jvm
from tests.measure.layer_session import layer_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(name: str, sf: float, layout: str, chosen: str, runs: int, warmup: int) -> None:
    totals: dict[str, float] = {}
    steps: defaultdict[str, float] = defaultdict(float)
    with layer_session(name, sf, layout) as (spark, queries):
        for query in (each for each in queries if chosen == "all" or each.id in chosen.split(",")):
            for _ in range(warmup):
                spark.sql(query.spark_sql).collect()
            taken = [own_ms(spark, query.spark_sql) for _ in range(runs)]
            totals[query.id] = median(sum(own.values()) for _, own in taken)
            for step in sorted({step for _, own in taken for step in own}):
                steps[step] += median(own.get(step, 0.0) for _, own in taken)
            of_query = max(taken, key=lambda each: -abs(sum(each[1].values()) - totals[query.id]))[1]
            shown = ", ".join(f"{step} {ms:.1f}" for step, ms in sorted(of_query.items(), key=lambda each: -each[1]) if ms >= 0.5)
            took = median(whole for whole, _ in taken)
            print(f"Q{query.id}: {totals[query.id]:.1f} of {took:,.0f} ms ({shown})", flush=True)
    print("by step, all queries:", ", ".join(f"{step} {ms:,.0f}" for step, ms in sorted(steps.items(), key=lambda each: -each[1])))
    tenth = quantiles(totals.values(), n=10)[-1] if len(totals) > 1 else next(iter(totals.values()))
    print(f"a query: median {median(totals.values()):.1f} ms, 90th percentile {tenth:.1f} ms, {len(totals)} queries")


def own_ms(spark: SparkSession, sql: str) -> tuple[float, dict[str, float]]:
    """Milliseconds of a run, and of it the layer's by step; none where the layer kept no record."""
    began = time.perf_counter()
    spark.sql(sql).collect()
    took = (time.perf_counter() - began) * 1000
    record = jvm.last_record(spark)
    return took, {} if record is None else dict(record.get("own_ms") or {})


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3], given.get(4, "all"), int(given.get(5, 5)), int(given.get(6, 3)))
