"""The compiled bridge runs inside Spark: one that somebody else can have put into the cache is never loaded."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from rtfilter.bridge import jar
from rtfilter.folders import CACHE_VARIABLE

COMPILED = b"compiled from the sources"
PLANTED = b"somebody else's"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """A cache of its own and a compiler that takes no time; where it wrote to."""
    written: list[Path] = []

    def compile_into(_: object, out: Path) -> None:
        out.write_bytes(COMPILED)
        written.append(out)

    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(jar, "_compile_into", compile_into)
    monkeypatch.setattr(jar, "_private", {})
    return written


def place(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "jars" / jar.jar_name(jar.find_spark())


def test_a_jar_is_compiled_once_and_is_its_users_alone(compiled: list[Path], tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert jar.ensure_jar() == place(tmp_path)
    finally:
        os.umask(before)
    assert jar.ensure_jar() == place(tmp_path) and compiled == [place(tmp_path)]
    assert [stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "cache", tmp_path / "cache" / "jars")] == [0o700] * 2


def everybody_may_write(folder: Path) -> None:
    folder.chmod(0o777)


def a_link(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


def the_jar_may_be_written(folder: Path) -> None:
    next(folder.glob("*.jar")).chmod(0o666)


def its_digest_may_be_written(folder: Path) -> None:
    next(folder.glob("*.sha256")).chmod(0o666)


def the_jar_is_a_link(folder: Path) -> None:
    made = next(folder.glob("*.jar"))
    made.rename(folder / "other")
    made.symlink_to("other")


def the_cache_may_be_written(folder: Path) -> None:
    folder.parent.chmod(0o770)


def a_file(folder: Path) -> None:
    for each in folder.iterdir():
        each.unlink()
    folder.rmdir()
    folder.write_text("mine")


UNSAFE = [
    everybody_may_write,
    a_link,
    the_jar_may_be_written,
    its_digest_may_be_written,
    the_jar_is_a_link,
    the_cache_may_be_written,
    a_file,
]


@pytest.mark.parametrize("spoil", UNSAFE, ids=lambda spoil: spoil.__name__)
def test_what_others_can_have_written_is_left_alone(
    compiled: list[Path], tmp_path: Path, spoil: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    kept = jar.ensure_jar()
    kept.write_bytes(PLANTED)
    spoil(kept.parent)
    with caplog.at_level(logging.WARNING):
        own = jar.ensure_jar()
        assert jar.ensure_jar() == own and own.read_bytes() == COMPILED
    assert not own.is_relative_to(tmp_path / "cache") and stat.S_IMODE(own.parent.stat().st_mode) == 0o700
    assert compiled == [kept, own]
    # One warning, with the way out; and nothing there was changed.
    [said] = caplog.messages
    assert str(tmp_path / "cache" / "jars") in said and CACHE_VARIABLE in said
    assert kept.parent.is_file() or kept.read_bytes() == PLANTED


def test_the_jar_of_another_user_is_left_alone(
    compiled: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kept = jar.ensure_jar()
    plain = os.lstat

    def as_another(at: str | Path) -> os.stat_result:
        status = list(plain(at))
        if Path(at) == kept:
            status[stat.ST_UID] = 12_345
        return os.stat_result(status)

    monkeypatch.setattr(os, "lstat", as_another)
    with caplog.at_level(logging.WARNING):
        assert jar.ensure_jar() != kept
    assert "another user owns it" in caplog.text and len(compiled) == 2


@pytest.mark.parametrize("note", ["changed", "gone", "cut"])
def test_a_jar_that_is_not_as_it_was_compiled_is_compiled_anew(
    compiled: list[Path], tmp_path: Path, note: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept = jar.ensure_jar()
    kept.write_bytes(PLANTED)
    beside = kept.with_name(kept.name + ".sha256")
    if note == "gone":
        beside.unlink()
    if note == "cut":
        beside.write_bytes(b"")
    with caplog.at_level(logging.WARNING):
        assert jar.ensure_jar() == kept and kept.read_bytes() == COMPILED
    assert compiled == [kept, kept] and "compiled anew" in caplog.text
    assert jar.ensure_jar() == kept and len(compiled) == 2


def test_a_cache_that_cant_be_written_costs_a_compilation(
    compiled: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    with caplog.at_level(logging.WARNING):
        assert jar.ensure_jar().read_bytes() == COMPILED
    assert CACHE_VARIABLE in caplog.text and len(compiled) == 1
