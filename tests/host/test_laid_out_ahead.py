"""What earlier applications have kept of footers is laid out before a fill asks for it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rtfilter.host.requests import Requests
from tests.host.test_footers_kept_apart import Session
from tests.store.tables_at_hand import listing, write

AN_HOUR_AGO_S = time.time() - 3600


@pytest.fixture
def told(tmp_path: Path) -> dict[str, Any]:
    """A file list as the bridge tells it."""
    paths = [write(tmp_path / f"{i}.parquet", {"a": pa.array(range(20 * i, 20 * i + 20), pa.int32())}) for i in range(3)]
    for path in paths:
        os.utime(path, (AN_HOUR_AGO_S, AN_HOUR_AGO_S))
    # A file whose status has changed just now is not kept.
    time.sleep(2.1)
    texts, sizes, mtimes = listing(paths)
    return {"digest": "d", "paths": texts, "sizes": sizes, "mtimes": mtimes, "columns": ["a"]}


@pytest.mark.parametrize("types", [{"a": "int"}, {}], ids=["with types", "without"])
def test_the_first_fill_of_an_application_finds_kept_bounds_laid_out(
    tmp_path: Path, told: dict[str, Any], types: dict[str, str]
) -> None:
    before = Requests()
    session = Session(before, tmp_path / "cache")
    session.ask("file_list", **told, types=types)
    assert session.packs(45) == [6, 1]
    before.close()
    requests = Requests()
    session = Session(requests, tmp_path / "cache")
    session.ask("file_list", **told, types=types)
    held = requests.store.used_bytes
    assert session.packs(45) == [6, 1]
    assert (requests.store.footers_read, requests.store.footers_recalled) == (0, 3)
    assert (requests.store.used_bytes == held) == bool(types)
    requests.close()
