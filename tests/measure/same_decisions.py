"""Does another build decide the same? `python tests/measure/same_decisions.py OTHER [SUITE SF]...`; no test.

For example: git worktree add ../before c5fbe6c && python tests/measure/same_decisions.py ../before tpch 1 tpcds 1 joins 1

Each suite runs twice with OTHER, a checkout, and once with this build: nothing learned from earlier queries, footers warm, and the
same constants. Of each candidate of each query counts what became of it: decision, reason, kind, keys, packs kept. Prints how many
differ between the two runs of OTHER, and between OTHER and this build. The status is 1 where the second is more than the first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[2]
COUNTS = ("build", "probe", "join_type", "strategy", "gate", "decision", "reason", "kind", "keys", "packs_total", "packs_kept")


def decisions(build: Path, suite: str, sf: str) -> Counter[tuple[object, ...]]:
    """What became of each candidate of each query, and how often."""
    with tempfile.TemporaryDirectory() as out:
        options = ["--suite", suite, "--sf", sf, "--modes", "rtfilter-first", "--runs", "1", "--warmup", "1", "--out", out]
        env = {**os.environ, "PYTHONPATH": str(build)}
        subprocess.run([sys.executable, "-m", "rtfilter", "bench", *options], cwd=build, env=env, check=True, capture_output=True)
        entries: list[dict[str, Any]] = json.loads((Path(out) / "result.json").read_text())["queries"]
    return Counter((entry["id"], *(each.get(name) for name in COUNTS)) for entry in entries for each in entry["filters"])


def differing(one: Counter[tuple[object, ...]], other: Counter[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    """Candidates that one of them has, or decided, and the other not."""
    return (one - other) + (other - one)


def main(before: Path, suites: list[tuple[str, str]]) -> int:
    """Compares and prints; 1 where this build differs more from OTHER than OTHER from itself."""
    more = False
    for suite, sf in suites:
        first, again, now = decisions(before, suite, sf), decisions(before, suite, sf), decisions(HERE, suite, sf)
        noise, changed = differing(first, again), min(differing(first, now), differing(again, now), key=lambda each: each.total())
        more = more or changed.total() > noise.total()
        print(f"{suite} SF{sf}: {first.total()} candidates", end="; ")
        print(f"before and before again differ in {noise.total()}, before and now in {changed.total()}", flush=True)
        for which, found in (("before, again", noise), ("before, now", changed)):
            print(*(f"    {which}: {' '.join(map(str, each))}" for each in found), sep="\n") if found else None
    return int(more)


if __name__ == "__main__":
    given = sys.argv[2:]
    sys.exit(main(Path(sys.argv[1]).resolve(), list(zip(given[::2], given[1::2], strict=True)) or [("tpch", "1")]))
