"""A storage whose writer dies at a step of one's choice."""

from __future__ import annotations

from collections.abc import Callable

from rtfilter.store.index_files.storage import LocalStorage


class Killed(BaseException):
    """Stands for kill -9: nothing may catch it, and nothing is written after it."""


class DyingStorage(LocalStorage):
    """Dies before or after its n-th write; from then on no call goes through."""

    def __init__(self, place: str, dies_at: int, before: bool) -> None:
        super().__init__(place)
        self.dies_at, self.before, self.step, self.dead = dies_at, before, 0, False

    def _write(self, do: Callable[[], object]) -> object:
        self._alive()
        self.step += 1
        dying = self.step == self.dies_at
        if dying and self.before:
            self.dead = True
        self._alive()
        done = do()
        if dying:
            self.dead = True
        self._alive()
        return done

    def _alive(self) -> None:
        if self.dead:
            raise Killed

    def names(self, folder: str) -> list[str]:
        self._alive()
        return super().names(folder)

    def create(self, name: str, content: bytes) -> bool:
        return bool(self._write(lambda: super(DyingStorage, self).create(name, content)))

    def publish(self, scratch: str) -> str:
        return str(self._write(lambda: super(DyingStorage, self).publish(scratch)))

    def scratch(self) -> str:
        return str(self._write(lambda: super(DyingStorage, self).scratch()))

    def delete(self, name: str) -> None:
        self._write(lambda: super(DyingStorage, self).delete(name))
