"""What a measurement is of, in digests: this build of the layer, and the tables as they are now."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import planner
import rtfilter

SOURCES = (".py", ".scala")


def build_digest() -> str:
    """Of every source file of the layer: two builds of one version are told apart."""
    found = hashlib.sha256()
    for package in (rtfilter, planner):
        root = Path(package.__file__ or "").parent
        for file in sorted(each for each in root.rglob("*") if each.suffix in SOURCES):
            found.update(f"{file.relative_to(root)}\n".encode() + file.read_bytes())
    return found.hexdigest()


def tables_digest(tables: Mapping[str, Path]) -> str:
    """Of the name, size and time of change of every file of the tables."""
    lines = (line for name, path in sorted(tables.items()) for line in _files(name, path))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _files(table: str, path: Path) -> Iterable[str]:
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            found = file.stat()
            yield f"{table} {file} {found.st_size} {found.st_mtime_ns}"
