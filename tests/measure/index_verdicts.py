"""Times an index of many synthetic packs: `python tests/measure/index_verdicts.py [PACKS]` (1,000,000 by default, four columns).

Prints milliseconds for loading and for verdicts, and the most memory of a process that only asks, as JSON; with a million packs
the exit status is 1 when one of LIMITS is not met.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from rtfilter.host.arrow_memory import give_memory_back
from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.index_files import log
from rtfilter.store.index_files.catalog import Located
from rtfilter.store.index_files.segments import FILES_SCHEMA, PACKS_SCHEMA, SegmentWriter
from rtfilter.store.index_files.snapshot import Definition, Snapshot
from rtfilter.store.index_files.storage import LocalStorage
from rtfilter.store.index_reading.reader import PackIndex, open_index
from rtfilter.store.sketches.column_tests import LongKeys, ValueTest, long_ranges
from rtfilter.store.sketches.domain import LONG
from rtfilter.store.sketches.kinds import MinMax
from rtfilter.store.sketches.rows import sketch_schema

COLUMNS = ("a", "b", "c", "d")
PACKS_PER_FILE = 100
PACK_ROWS = 65_536
SPAN = 10**9
# What a million packs of four columns may take.
LIMITS = {"load_ms": 1000, "range_ms": 10, "keys_10000_ms": 50, "peak_mb": 250}


def write_index(storage: LocalStorage, packs: int) -> None:
    """An index of as many packs, whose bounds lie anywhere and are a thousandth of the span wide."""
    rng = np.random.default_rng(1)
    definition = Definition("i", "t", "/t", tuple(MinMax(column) for column in COLUMNS), dict.fromkeys(COLUMNS, "bigint"))
    files = packs // PACKS_PER_FILE
    listed = {
        "path": [f"part-{i:06d}.parquet" for i in range(files)],
        "size_bytes": [1 << 30] * files,
        "mtime_ms": [0] * files,
        "footer_digest": [bytes(16)] * files,
        "first_pack": [i * PACKS_PER_FILE for i in range(files)],
        "packs": [PACKS_PER_FILE] * files,
    }
    begin = log.begin(storage, log.CREATE)
    with SegmentWriter(storage, definition) as writer:
        starts = np.tile(np.arange(PACKS_PER_FILE, dtype=np.int64) * 10**7 + 4, files)
        counts = np.full(packs, PACK_ROWS, dtype=np.int64)
        writer.add_batches(
            pa.RecordBatch.from_pydict(listed, FILES_SCHEMA),
            pa.RecordBatch.from_arrays([pa.array(starts), pa.array(counts)], schema=PACKS_SCHEMA),
            [[bounds(counts, rng)] for _ in COLUMNS],
        )
        log.end(storage, log.CREATE, begin, log.ACTIVE, Snapshot(definition, (writer.finish(),)))


def bounds(counts: np.ndarray, rng: np.random.Generator) -> pa.RecordBatch:
    lows = rng.integers(0, SPAN, len(counts))
    arrays = [pa.array(counts), pa.array(np.zeros_like(counts)), pa.array(lows), pa.array(lows + SPAN // 1000)]
    return pa.RecordBatch.from_arrays(arrays, schema=sketch_schema(MinMax("a"), LONG))


def timed(what: Callable[[], object], times: int) -> float:
    """The median in ms."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        what()
        taken.append((time.perf_counter() - begun) * 1000)
    return round(float(np.median(taken)), 2)


def loaded(storage: LocalStorage, files: list[FileIdentity]) -> tuple[PackIndex, Located]:
    index = open_index(storage)
    assert index is not None
    located = index.catalog().locate(files)
    for column in COLUMNS:
        index.judge(column, ValueTest(long_ranges([(0, 1)])), located.numbers, accepts=False)
    assert not index.problems and not located.files_unknown
    return index, located


def main(packs: int) -> None:
    rng = np.random.default_rng(2)
    give_memory_back()
    with tempfile.TemporaryDirectory() as folder:
        storage = LocalStorage(str(Path(folder) / "i"))
        # In a process of its own: what writing takes is not what a driver takes that only asks.
        writer = multiprocessing.get_context("spawn").Process(target=write_index, args=(storage, packs))
        writer.start()
        writer.join()
        files = [FileIdentity(f"file:/t/part-{i:06d}.parquet", 1 << 30, 0) for i in range(packs // PACKS_PER_FILE)]
        before_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        begun = time.perf_counter()
        index, located = loaded(storage, files)
        load_ms = (time.perf_counter() - begun) * 1000
        tests = {"range_ms": ValueTest(long_ranges([(SPAN // 3, SPAN // 3 + SPAN // 100)]))}
        for count in (100, 10_000, 100_000):
            keys = np.unique(rng.integers(0, SPAN, count))
            tests[f"keys_{count}_ms"] = ValueTest(LongKeys(keys))
        said = {}
        for name, test in tests.items():
            said[name] = timed(partial(index.judge, "a", test, located.numbers, accepts=False), 9)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        said |= {"packs": packs, "load_ms": round(load_ms, 1), "peak_mb_before_load": round(before_mb), "peak_mb": round(peak_mb)}
        missed = [name for name, most in LIMITS.items() if said[name] > most] if packs == 1_000_000 else []
        print(json.dumps({**said, "missed": missed}))
        if missed:
            sys.exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
