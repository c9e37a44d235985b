"""A store per test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rtfilter.store.tables.footer_store import FooterStore


@pytest.fixture
def store() -> Iterator[FooterStore]:
    store = FooterStore()
    yield store
    store.close()
