"""How long `rtfilter advise` reads our own query log, and in how much memory: lines of 1 kB with so many kinds of queries.

python -m tests.measure.own_log_speed [LINES] [KINDS] [--literals]
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rtfilter.advice.logs.read import LogReader
from rtfilter.advice.statistics.tables import ColumnStatistics, TableStatistics
from rtfilter.host.query_log import log_line
from rtfilter.shapes.query_shape import query_shape

COLUMNS = 60
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def nodes(kind: int, value: int) -> list[dict[str, Any]]:
    names = [f"c{(kind * step) % COLUMNS}" for step in (1, 7, 11)] + [f"k{kind}"]
    columns = [{"id": place, "name": name, "type": "int", "partition": False} for place, name in enumerate(dict.fromkeys(names))]
    asked = [
        {"op": "eq", "column": names[0], "type": "int", "value": value},
        {"op": "in", "column": names[-1], "values": [1, value]},
    ]
    return [
        {
            **{"id": 0, "kind": "scan", "op": "Scan parquet", "children": [], "output": [], "table": "t", "columns": columns},
            **{"format": "ParquetFileFormat", "plain_parquet": True, "roots": ["file:/data/t"], "filters": []},
            **{"literals": str(value), "asked": asked, "of_partitions": []},
        }
    ]


def write(path: Path, lines: int, kinds: int, literals: bool) -> None:
    draw = random.Random(7)
    record = {"session": "0a0e1f0c-9a43-4a3a-93a5-d2e3b0a3f5a7", "description": "a query", "idle": "NO_JOIN", "failed": False}
    begun = [json.loads(log_line({**record, "execution": 1, "asked": [nodes(kind, 1)]}, NOW, literals)) for kind in range(kinds)]
    with open(path, "w") as file:
        for number in range(lines):
            kind = draw.randrange(kinds)
            line = {**begun[kind], "execution": number, "ms": draw.randrange(100_000) / 10}
            if literals:
                line["shape"] = query_shape([nodes(kind, draw.randrange(1000))], (), literals)
            text = json.dumps(line, separators=(",", ":"))
            line["detail"] += "." * (1000 - len(text))
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


def main() -> None:
    numbers = [int(each) for each in sys.argv[1:] if each.isdecimal()]
    lines, kinds = (*numbers, 100_000, 2_000)[:2] if len(numbers) < 2 else numbers
    columns = {name: ColumnStatistics(name, "int", 1000, bytes=1000) for name in [f"c{n}" for n in range(COLUMNS)]}
    tables = {"t": TableStatistics("t", 10**8, columns, packs=1000, path="/data/t")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        write(path, lines, kinds, "--literals" in sys.argv)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.process_time()
        reading = LogReader(tables).read([path], [])
        took = time.process_time() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"{lines:,} lines, {path.stat().st_size / lines:,.0f} bytes each, {len(reading.workload):,} kinds: {took:.2f} s,")
        print(f"{took / lines * 1e6:.1f} us a line; peak {peak / 1024:,.0f} MB, before reading {before / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
