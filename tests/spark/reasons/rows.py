"""The table of reasons."""

from __future__ import annotations

from tests.spark.reasons.of_faults import OF_FAULTS
from tests.spark.reasons.of_fills import OF_FILLS
from tests.spark.reasons.of_indexes import OF_INDEXES
from tests.spark.reasons.of_joins import OF_JOINS
from tests.spark.reasons.of_scans import OF_SCANS
from tests.spark.reasons.row import Row

ROWS: tuple[Row, ...] = (*OF_JOINS, *OF_SCANS, *OF_FILLS, *OF_INDEXES, *OF_FAULTS)
