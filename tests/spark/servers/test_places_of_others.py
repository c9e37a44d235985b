"""A file, a pipe, a link or a folder of somebody else's that an option names stays as it is, whoever names it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import rtfilter
from rtfilter.options import OPTIONS, PLACE
from tests.spark.cases import FACT_FILES, dim_table, fact_table, write_files
from tests.spark.servers.clients import CLIENTS

NAMES_A_PLACE = [each.key for each in OPTIONS if each.set_by == PLACE and each.type == "path"]


def a_file(place: Path) -> None:
    place.write_text("mine\n")


def an_empty_folder(place: Path) -> None:
    place.mkdir()


def a_folder(place: Path) -> None:
    place.mkdir()
    (place / "kept.json").write_text("{}")
    (place / "kept.lock").write_text("held")


def a_pipe(place: Path) -> None:
    os.mkfifo(place)


def a_link_to_a_file(place: Path) -> None:
    a_file(place.with_name("behind-" + place.name))
    place.symlink_to("behind-" + place.name)


def a_link_to_nothing(place: Path) -> None:
    place.symlink_to("nothing-" + place.name)


def a_link_to_a_folder(place: Path) -> None:
    a_folder(place.with_name("behind-" + place.name))
    place.symlink_to("behind-" + place.name)


MAKERS: list[Callable[[Path], None]] = [
    a_file,
    an_empty_folder,
    a_folder,
    a_pipe,
    a_link_to_a_file,
    a_link_to_nothing,
    a_link_to_a_folder,
]


def seen(folder: Path) -> dict[str, tuple[object, ...]]:
    """What is below a folder: kind, mode, size, time of change and content of everything."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content: object = None
        if stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(status.st_mode):
            content = path.readlink()
        times = None if stat.S_ISDIR(status.st_mode) else status.st_mtime_ns
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_ino, times, content)
    return found


@pytest.mark.parametrize("client", CLIENTS)
def test_it_stays_as_it_is(client: str, tmp_path: Path) -> None:
    write_files(fact_table(), tmp_path / "fact", FACT_FILES)
    write_files(dim_table(), tmp_path / "dim", 1)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    joined = f"parquet.`{tmp_path / 'fact'}` f JOIN parquet.`{tmp_path / 'dim'}` d ON k = id WHERE name IN ('n5', 'n7')"
    query = f"SELECT 'rows', count(*) AS n FROM {joined}"
    sessions = []
    for key in NAMES_A_PLACE:
        for make in MAKERS:
            place = theirs / f"{key}-{make.__name__}"
            make(place)
            sessions.append([f"SET {key}={place}", "SET rtfilter.log.maxBytes=1", query])
    before = seen(theirs)
    ours = tmp_path / "ours"
    ours.mkdir()
    named = [f"SET {key}={ours / key}" for key in NAMES_A_PLACE]
    conf = {"spark.rtfilter.enabled": "true", "spark.rtfilter.log.path": str(tmp_path / "log.jsonl"), **rtfilter.spark_conf()}
    conf["spark.rtfilter.feedback.path"] = str(tmp_path / "feedback.json")
    said = CLIENTS[client](conf, [*sessions, [*named, query]], tmp_path)
    assert re.findall(r"rows\D+(\d+)", said) == ["20"] * (len(sessions) + 1)
    after = seen(theirs)
    assert {name: after.get(name) for name in before} == before
    if client == "own session":
        # The one who may name places has them used, beside what was there.
        assert {"rtfilter.log.path", "rtfilter.feedback.path"} <= set(seen(ours))
        return
    assert set(after) == set(before) and seen(ours) == {}
    assert (tmp_path / "log.jsonl").exists()
