"""A filesystem `far:` that only somebody else can open: a local directory behind the steps of docs/protocol.md."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rtfilter.errors import IndexStorageError
from rtfilter.store.index_files.local_cache import LocalCache
from rtfilter.store.remote.remote_storage import RemoteStorage


class GoneError(BaseException):
    """Stands for kill -9: nothing may catch it, and nothing is written after it."""


@dataclass
class FarFiles:
    """Carries out steps. `fails_at`: the step, counted from one, that goes wrong; `dies`: for good, before or after it."""

    fails_at: int = 0
    dies: str | None = None
    conditional: bool = False
    answers_lost: int = 0
    step: int = 0
    dead: bool = False
    done: list[str] = field(default_factory=list)

    def steps(self, wishes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [self._carried_out(dict(wish)) for wish in wishes]

    def create(self, path: str, content: bytes, conditional: bool) -> None:
        self._begin("create")
        assert conditional == self.conditional
        try:
            os.makedirs(os.path.dirname(local(path)), exist_ok=True)
            with open(local(path), "xb") as file:
                file.write(content if self._passes() else content[: len(content) // 2])
        except FileExistsError as error:
            raise IndexStorageError(f"{path} is there already") from error
        self._end()
        if self.answers_lost:
            self.answers_lost -= 1
            raise IndexStorageError("the answer got lost")
        if not self._passes():
            raise IndexStorageError(f"{path}: half written")

    def read(self, path: str, at: int, count: int) -> bytes:
        self._begin("read")
        with open(local(path), "rb") as file:
            file.seek(at)
            return file.read(count)

    def _passes(self) -> bool:
        return self.step != self.fails_at or self.dies is not None

    def _begin(self, op: str) -> None:
        self.step += 1
        self.done.append(op)
        if self.dies == "before" and self.step == self.fails_at:
            self.dead = True
        if self.dead:
            raise GoneError

    def _end(self) -> None:
        if self.dies == "after" and self.step == self.fails_at:
            self.dead = True
        if self.dead:
            raise GoneError

    def _carried_out(self, wish: dict[str, Any]) -> dict[str, Any]:
        self._begin(wish["op"])
        try:
            if not self._passes():
                raise OSError(f"{wish['op']} failed on purpose")
            done = self._do(wish, Path(local(wish["path"])))
        except FileNotFoundError:
            done = {"missing": True}
        except OSError as error:
            done = {"error": str(error)}
        self._end()
        return done

    def _do(self, wish: dict[str, Any], path: Path) -> dict[str, Any]:
        op = wish["op"]
        if op == "qualify":
            return {"path": wish["path"], "scheme": "far", "conditional": self.conditional}
        if op == "status":
            return entry(path)
        if op == "list":
            return {"entries": [entry(each) for each in sorted(path.iterdir())]}
        if op == "text":
            return {"text": path.read_bytes()[: wish["most"]].decode(errors="replace")}
        if op == "down":
            Path(wish["local"]).write_bytes(path.read_bytes()[: wish["most"]])
        elif op == "up":
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(wish["local"], path)
        elif op == "rename":
            os.replace(path, local(wish["to"]))
        elif op == "delete":
            path.unlink()
        return {"done": True}


def local(path: str) -> str:
    assert path.startswith("far:/"), path
    return path.removeprefix("far:")


def far(path: Path | str) -> str:
    return f"far:{path}"


def entry(path: Path) -> dict[str, Any]:
    status = path.stat()
    time_ms = status.st_mtime_ns // 1_000_000
    return {"path": far(path), "name": path.name, "directory": path.is_dir(), "bytes": status.st_size, "mtime_ms": time_ms}


def far_storage(folder: Path, files: FarFiles | None = None, name: str = "i", allowed: Sequence[str] = ("far",)) -> RemoteStorage:
    """The index of a table in a folder, with a cache beside the table."""
    return RemoteStorage(far(folder / "_rtfilter" / name), files or FarFiles(), cache_of(folder), allowed)


def cache_of(folder: Path, limit_bytes: int = 1 << 30) -> LocalCache:
    return LocalCache(str(folder.parent / f"{folder.name}-cache"), limit_bytes)
