"""An application that finds what the one before has read of footers."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from rtfilter.bridge import jvm
from tests.spark.host.test_failures import run

Start = Callable[[str], SparkSession]


def test_packs_are_rejected_without_reading_a_footer(application: Start, tmp_path: Path, data: Path) -> None:
    # A file younger than 2 s is not kept.
    time.sleep(max(0.0, max(os.stat(path).st_ctime for path in (data / "fact").iterdir()) + 2.5 - time.time()))
    told = []
    for _ in range(2):
        spark = application(sys.executable)
        spark.conf.set("rtfilter.store.cacheDirectory", str(tmp_path))
        scans = run(spark)
        record = jvm.last_record(spark)
        assert record is not None
        told.append([fill["footers"] for fill in record["fills"]][-1])
        (fact,) = [scan for scan in scans if scan["table"] == "fact"]
        assert fact["packs_read"] < fact["packs_total"]
        spark.stop()
    (first, second) = told
    assert first["read"] > 0 and first["kept"] == 0
    assert second["read"] == 0 and second["kept"] == first["read"]
