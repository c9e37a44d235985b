"""The query log: a line of JSON per query, written by several processes into one file of bounded size (docs/query-log.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from rtfilter.errors import QueryLogError
from rtfilter.masking import without_secrets
from rtfilter.private_files import check_own, open_own
from rtfilter.report import report_from_record
from rtfilter.report_digest import without_literals
from rtfilter.shapes.query_shape import query_shape
from rtfilter.version import LOG_VERSION

# Of every line, and so of every log of ours. Logs of others begin with a time too.
BEGINS = b'{"time":"####-##-##T##:##:##.###+00:00","query":"'
ROTATED_SUFFIX = ".1"
LOCK_SUFFIX = ".lock"
LOCK_WAIT_S = 2.0
# Logs in which this process has left half a line, for the disk was full. A file's end can't tell: others may be writing.
_torn: set[str] = set()


def log_line(record: Mapping[str, Any], now: datetime, literals: bool = False) -> bytes:
    """The line of one execution: the time at which it ended, its report, and what it asked of its tables; without `literals`
    digests stand in their place."""
    report = report_from_record(record)
    told = (report if literals else without_literals(report)).to_dict()
    entry = {
        "time": now.astimezone(UTC).isoformat(timespec="milliseconds"),
        **told,
        "version": LOG_VERSION,
        "ms": None if record.get("ms") is None else round(record["ms"], 1),
        "failed": bool(record.get("failed")),
        "again": bool(record.get("again")),
        "shape": query_shape(record.get("asked") or (), report.filters, literals),
    }
    return without_secrets(json.dumps(entry, separators=(",", ":"), default=str)).encode() + b"\n"


def append_line(path: str, line: bytes, max_bytes: int) -> None:
    """Appends a line with one write, so that lines of several processes never mix; starts a new file when this one is full.

    Raises:
        QueryLogError: the file can't be written, or it is no query log.
    """
    try:
        check_own(path, BEGINS)
        if _is_full(path, len(line), max_bytes):
            _rotate(path, len(line), max_bytes)
            _torn.discard(path)
        if path in _torn:
            line = b"\n" + line
        descriptor = open_own(path, BEGINS, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            written = os.write(descriptor, line)
        finally:
            os.close(descriptor)
    # A lock that can't be had is an OSError too.
    except OSError as error:
        reason = error.strerror or str(error)
        if error.filename not in (None, path):
            reason = f"{error.filename}: {reason}"
        raise QueryLogError(
            f"the query log {path} can't be written: {reason}. Set rtfilter.log.path to a file of this machine."
        ) from error
    if written < len(line):
        _torn.add(path)
        raise QueryLogError(f"the query log {path} took {written} of {len(line)} bytes: make room, or set rtfilter.log.path.")
    _torn.discard(path)


def _is_full(path: str, more_bytes: int, max_bytes: int) -> bool:
    try:
        size_bytes = os.stat(path).st_size
    except FileNotFoundError:
        return False
    return size_bytes > 0 and size_bytes + more_bytes > max_bytes


def _rotate(path: str, more_bytes: int, max_bytes: int) -> None:
    """Under a lock, and only if no other process was faster: else its nearly empty file would replace the full one."""
    check_own(path + ROTATED_SUFFIX, BEGINS)
    # A lock is empty; the library would empty another file of that name.
    check_own(path + LOCK_SUFFIX, b"")
    with FileLock(Path(path + LOCK_SUFFIX), timeout=LOCK_WAIT_S):
        if _is_full(path, more_bytes, max_bytes):
            os.replace(path, path + ROTATED_SUFFIX)
