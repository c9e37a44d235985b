"""The host's notes of what it is reading: one file for the hosts of one parent, which goes with the last of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from rtfilter.host.frames import PROTOCOL, read_frame, write_frame
from rtfilter.private_folders import own_name
from rtfilter.store.index_reading.reading_journal import ReadingJournal, digest_of


def started() -> subprocess.Popen[bytes]:
    """A host that has answered a greeting."""
    host = subprocess.Popen([sys.executable, "-m", "rtfilter.host"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    write_frame(cast(BinaryIO, host.stdin), {"id": 1, "op": "hello", "protocol": PROTOCOL})
    answer = read_frame(cast(BinaryIO, host.stdout))
    assert answer is not None and answer.json["ok"]
    return host


def test_notes_outlive_a_host_that_is_killed_and_go_with_one_that_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folder = tmp_path / own_name()
    folder.mkdir(0o700)
    # Of a parent that is no more.
    (folder / "reading-4194304999-1").touch(0o600)
    with started() as host:
        (notes,) = folder.iterdir()
        host.kill()
    assert notes.name.startswith(f"reading-{os.getpid()}-") and notes.stat().st_mode & 0o777 == 0o600
    assert notes.exists()
    # As if it had been at an index.
    with notes.open("r+b") as file:
        file.write(digest_of("/i"))
    assert ReadingJournal(str(notes)).left_behind == {digest_of("/i")}
    with started() as host:
        assert list(folder.iterdir()) == [notes]
    assert host.returncode == 0 and list(folder.iterdir()) == []
