"""Golden event logs as files: a compressed one stands as base64 text in the tree."""

from __future__ import annotations

import base64
import tempfile
from functools import cache
from pathlib import Path

LOGS = Path(__file__).parent / "logs"


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def golden_log(name: str) -> Path:
    """The path of a log, such as spark-4.3 or spark-3.5.zstd."""
    if (LOGS / name).exists():
        return LOGS / name
    found = Path(_folder().name) / name
    found.write_bytes(base64.b64decode((LOGS / f"{name}.base64").read_text()))
    return found
