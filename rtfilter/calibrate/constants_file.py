"""The file that `rtfilter calibrate` leaves behind: constants, and what they were measured on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from planner.inputs.machine import Constants
from rtfilter.calibrate.fingerprint import Fingerprint
from rtfilter.errors import CalibrationError
from rtfilter.folders import cache_directory
from rtfilter.private_folders import make_own

FORMAT = 1
RUN_IT = "Run `rtfilter calibrate` again, or remove the file"


def calibration_file(fingerprint: Fingerprint) -> Path:
    """Where the constants of a machine and master are kept."""
    return cache_directory() / "calibration" / f"{fingerprint.digest}.json"


def write_calibration(fingerprint: Fingerprint, constants: Constants, path: Path) -> None:
    """Writes the file; who reads it meanwhile sees the old one or the new one.

    Raises:
        CalibrationError: it can't be written.
    """
    content = {"format": FORMAT, "fingerprint": fingerprint.to_dict(), "constants": constants.to_dict()}
    with _part_of(path) as part:
        part.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        part.replace(path)


def check_place(path: Path) -> None:
    """Looks whether a calibration can be kept there, before minutes are spent on one.

    Raises:
        CalibrationError: it can't.
    """
    with _part_of(path) as part:
        part.write_text("", encoding="utf-8")


@contextmanager
def _part_of(path: Path) -> Iterator[Path]:
    """A file beside `path` that is gone afterwards, whatever happens."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        make_own(path.parent)
        try:
            yield part
        finally:
            part.unlink(missing_ok=True)
    except OSError as e:
        way_out = "set RTFILTER_CACHE to a directory that can be written"
        raise CalibrationError(f"{path} can't be written ({e.strerror or e}); {way_out}.") from e


def read_calibration(fingerprint: Fingerprint, path: Path) -> Constants | None:
    """The constants of a file, None when there is none.

    Raises:
        CalibrationError: it can't be read, has another form, or was measured on something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as e:
        raise CalibrationError(f"{path} can't be read ({e}). {RUN_IT}.") from e
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CalibrationError(f"{path} is no calibration of format {FORMAT}. {RUN_IT}.")
    if content.get("fingerprint") != fingerprint.to_dict():
        raise CalibrationError(f"{path} was measured on {content.get('fingerprint')}, not on {fingerprint.to_dict()}. {RUN_IT}.")
    return _constants(content.get("constants"), path)


def _constants(values: Any, path: Path) -> Constants:
    names = {field.name for field in fields(Constants)}
    if not isinstance(values, Mapping) or set(values) != names:
        raise CalibrationError(f"{path} has other constants than this version of rtfilter. {RUN_IT}.")
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
            raise CalibrationError(f"{path} has {name} = {value!r}, which is no time. {RUN_IT}.")
    return Constants(**{name: float(value) for name, value in values.items()})
