"""Whether the packs that fills keep are the packs that tasks read, over all queries of a suite. No test.

python tests/measure/packs_predicted.py SUITE SF LAYOUT, for example: python tests/measure/packs_predicted.py tpcds 1 natural

Every query runs twice with the layer on. Scans that were narrowed and ran are counted: those that read what was kept, those that
read less (conditions of the query itself reject packs too, and so do dictionaries and column indexes), and those that read more.
"""

from __future__ import annotations

import sys

from rtfilter.inspection import last_report
from rtfilter.report_scans import ScanReport
from tests.measure.layer_session import layer_session

RUNS = 2


def main(name: str, sf: float, layout: str) -> None:
    found: list[tuple[str, ScanReport]] = []
    with layer_session(name, sf, layout) as (spark, queries):
        for query in queries:
            for _ in range(RUNS):
                before = last_report(spark)
                spark.sql(query.spark_sql).collect()
                report = last_report(spark)
                if report is not None and (before is None or report.execution != before.execution):
                    found += [(query.id, scan) for scan in report.scans if scan.packs_total and scan.output_rows is not None]
    told(found)


def told(found: list[tuple[str, ScanReport]]) -> None:
    kept = sum(scan.packs_kept or 0 for _, scan in found)
    read = sum(scan.packs_read or 0 for _, scan in found)
    less = [each for each in found if (each[1].packs_read or 0) < (each[1].packs_kept or 0)]
    more = [each for each in found if (each[1].packs_read or 0) > (each[1].packs_kept or 0)]
    total = sum(scan.packs_total or 0 for _, scan in found)
    print(f"{len(found)} narrowed scans ran: {kept:,} of {total:,} packs kept by fills, {read:,} read")
    print(f"{len(found) - len(less) - len(more)} read what was kept, {len(less)} less, {len(more)} more")
    for query, scan in (*less, *more):
        print(f"Q{query} {scan.table}: {scan.packs_kept} of {scan.packs_total} kept, {scan.packs_read} read")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3])
