"""This build beside another one: rounds of a suite with the layer on, the builds in turns. Prints medians by query; no test.

python tests/measure/two_builds.py OTHER SUITE SF [rounds] [runs]
For example: git worktree add ../before 6490b58 && python tests/measure/two_builds.py ../before tpch 1 4 3

OTHER is a checkout. Each round is one process of each build, which begins changes from round to round.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parents[2]


def main(other: Path, suite: str, sf: str, rounds: int, runs: int) -> None:
    builds = {"before": other.resolve(), "now": HERE}
    taken: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in builds}
    for number in range(rounds):
        for name in list(builds)[:: 1 if number % 2 else -1]:
            for query, times in run(builds[name], suite, sf, runs).items():
                taken[name][query] += times
        print(f"round {number + 1} of {rounds}", flush=True)
    before, now = ({query: median(times) for query, times in taken[name].items()} for name in builds)
    for query in before:
        print(f"{query}: before {before[query]:,.0f} ms, now {now[query]:,.0f} ms, {now[query] / before[query]:.2f}x")
    total, total_now = sum(before.values()), sum(now.values())
    print(f"total: before {total:,.0f} ms, now {total_now:,.0f} ms, {total_now / total:.3f}x ({rounds} rounds of {runs} runs)")


def run(build: Path, suite: str, sf: str, runs: int) -> dict[str, list[float]]:
    """Milliseconds of each run, by query."""
    with tempfile.TemporaryDirectory() as out:
        options = ["--suite", suite, "--sf", sf, "--modes", "rtfilter", "--runs", str(runs), "--warmup", "2", "--out", out]
        env = {**os.environ, "PYTHONPATH": str(build)}
        subprocess.run([sys.executable, "-m", "rtfilter", "bench", *options], cwd=build, env=env, check=True, capture_output=True)
        measured = json.loads((Path(out) / "result.json").read_text())["queries"]
    return {entry["id"]: entry["ms"] for entry in measured}


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(given.get(4, 4)), int(given.get(5, 3)))
