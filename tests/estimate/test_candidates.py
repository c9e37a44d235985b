"""Which joins of the golden logs could have had a filter, and why the others could not."""

from __future__ import annotations

from functools import cache

import pytest

from rtfilter.advice.event_logs.queries import QueryFacts
from rtfilter.advice.event_logs.read import read_event_logs
from rtfilter.estimate import candidates
from rtfilter.estimate.candidates import Candidate, candidates_of
from tests.advice.event_logs.golden_logs import golden_log


@cache
def queries(version: str) -> dict[str, QueryFacts]:
    found: dict[str, QueryFacts] = {}
    read_event_logs([golden_log(version)], lambda query, _, place: found.update({query.description: query}), lambda *why: None)
    return found


# By query the filters: scan and column that are filtered, rows with a partner of a thousand, whether the scan waits.
POSSIBLE = {
    "broadcast": ["sales.s_item 250 -"],
    # Either side of a shuffled join.
    "shuffled": ["sales.s_item 40 waits", "item.i_id 1000 waits"],
    "two joins": ["sales.s_item 250 -", "sales.s_shop 571 -"],
    "two keys": ["sales.s_item 10 -", "sales.s_day 10 -"],
    "semi": ["sales.s_item 10 -"],
    # The left side has no partner on the other one's behalf: what it returns has rows of the right side that found none.
    "right outer": [],
    "saved join": ["spark_catalog.default.saved_sales.s_item 10 -"],
    "self": ["item.i_id 250 -"],
    "union": ["sales.s_item 1000 -"],
    "copy": ["sales.s_item 10 -"],
    "cached": ["sales.s_item 200 -"],
}
REFUSED = {
    "anti": candidates.KEEPS_ALL,
    "left outer": candidates.KEEPS_ALL,
    "full outer": candidates.KEEPS_ALL,
    "right outer": candidates.KEEPS_ALL,
    "computed key": candidates.NOT_PLAIN,
    "dynamic partitions": candidates.PARTITION,
}


@pytest.mark.parametrize("version", ["spark-3.5.zstd", "spark-4.3.zstd"])
@pytest.mark.parametrize("name", POSSIBLE)
def test_filters_that_were_possible(version: str, name: str) -> None:
    query = queries(version)[name]
    found = [
        f"{query.scans[each.scan].name}.{each.column} {-1 if each.share is None else int(each.share * 1000)} "
        f"{'waits' if each.is_shuffled else '-'}"
        for each in candidates_of(query)
        if isinstance(each, Candidate)
    ]
    assert sorted(found) == sorted(POSSIBLE[name])


@pytest.mark.parametrize("version", ["spark-3.5.zstd", "spark-4.3.zstd"])
@pytest.mark.parametrize("name", REFUSED)
def test_joins_that_were_not(version: str, name: str) -> None:
    (found,) = candidates_of(queries(version)[name])
    assert not isinstance(found, Candidate) and found.reason == REFUSED[name]
