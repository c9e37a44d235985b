"""What advice promises without the table, by formulas on its statistics, beside what trials on the same table promise. No test.

python tests/measure/formulas_against_trials.py [SF=1]

The queries are those of promise_kept.py, on the fact tables of TPC-DS, without literals. Nothing is run in Spark.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from rtfilter.advice.advise import Settings, advise
from rtfilter.advice.logs.read import LogReader
from rtfilter.advice.statistics.collect import collect
from rtfilter.advice.statistics.tables import TableStatistics, parse_statistics
from rtfilter.bench.suites.data_cache import DataCache, data_directory
from rtfilter.bench.suites.suite import DataRequest, load_suite
from tests.measure.promise_kept import KINDS

WITHIN = 2.0
OTHERS = ("cluster_by", "row_index", "star_tree")


def main(sf: float) -> None:
    suite = load_suite("tpcds")
    data = suite.prepare(DataRequest(sf, suite.default_zipf, "natural", DataCache(data_directory(None)), print))
    names = dict.fromkeys(table for table, _, _ in KINDS)
    known = parse_statistics({"tables": {name: collect(name, data.tables[name]) for name in names}}, "measured")
    within, found = 0, 0
    for table, condition, selected in KINDS:
        statement = f"select {selected} from {table} where {without_literals(condition)}"
        tried, by_formulas = (gains(statement, known, at_hand) for at_hand in ([table], []))
        for column, gain in tried.items():
            promised = by_formulas.get(column, 0.0)
            is_within = gain / WITHIN <= promised <= gain * WITHIN
            within, found = within + is_within, found + 1
            print(
                f"{table:13} {column:20} tried {gain / 1e6:8.2f} MB, by formulas {promised / 1e6:8.2f} MB ({promised / gain:.2f}x)"
            )
    print(f"within {WITHIN:g}x: {within} of {found}")


def without_literals(condition: str) -> str:
    """Only how many values are asked for."""
    one = re.sub(r"= \{\w+\}", "in ('#VALUES', 1)", condition)
    return re.sub(r"in \((\{.*?\})\)", lambda found: f"in ('#VALUES', {found[1].count('{')})", one)


def gains(statement: str, known: dict[str, TableStatistics], at_hand: list[str]) -> dict[str, float]:
    """By column what a Bloom filter saves."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "q.sql"
        log.write_text(statement, encoding="utf-8")
        reading = LogReader(known).read([], [log])
    items = advise(reading, known, Settings(budget="100%"), at_hand).items
    return {
        item["columns"][0]: item["gain_bytes"] for item in items if item["kind"] not in ("cluster_by", "row_index", "star_tree")
    }


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1)
