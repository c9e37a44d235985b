"""How long sketches take to build, by kind and type of column: the rates of rtfilter/advice/sampled/costs.py. No test.

python tests/measure/sketch_speed.py
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.advice.sampled.pack_sample import kinds_for
from rtfilter.store.index_actions.listing import list_directory
from rtfilter.store.index_files.sketching import Portion, sketch_portion

ROWS, PACK, RUNS = 2_000_000, 200_000, 5


def main() -> None:
    random = np.random.default_rng(7)
    numbers = random.integers(0, ROWS // 4, ROWS)
    columns = {"bigint": pa.array(numbers), "string": pa.array([f"code-{each:08d}" for each in numbers.tolist()])}
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(pa.table(columns), Path(folder) / "0.parquet", row_group_size=PACK)
        (file,) = list_directory(folder).files
        for name in columns:
            for sketch in kinds_for(name, name):
                taken = []
                for _ in range(RUNS):
                    begun = time.perf_counter()
                    found = sketch_portion(Portion(file, 0, file.size_bytes), [sketch], {name: name})
                    taken.append(time.perf_counter() - begun)
                    assert found.problem is None and not found.not_held
                print(f"{sketch.kind:10} {name:8} {statistics.median(taken) / ROWS * 1e9:6.0f} ns a row")


if __name__ == "__main__":
    main()
