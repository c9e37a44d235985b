"""A call past its time is given up, and the next one has a thread again."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.spark.differential.time_limit import TimeLimit, TimeLimitError


@pytest.fixture
def limit() -> Iterator[TimeLimit]:
    limit = TimeLimit(0.2)
    yield limit
    limit.close()


def test_a_call_returns_its_value_and_raises_its_error(limit: TimeLimit) -> None:
    assert limit.call(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        limit.call(lambda: 1 // 0)


def test_calls_share_one_thread_as_long_as_they_end(limit: TimeLimit) -> None:
    assert limit.call(threading.get_ident) == limit.call(threading.get_ident) != threading.get_ident()


def test_a_call_that_hangs_is_left_behind(limit: TimeLimit) -> None:
    release = threading.Event()
    before = limit.call(threading.get_ident)
    with pytest.raises(TimeLimitError, match=r"no end within 0\.2 s"):
        limit.call(release.wait)
    assert limit.call(threading.get_ident) != before
    release.set()


def test_an_error_of_the_call_is_not_taken_for_its_end(limit: TimeLimit) -> None:
    def fails() -> None:
        raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        limit.call(fails)
