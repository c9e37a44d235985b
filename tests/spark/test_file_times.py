"""Whether a file is still the one that was listed."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1_700_000_000_123, 1_700_000_000_123, True),
        # A store that tells whole seconds of a single file (MinIO).
        (1_700_000_000_123, 1_700_000_000_000, True),
        (1_700_000_000_000, 1_700_000_000_999, True),
        (1_700_000_000_123, 1_700_000_000_124, False),
        (1_700_000_000_999, 1_700_000_001_000, False),
    ],
)
def test_times_of_a_file_are_the_same_if_one_has_no_milliseconds(session: SparkSession, one: int, other: int, same: bool) -> None:
    files = session._jvm.org.apache.spark.sql.execution.rtfilter.PackFile  # type: ignore[union-attr]
    assert files.sameTime(one, other) is same and files.sameTime(other, one) is same
