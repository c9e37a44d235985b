"""What several tests of indexes begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rtfilter.store.pack_store import PackStore
from rtfilter.store.sketches.kinds import Bloom
from tests.index.tables import create_index, write_spread


@pytest.fixture
def store() -> Iterator[PackStore]:
    store = PackStore()
    yield store
    store.footers.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of two files whose values are spread out, with a bloom filter."""
    write_spread(tmp_path / "t", "p0.parquet", 0)
    write_spread(tmp_path / "t", "p1.parquet", 5)
    create_index(tmp_path / "t", sketches=(Bloom("a"),))
    return tmp_path / "t"
