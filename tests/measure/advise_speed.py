"""How long `rtfilter advise` takes over large logs, and its memory. No test; run it with nothing else running.

python tests/measure/advise_speed.py [LINES=1000000]

Each log is read by a process of its own, with statistics that were made before: rtfilter's own log with 2,000 kinds of queries in
lines of about 1 kB, once as it is and once shuffled (the advice must be the same, byte for byte); SQL in such lines with 2,000
distinct texts, one a kind; and 10,000 distinct texts of these 2,000 kinds, each once.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KINDS, TEXTS = 2_000, 10_000
COLUMNS = [f"c{number:03d}" for number in range(60)]
STATISTICS = {
    "tables": {
        "sales": {
            "rows": 100_000_000,
            "packs": 1_500,
            "columns": {
                name: {
                    "type": "int",
                    "bytes": 4 << 26,
                    "cardinality": 10 ** (1 + number % 7),
                    "depth": 1_500,
                    "entries_per_row": 1.0,
                }
                for number, name in enumerate(COLUMNS)
            },
        }
    }
}
# Of `python -m rtfilter`: prints the peak of its resident memory at its end. (getrusage would tell that of this process, too.)
RUN = (
    "import runpy, sys; sys.argv[0] = 'rtfilter'\n"
    "try: runpy.run_module('rtfilter', run_name='__main__')\n"
    "finally: print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')), file=sys.stderr)"
)


def own_lines(lines: int) -> Iterator[str]:
    """Lines of rtfilter's own log: two of the columns are asked for, in one of 2,000 ways."""
    r = random.Random(5)
    kinds = [(r.sample(COLUMNS, 2), r.sample(COLUMNS, 4), number) for number in range(KINDS)]
    for number in range(lines):
        asked, read, kind = kinds[number % KINDS]
        predicate = {
            "all": [{"column": asked[0], "op": "=", "values": 1}, {"column": asked[1], "op": "in", "values": 1 + kind % 9}]
        }
        scan = {
            **{
                "table": "sales",
                "path": "file:/data/sales",
                "predicate": predicate,
                "partitions": None,
                "joins": [],
                "group_keys": read[:1],
            },
            **{"aggregates": [{"function": "sum", "columns": [read[1]], "distinct": False}], "rows": False},
            **{"columns": sorted({*asked, *read}), "partial": False, "literals": f"#{number % 997:012x}"},
        }
        shape = {"digest": f"{kind:016x}", "partial": False, "limit": None, "scans": [scan]}
        line = {"time": f"2026-11-{1 + number % 28:02d}T12:00:00.000+00:00", "query": f"execution {number}", "execution": number}
        line |= {
            "session": "5f0c",
            "filters": [],
            "scans": [],
            "reason": "LAYER_OFF",
            "detail": "x" * 120,
            "warnings": [],
            "version": 2,
        }
        yield json.dumps(
            {**line, "ms": 10.5 + number % 1_000, "failed": False, "again": False, "planning_ms": None, "shape": shape}
        )


def sql_lines(lines: int, texts: int) -> Iterator[str]:
    """Lines of JSON with statements, padded to about 1 kB."""
    r, made = random.Random(6), []
    kinds = [r.sample(COLUMNS, 5) for _ in range(KINDS)]
    for number in range(texts):
        one, other, *read = kinds[number % KINDS]
        values = ", ".join(str(number + i) for i in range(1 + number % KINDS % 9))
        condition = f"{one} = {number} and {other} in ({values}) and {read[2]} > 5"
        made.append(f"select {read[0]}, sum({read[1]}) from sales where {condition} group by {read[0]}")
    for number in range(lines):
        yield json.dumps({"sql": made[number % texts], "ms": 10 + number % 1_000, "user": "x" * 700})


def timed(what: str, log: Path, stats: Path) -> str:
    """Runs it, prints its time and peak memory, and returns what it printed."""
    started = time.monotonic()
    command = [sys.executable, "-c", RUN, "advise", "--log", str(log), "--stats", str(stats), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    seconds = time.monotonic() - started
    peak = next((int(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("VmHWM")), 0)
    read: dict[str, Any] = json.loads(done.stdout)["read"] if done.returncode == 0 else {"error": done.stderr[-500:]}
    size = log.stat().st_size
    print(f"{what}: {seconds:.1f} s, {peak / 1024:.0f} MB, {size / 1e6:.0f} MB of log; {read}", flush=True)
    return done.stdout


def written(path: Path, lines: Iterator[str]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    return path


def main(lines: int) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        stats = folder / "stats.json"
        stats.write_text(json.dumps(STATISTICS), encoding="utf-8")
        own = written(folder / "own.jsonl", own_lines(lines))
        plain = timed("own log", own, stats)
        content = own.read_text(encoding="utf-8").splitlines()
        random.Random(1).shuffle(content)
        shuffled = timed("own log, shuffled", written(folder / "shuffled.jsonl", iter(content)), stats)
        same = plain == shuffled and bool(plain)
        print(f"the same advice: {same}")
        del content
        timed(f"SQL, {KINDS:,} texts", written(folder / "sql.jsonl", sql_lines(lines, KINDS)), stats)
        timed(f"SQL, {TEXTS:,} texts once", written(folder / "texts.jsonl", sql_lines(TEXTS, TEXTS)), stats)
    return int(not same)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))
