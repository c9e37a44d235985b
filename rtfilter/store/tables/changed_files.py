"""Which files of a list are not as they were when their footers were read."""

from __future__ import annotations

import os
import time

from rtfilter.store.parquet.pack_statistics import matches_listing, status_digest
from rtfilter.store.tables.file_lists import FileList, PackLayout

# Checking a file takes microseconds unless its filesystem hangs: that much is allowed even where nothing is waited for.
CHECK_GRACE_S = 0.25


def changed_files(files: FileList, layout: PackLayout, deadline: float) -> tuple[list[int], list[int]]:
    """Known local files that are not (or past the deadline: not surely) as they were read, and those of them that are as listed."""
    changed, replaced = [], []
    statuses = layout.statuses.tolist()
    for i, path in files.local:
        if layout.counts[i] < 0:
            continue
        file = files.files[i]
        try:
            status = os.stat(path) if time.monotonic() < deadline + CHECK_GRACE_S else None
        except OSError:
            status = None
        if status is None or not matches_listing(status, file.size_bytes, file.mtime_ms):
            changed.append(i)
        elif status_digest(status) != statuses[i]:
            changed.append(i)
            replaced.append(i)
    return changed, replaced
