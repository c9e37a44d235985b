"""What one cache directory has of footers serves sessions with that cache directory only."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from planner.inputs.row_work import RowWork
from rtfilter.host.frames import Frame
from rtfilter.host.requests import Requests
from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.index_files.file_check import FileTrust
from tests.store.tables_at_hand import write

OLD_MS = int((time.time() - 3600) * 1000)
FAR: dict[str, Any] = {"digest": "d", "paths": ["s3a://bucket/t/0.parquet"], "sizes": [999], "mtimes": [OLD_MS], "columns": ["a"]}


class Session:
    def __init__(self, requests: Requests, cache: Path) -> None:
        self._requests, self._conf = requests, {"rtfilter.store.cacheDirectory": str(cache)}

    def ask(self, op: str, body: bytes = b"", **message: Any) -> Any:
        return self._requests.answer(Frame({"op": op, "conf": self._conf, **message}, body))[0]

    def bring(self, tail: bytes) -> None:
        self.ask("footers", tail, digest="d", items=[{"index": 0, "at": 0, "count": len(tail)}])

    def packs(self, key: int) -> list[int]:
        """Packs in all, and those kept."""
        ranges = {"lows": {"at": 0, "count": 1}, "highs": {"at": 0, "count": 1}}
        filter = {"id": "d1.0", "columns": ["a"], "types": ["int"], "kinds": "range", "kind": "range", "form": "ranges", **ranges}
        ahead = dataclasses.asdict(RowWork())
        counts = {"distinct": 1, "build_rows": 1, "keep_nulls": False, "ahead": ahead}
        scan = {"scan": 0, "files": "d", "table": "t", "hints": [], "filters": [{**filter, **counts}]}
        (answer,) = self.ask("fill", key.to_bytes(8, "little"), scans=[scan])["filters"]
        return [answer["packs_total"], answer["packs_kept"]]


@pytest.fixture
def tail(tmp_path: Path) -> bytes:
    data = write(tmp_path / "t.parquet", {"a": pa.array(range(20), pa.int32())}).read_bytes()
    return data[-8 - int.from_bytes(data[-8:-4], "little") :]


def test_a_session_with_another_cache_directory_asks_for_the_footer_itself(tmp_path: Path, tail: bytes) -> None:
    before = Requests()
    forger = Session(before, tmp_path / "forged")
    assert forger.ask("file_list", **FAR)["read"] == [0]
    forger.bring(tail)
    before.close()
    requests = Requests()
    deceived, honest = Session(requests, tmp_path / "forged"), Session(requests, tmp_path / "mine")
    assert deceived.ask("files", digest="d", columns=["a"])["known"] is False
    assert deceived.ask("file_list", **FAR)["read"] == []
    for _ in range(2):
        assert deceived.packs(105) == [2, 0] and honest.packs(105) == [0, 0]
    assert honest.ask("files", digest="d", columns=["a"])["known"] is False
    assert honest.ask("file_list", **FAR)["read"] == [0]
    assert deceived.ask("files", digest="d", columns=["a"])["known"] is True
    requests.close()


def test_what_a_directory_says_of_a_tail_is_for_its_sessions_and_only_until_the_tail_comes() -> None:
    trust, file = FileTrust(), FileIdentity("s3a://b/t/0", 1, 1)
    trust.tell_digest(file, b"kept", "/one")
    assert trust.was_told(file, b"kept", "/one") and not trust.was_told(file, b"kept", "/other")
    trust.tell(file, b"another tail")
    assert not trust.was_told(file, b"kept", "/one")
