"""Which indexes were made inside tables, noted outside of them: who overwrites a table removes them, and somebody should say so.

A file for each table in the cache folder of this machine's user. What can't be noted or read there is not told, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rtfilter.folders import cache_directory
from rtfilter.private_folders import make_own
from rtfilter.store.parquet.paths import is_remote

# Tables; those that are gone are forgotten first, then the oldest notes.
MOST_NOTES = 1_000
_FOLDER = "made"
# The state of an index that is not there any more, and was not removed by a vacuum.
GONE = "GONE"


def remember(place: str) -> None:
    """Notes that there is an index in this directory of a store inside a table."""
    store, name = os.path.split(place)
    _change(store, {*remembered(store), name})


def forget(place: str) -> None:
    """It is gone, and somebody knows."""
    store, name = os.path.split(place)
    if name in (names := remembered(store)):
        _change(store, {each for each in names if each != name})


def has_notes() -> bool:
    """Whether any index was made inside a table, by this user on this machine."""
    try:
        with os.scandir(_directory()) as entries:
            return any(True for _ in entries)
    except OSError:
        return False


def remembered(store: str) -> tuple[str, ...]:
    """The names of the directories of indexes that were made in this store, in order."""
    try:
        noted = json.loads(_note(store).read_bytes())
        return tuple(sorted(map(str, noted["indexes"]))) if noted["store"] == store else ()
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def is_lost(place: str) -> bool:
    """Whether the index of this directory was made and nobody has removed it by a vacuum; for one that is not there."""
    store, name = os.path.split(place)
    return name in remembered(store)


def lost_from(stores: Iterable[str]) -> list[str]:
    """The directories of indexes that were made in these local stores and are not there any more."""
    noted = (os.path.join(store, name) for store in stores if not is_remote(store) for name in remembered(store))
    return [place for place in noted if not os.path.isdir(place)]


def _note(store: str) -> Path:
    return _directory() / f"{hashlib.sha256(store.encode()).hexdigest()[:32]}.json"


def _directory() -> Path:
    return cache_directory() / _FOLDER


def _change(store: str, names: set[str]) -> None:
    with suppress(OSError):
        note = _note(store)
        if not names:
            note.unlink(missing_ok=True)
            return
        make_own(note.parent)
        scratch = note.with_suffix(f".{uuid.uuid4().hex}")
        scratch.write_text(json.dumps({"store": store, "indexes": sorted(names)}))
        scratch.replace(note)
        _drop_too_many(note.parent)


def _drop_too_many(folder: Path) -> None:
    notes = sorted(folder.iterdir(), key=lambda each: each.stat().st_mtime_ns)
    if len(notes) <= MOST_NOTES:
        return
    gone = [each for each in notes if not _has_table(each)]
    for each in [*gone, *(note for note in notes if note not in gone)][: max(len(gone), len(notes) - MOST_NOTES)]:
        each.unlink(missing_ok=True)


def _has_table(note: Path) -> bool:
    try:
        store = str(json.loads(note.read_bytes())["store"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return is_remote(store) or os.path.isdir(os.path.dirname(store))
