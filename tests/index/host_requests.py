"""The host's side of one table, asked as the bridge asks it: plans, background looks and fills, without Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from rtfilter.host.frames import Frame
from rtfilter.host.requests import Requests
from rtfilter.store.parquet.footer_digest import read_tail
from tests.index.remote_files import FarFiles, far
from tests.planner.plans import attr, broadcast, column, join, nodes_of, project, scan, where

KEY = 7003


class AskedHost:
    """The table in a folder has a column `a`; the condition and the only key of the join are `a = 7003`."""

    def __init__(self, folder: Path, *, is_far: bool, **options: object) -> None:
        self.requests = Requests()
        self.folder, self._is_far = folder, is_far
        cache = {"store.cacheDirectory": str(folder.parent / f"{folder.name}-cache")}
        given = {"enabled": "true", "feedback.enabled": "false", **cache, **options}
        self.conf = {f"rtfilter.{name}": str(value) for name, value in given.items()}

    def close(self) -> None:
        self.requests.store.close()

    def text(self, path: Path) -> str:
        return far(path) if self._is_far else f"file:{path}"

    def ask(self, op: str, body: bytes = b"", **fields: Any) -> dict[str, Any]:
        answer, _ = self.requests.answer(Frame({"op": op, "conf": self.conf, "spark": {}, **fields}, body))
        return answer

    def tell_files(self) -> None:
        """The table's list, and its footers where the host can't read them."""
        files = sorted(self.folder.glob("*.parquet"))
        status = [os.stat(path) for path in files]
        lists: dict[str, Any] = {
            "paths": [self.text(path) for path in files],
            "sizes": [each.st_size for each in status],
            "mtimes": [each.st_mtime_ns // 10**6 for each in status],
        }
        for index in self.ask("file_list", digest="d", columns=["a"], **lists)["read"]:
            with open(files[index], "rb") as file:
                tail = read_tail(file, status[index].st_size)
            self.ask("footers", tail, digest="d", items=[{"index": index, "at": 0, "count": len(tail)}])

    def look(self, files: FarFiles) -> None:
        """What the bridge does in the background of a query."""
        answer = self.ask("index_files", digest="d", columns=["a"])
        while answer["look"] is not None:
            answer = self.ask("index_files", look=answer["look"], answers=files.steps(answer["wants"]))

    def joined(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is said of the filter of a join: with the plan, and after the fill."""
        fact = scan("t", column(1, "a", "bigint"), bytes=10**9, roots=[self.text(self.folder)])
        few = broadcast(where(project(scan("few", column(11, "k", "bigint")), attr(11, "k", "bigint"))))
        root = join(fact, few, [attr(1, "a", "bigint")], [attr(11, "k", "bigint")])
        answer = self.ask("plan", decision="d1", nodes=nodes_of(root))
        (placeholder,) = answer["placeholders"]
        keys = np.array([KEY], dtype="<i8").tobytes()
        one = {"min": KEY, "max": KEY, "distinct": 1, "build_rows": 1, "kind": "set", "form": "set", "keys": {"at": 0, "count": 1}}
        asked = {"id": placeholder["id"], "columns": ["a"], "types": ["bigint"], "ahead": placeholder["ahead"], **one}
        filled = self.ask("fill", keys, scans=[{"scan": 0, "files": "d", "table": "t", "filters": [asked]}])
        return answer["candidates"][0], filled["filters"][0]

    def conditioned(self) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """What is said of a condition of the query itself: with the plan, and after the fill where there is one."""
        test = {"op": "eq", "column": "a", "type": "bigint", "value": KEY}
        asked = [{"text": "(a = 7003)", "test": test}]
        nodes = nodes_of(scan("t", column(1, "a", "bigint"), static=asked, roots=[self.text(self.folder)]))
        answer = self.ask("plan", decision="d1", nodes=nodes, static_only=True)
        (candidate,) = answer["candidates"]
        if "statics" not in answer:
            return candidate, None
        static = {name: answer["statics"][0][name] for name in ("id", "predicate")}
        filled = self.ask("fill", scans=[{"scan": 0, "files": "d", "table": "t", "filters": [], "static": static}])
        return candidate, filled["filters"][0]
