"""Folders that are this user's alone, for what is believed when it is found again: compiled code, copies of index files."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def own_name() -> str:
    """The name of this user's folder in a directory that several users may share."""
    return f"rtfilter-{os.geteuid()}"


def own_folder_in(directory: str | Path, name: str) -> str:
    """A folder of this user in a directory, both made for this user alone where they are not there.

    The directory may be one that all write to if it is sticky, as `/tmp` is: nobody can put another folder in this one's place.

    Raises:
        OSError: a folder can't be made, is no folder or a link, belongs to another user, or others can write to it.
    """
    path = os.path.join(directory, name)
    try:
        check_own_folder(directory, path)
    except FileNotFoundError:
        make_own(directory)
        _check_directory(directory)
        make_own(path)
        check_own_folder(directory, path)
    return path


def make_own(path: str | Path) -> None:
    """Makes a folder, and all above it that are not there, for this user alone. Raises OSError."""
    above = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(above):
        make_own(above)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        # Another process was faster, or it is no folder, which whoever uses it will see.
        return


def check_own_folder(directory: str | Path, path: str | Path) -> None:
    """Checks that a folder in a directory is safe from others. Raises OSError: as own_folder_in; neither is made."""
    _check_directory(directory)
    _check_private(os.lstat(path), path)


def check_own_file(path: str | Path) -> os.stat_result:
    """The status of an ordinary file that only this user, or root, can have written.

    Raises:
        OSError: it is not there, or no such file.
    """
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
    _check_owner(status, path)
    if status.st_mode & _WRITABLE_BY_OTHERS:
        raise PermissionError(errno.EPERM, "others can write to it", str(path))
    return status


def _check_directory(directory: str | Path) -> None:
    status = os.stat(directory)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(directory))
    _check_owner(status, directory)
    if status.st_mode & _WRITABLE_BY_OTHERS and not status.st_mode & stat.S_ISVTX:
        raise PermissionError(errno.EPERM, "others can write to it", str(directory))


def _check_private(status: os.stat_result, path: str | Path) -> None:
    if not stat.S_ISDIR(status.st_mode):
        what = "it is a link" if stat.S_ISLNK(status.st_mode) else os.strerror(errno.ENOTDIR)
        raise NotADirectoryError(errno.ENOTDIR, what, str(path))
    _check_owner(status, path)
    if status.st_mode & _WRITABLE_BY_OTHERS:
        raise PermissionError(errno.EPERM, "others can write to it", str(path))


def _check_owner(status: os.stat_result, path: str | Path) -> None:
    """What root has made, as in an image, is as good as one's own: root could change anything."""
    if status.st_uid not in (0, os.geteuid()):
        raise PermissionError(errno.EPERM, "another user owns it", str(path))
