"""What a fill request may not have in it."""

from __future__ import annotations

from typing import Any

import pytest

from rtfilter.errors import ProtocolError
from rtfilter.host.fills import parse_scan, shares_passed
from rtfilter.host.frames import Frame


def request(**more: Any) -> dict[str, Any]:
    return {"scan": 0, "table": "t", "filters": [{"columns": ["a"], "types": ["int"], "form": "empty", **more}]}


def test_a_bloom_filter_comes_as_words() -> None:
    (column,) = parse_scan(Frame({}, bytes(range(64))), request(bloom={"at": 0, "count": 32})).columns
    assert column.bloom is not None and column.bloom[1] == 0x07060504


@pytest.mark.parametrize("size", [0, 31, 48, 96])
def test_a_bloom_filter_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(ProtocolError, match=f"a bloom filter of {size} bytes"):
        parse_scan(Frame({}, bytes(128)), request(bloom={"at": 0, "count": size}))


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ProtocolError, match="'magic'"):
        parse_scan(Frame({}, b""), request(form="magic"))


def test_shares_that_filters_let_through_are_kept_for_plans_while_they_run() -> None:
    filters = [
        {"id": "d1.0", "decision": "applied", "rows": True, "rows_kept": 50, "rows_total": 100, "passed_expected": 0.2},
        {"id": "d1.1", "decision": "applied", "rows": False, "rows_kept": 50, "rows_total": 100, "passed_expected": 0.2},
        {"id": "d1.2", "decision": "applied", "rows": False, "rows_kept": 0, "rows_total": 0, "passed_expected": 0.2},
        {"id": "d1.3", "decision": "skipped", "rows": False, "rows_kept": 50, "rows_total": 100, "passed_expected": 0.2},
        # What the query itself asks is counted as a condition.
        {"id": "s1.0", "decision": "applied", "rows_kept": 50, "rows_total": 100},
    ]
    assert shares_passed({"filters": filters}) == {"d1.0": 0.2, "d1.1": 0.5, "d1.2": 1.0}
