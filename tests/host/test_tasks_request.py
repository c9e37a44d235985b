"""What a request for tasks says of the rows that filters kept from a shuffle."""

from __future__ import annotations

from typing import Any

import pytest

from rtfilter.host.frames import Frame
from rtfilter.host.tasks import answer_tasks

MB = 1 << 20
# All that a narrowed scan and a row filter say which is of no interest here is left out.
ROWS = {"rows_dropped": 900, "rows_tested": 1_000}
SCAN = {"numOutputRows": 100, "packs_total": 10, "packs_read": 1}


def answered(filters: list[dict[str, Any]], rows: int | None = 100) -> Any:
    shuffle = {"bytes": 160 * MB, "rows": rows, "filters": filters}
    group = {"tasks": 3, "advisory_bytes": 64 * MB, "reducer_bytes": [8 * MB] * 20, "shuffles": [shuffle]}
    return answer_tasks(Frame({"spark": {"cores": 2}, "groups": [group]}, b""))["groups"]


IN_BATCHES = {"numOutputRows": 100, "rows_skipped": 900, "packs_total": 1, "packs_read": 1}


@pytest.mark.parametrize("filters", [[ROWS], [SCAN], [ROWS, SCAN], [IN_BATCHES]])
def test_dropped_rows_and_packs_that_were_not_read_count(filters: list[dict[str, Any]]) -> None:
    (answer,) = answered(filters)
    assert len(answer["ranges"]) == 8 and answer["ranges"][0][0] == 0 and answer["ranges"][-1][1] == 20


@pytest.mark.parametrize("filters", [[], [{**ROWS, "rows_dropped": 0}], [{**SCAN, "packs_total": 1}], [{**SCAN, "packs_read": 0}]])
def test_filters_that_dropped_nothing_leave_sparks_cut(filters: list[dict[str, Any]]) -> None:
    assert answered(filters) == [None]


def test_without_the_shuffles_rows_nothing_is_known() -> None:
    assert answered([ROWS], rows=None) == [None]
