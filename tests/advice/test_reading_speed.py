"""The time for each byte, from kinds of queries that read more and less."""

from __future__ import annotations

import numpy as np
import pytest

from rtfilter.advice.tried.reading_speed import ms_per_byte


def test_what_queries_take_anyway_is_no_reading() -> None:
    r = np.random.default_rng(2)
    read = r.uniform(1e6, 1e8, 12)
    kinds = [(size, 150 + size * 2e-6 * r.uniform(0.9, 1.1), 3.0) for size in read.tolist()]
    assert ms_per_byte(kinds) == pytest.approx(2e-6, rel=0.1)
    assert ms_per_byte(kinds[::-1]) == ms_per_byte(kinds)
    # One that is slow for another reason changes little.
    assert ms_per_byte([*kinds, (1e6, 90_000.0, 3.0)]) == pytest.approx(2e-6, rel=0.25)


def test_little_is_said_of_few_or_equal_kinds() -> None:
    assert ms_per_byte([(1e6, 10, 1), (2e6, 20, 1)]) is None
    assert ms_per_byte([(1e6, 10.0 * i, 1) for i in range(9)]) is None
    assert ms_per_byte([(1e6 * i, 90.0 - i, 1) for i in range(1, 9)]) is None
