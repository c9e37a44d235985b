"""One directory for generated data: each dataset is built once, beside its place, and appears whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from rtfilter.errors import BenchError

ENVIRONMENT_VARIABLE = "RTFILTER_DATA"
DEFAULT_DIRECTORY = "~/.cache/rtfilter/data"
MANIFEST = "manifest.json"
WAY_OUT = f"Make room, or name another directory with --data DIR or the environment variable {ENVIRONMENT_VARIABLE}."

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Dataset:
    """A finished dataset: its directory, and what its builder wrote down about it."""

    path: Path
    manifest: Manifest


def data_directory(option: str | os.PathLike[str] | None, environment: Mapping[str, str] = os.environ) -> Path:
    """`--data`, else the environment variable, else the default under the user's cache."""
    return Path(option or environment.get(ENVIRONMENT_VARIABLE) or DEFAULT_DIRECTORY).expanduser().absolute()


@dataclass(frozen=True)
class DataCache:
    """Datasets by name under one root directory."""

    root: Path

    def find(self, name: str) -> Dataset | None:
        """The dataset of that name when it was built to its end."""
        path = self.root / name
        try:
            manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return Dataset(path, manifest) if isinstance(manifest, dict) else None

    def dataset(self, name: str, build: Callable[[Path], Manifest]) -> Dataset:
        """Finds the dataset, or has `build` fill an empty directory for it; its answer becomes the manifest.

        Two processes that want the same dataset: one builds, the other waits and takes what the first one made.

        Raises:
            BenchError: the directory cannot be made or written, or the disk is full.
        """
        found = self.find(name)
        if found is not None:
            return found
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with FileLock(self.root / f".{name}.lock"):
                return self.find(name) or self._build(name, build)
        except OSError as error:
            raise BenchError(_cannot_write(self.root / name, error)) from error

    def _build(self, name: str, build: Callable[[Path], Manifest]) -> Dataset:
        place = self.root / name
        unfinished = self.root / f".{name}.building"
        # Under the lock whatever lies here was left by a process that died, or has no readable manifest.
        for left_over in (unfinished, place):
            shutil.rmtree(left_over, ignore_errors=True)
        unfinished.mkdir()
        try:
            manifest = {"dataset": name, **build(unfinished)}
            (unfinished / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
            unfinished.rename(place)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        return Dataset(place, manifest)


def _cannot_write(path: Path, error: OSError) -> str:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    reason = "the disk is full" if full else (error.strerror or str(error))
    return f"benchmark data cannot be written to {path}: {reason}. {WAY_OUT}"
