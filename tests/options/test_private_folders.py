"""Who may have put something into a folder before it is believed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from rtfilter.private_folders import check_own_file, own_folder_in

SOMEBODY = 12_345


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def lax_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("lax_umask")
def test_what_is_made_is_for_its_user_alone(tmp_path: Path) -> None:
    found = Path(own_folder_in(tmp_path / "a" / "b", "c"))
    assert found == tmp_path / "a" / "b" / "c" and own_folder_in(tmp_path / "a" / "b", "c") == str(found)
    assert [mode_of(each) for each in (found, found.parent, found.parent.parent)] == [0o700] * 3


def belongs_to_another(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Lets a path look as if somebody else owned it; only root could really give it away."""
    plain = os.lstat, os.stat

    def as_another(status: os.stat_result, at: object) -> os.stat_result:
        if os.fspath(at) != str(path):  # type: ignore[call-overload]
            return status
        fields = list(status)
        fields[stat.ST_UID] = SOMEBODY
        return os.stat_result(fields)

    monkeypatch.setattr(os, "lstat", lambda at: as_another(plain[0](at), at))
    monkeypatch.setattr(os, "stat", lambda at: as_another(plain[1](at), at))


@pytest.mark.parametrize("spoiled", ["directory", "directory/own"])
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path, spoiled: str, mode: int) -> None:
    own_folder_in(tmp_path / "directory", "own")
    (tmp_path / spoiled).chmod(mode)
    with pytest.raises(OSError, match="others can write to it") as failure:
        own_folder_in(tmp_path / "directory", "own")
    assert failure.value.filename == str(tmp_path / spoiled) and mode_of(tmp_path / spoiled) == mode


@pytest.mark.parametrize("spoiled", ["directory", "directory/own"])
def test_a_folder_of_another_user_is_refused(tmp_path: Path, spoiled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own_folder_in(tmp_path / "directory", "own")
    belongs_to_another(monkeypatch, tmp_path / spoiled)
    with pytest.raises(OSError, match="another user owns it"):
        own_folder_in(tmp_path / "directory", "own")


def test_a_sticky_directory_for_all_may_hold_a_folder_of_its_user(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    own = Path(own_folder_in(tmp_path, "own"))
    assert mode_of(own) == 0o700
    own.chmod(0o777)
    with pytest.raises(OSError, match="others can write to it"):
        own_folder_in(tmp_path, "own")


def test_others_may_look(tmp_path: Path) -> None:
    own = Path(own_folder_in(tmp_path / "directory", "own"))
    for each in (own, own.parent):
        each.chmod(0o755)
    assert own_folder_in(tmp_path / "directory", "own") == str(own)


def as_link(path: Path) -> None:
    (path.parent / "elsewhere").mkdir()
    path.symlink_to(path.parent / "elsewhere")


@pytest.mark.parametrize(
    ("make", "said"), [(as_link, "it is a link"), (Path.touch, "Not a directory"), (os.mkfifo, "Not a directory")]
)
def test_what_is_no_folder_is_refused(tmp_path: Path, make: Callable[[Path], None], said: str) -> None:
    make(tmp_path / "own")
    with pytest.raises(OSError, match=said):
        own_folder_in(tmp_path, "own")


def test_a_file_counts_only_if_nobody_else_can_have_written_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.touch(0o600)
    assert check_own_file(path).st_size == 0
    path.chmod(0o620)
    with pytest.raises(OSError, match="others can write to it"):
        check_own_file(path)
    for make in (lambda at: at.symlink_to(path), os.mkfifo, Path.mkdir):
        other = tmp_path / "other"
        make(other)
        with pytest.raises(OSError, match="no ordinary file"):
            check_own_file(other)
        other.rmdir() if other.is_dir() else other.unlink()
    path.chmod(0o600)
    belongs_to_another(monkeypatch, path)
    with pytest.raises(OSError, match="another user owns it"):
        check_own_file(path)
