"""Which files make up an event log: a plain file, a folder of rolled files, or a folder with the logs of many applications."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rtfilter.errors import AdviceError

IN_PROGRESS, COMPACT = ".inprogress", ".compact"
# The short names of Spark's codecs.
CODECS = ("zstd", "lz4", "lzf", "snappy")
_MARKS = {b"\x28\xb5\x2f\xfd": "zstd", b"LZ4Block": "lz4"}
_ROLLED = re.compile(r"events_(\d+)_.+")
_ROLLED_FOLDER = "eventlog_v2_"


@dataclass(frozen=True, slots=True)
class EventLog:
    """One application's log. `files` in the order in which they were written."""

    name: str
    files: tuple[Path, ...]


def event_logs(paths: Sequence[str | Path]) -> tuple[list[EventLog], list[str]]:
    """The logs that paths name, in their order, and a note for each path that was given twice.

    Raises:
        AdviceError: a path is not there, can't be listed, or holds no log.
    """
    found: dict[str, EventLog] = {}
    notes = []
    for path in paths:
        try:
            logs = list(_logs_at(Path(path)))
        except OSError as error:
            raise AdviceError(f"{path}: the event log can't be read: {error.strerror or error}.") from error
        if not logs:
            raise AdviceError(f"{path}: no event log is in this folder. Is it the value of spark.eventLog.dir?")
        for log in logs:
            if found.setdefault(os.path.realpath(log.name), log) is not log:
                notes.append(f"{log.name}: given twice, read once")
    return list(found.values()), notes


def codec_of(file: Path) -> str | None:
    """The codec that the file's extension names, or else its first bytes; None for plain text."""
    name = file.name.removesuffix(COMPACT).removesuffix(IN_PROGRESS)
    extension = name.rpartition(".")[2].lower()
    if extension in CODECS:
        return extension
    with open(file, "rb") as content:
        first = content.read(8)
    return next((codec for mark, codec in _MARKS.items() if first.startswith(mark)), None)


def _logs_at(path: Path) -> Iterator[EventLog]:
    if not path.is_dir():
        with open(path, "rb"):
            yield EventLog(str(path), (path,))
        return
    if (rolled := _rolled_files(path)) or path.name.startswith(_ROLLED_FOLDER):
        yield EventLog(str(path), rolled)
        return
    for child in sorted(path.iterdir()):
        if child.name.startswith((".", "_")):
            continue
        if child.is_file():
            yield EventLog(str(child), (child,))
        elif child.name.startswith(_ROLLED_FOLDER):
            yield EventLog(str(child), _rolled_files(child))


def _rolled_files(folder: Path) -> tuple[Path, ...]:
    """The files `events_N_*` in the order of N. A compacted file stands for all up to its own N."""
    numbered = [(int(match[1]), each) for each in folder.iterdir() if (match := _ROLLED.fullmatch(each.name)) and each.is_file()]
    compact = max((number for number, each in numbered if each.name.endswith(COMPACT)), default=0)
    kept = [(number, each) for number, each in numbered if number > compact or (number == compact and each.name.endswith(COMPACT))]
    return tuple(each for _, each in sorted(kept))
