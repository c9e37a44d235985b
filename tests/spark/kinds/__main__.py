"""Runs cases outside pytest: python -m tests.spark.kinds FIRST COUNT [--found FOLDER] [--kind K]."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.spark.kinds.application import start
from tests.spark.kinds.case import generate, world_of
from tests.spark.kinds.reproduce import keep
from tests.spark.kinds.run import Harness
from tests.spark.kinds.tally import Tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--found", type=Path, default=Path("out/fuzz"), help="where findings are kept")
    parser.add_argument("--kind", help="only cases of this kind")
    parser.add_argument("--names", help="only worlds whose names are of this style")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    spark = start()
    tally, began = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(spark, Path(folder), "main")
        for seed in range(arguments.first, arguments.first + arguments.count):
            case = generate(seed)
            if (arguments.kind and case.kind != arguments.kind) or arguments.names not in (None, world_of(seed).naming.style):
                continue
            outcome = harness.run(case)
            tally.count(case, outcome)
            tally.seconds = time.monotonic() - began
            if arguments.verbose:
                print(seed, case.kind, case.action, outcome, case.query.sql, flush=True)
            if outcome.finding:
                print(keep(case, outcome, harness, arguments.found), flush=True)
            if tally.counts["cases"] % 100 == 0:
                print(tally, flush=True)
        for refused in harness.scene.refused:
            print(refused)
        harness.close()
    print(tally, flush=True)
    spark.stop()
    return 1 if tally.counts["found"] else 0


if __name__ == "__main__":
    sys.exit(main())
