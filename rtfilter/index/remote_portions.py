"""The portions of tables that only Spark can open, as requests for their bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, cast

from rtfilter.store.index_files.file_parts import ranges_of, request_text
from rtfilter.store.index_files.sketching import Portion, TableFile
from rtfilter.store.parquet.footer_digest import read_tail
from rtfilter.store.remote.remote_steps import FileAccess
from rtfilter.store.remote.remote_table import RemoteFile

# Reads wait for the network, not for a core.
THREADS = 16


def requests_for(access: FileAccess, portions: Sequence[Portion], columns: Iterable[str]) -> list[str]:
    """A request for each portion (parts.py), by the footers of its files, which the driver reads."""
    names = frozenset(columns)
    files = list(dict.fromkeys(portion.file for portion in portions))
    with ThreadPoolExecutor(THREADS, thread_name_prefix="footers") as pool:
        tails = dict(zip(files, pool.map(lambda file: _tail(access, file), files), strict=True))
    return [_request(portion, tails[portion.file], names) for portion in portions]


def _request(portion: Portion, tail: bytes, columns: frozenset[str]) -> str:
    try:
        return request_text(portion, ranges_of(portion, tail, columns))
    except Exception:  # pyarrow raises many kinds; the task says of this file what is wrong with it
        end = min(portion.file.size_bytes, max(8, len(tail)))
        return request_text(portion, [(portion.file.size_bytes - end, end)])


def _tail(access: FileAccess, file: TableFile) -> bytes:
    try:
        return read_tail(cast(BinaryIO, RemoteFile(access, file.path, file.size_bytes)), file.size_bytes)
    except Exception:  # whatever it is, it happens to the task as well, which reports it
        return b""
