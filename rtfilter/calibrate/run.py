"""One calibration: a session, tables, trials, constants, and the file that keeps them."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from planner.inputs.machine import Constants
from rtfilter.bench.engines.spark_session import start_session
from rtfilter.bridge.jar import find_spark
from rtfilter.calibrate.arithmetic import constants_from
from rtfilter.calibrate.constants_file import calibration_file, check_place, write_calibration
from rtfilter.calibrate.fingerprint import Fingerprint, fingerprint_here
from rtfilter.calibrate.measure import best_times
from rtfilter.calibrate.trials import make_tables, trials_on
from rtfilter.errors import CalibrationError, RtFilterError, first_line


@dataclass(frozen=True)
class Calibration:
    """Constants, what they were measured on, and where they are kept."""

    fingerprint: Fingerprint
    constants: Constants
    path: Path


def calibrate(master: str, rows: int, location: Path | None, tell: Callable[[str, int, int], None]) -> Calibration:
    """Measures the constants and keeps them. `location`: a directory that driver and executors share, for tables that are removed
    afterwards; a temporary one when left out. `tell` hears of every run.

    Raises:
        CalibrationError: the machine is too busy, or too few rows show nothing, or a file can't be written.
        BenchError: Spark does not start with this master.
    """
    check_place(place_of(master)[1])
    tell("starts Spark", 0, 0)
    spark = start_session("rtfilter calibrate", master)
    try:
        with _folder(location) as folder:
            tell("writes tables", 0, 0)
            tables, sizes = make_tables(spark, folder.as_uri(), rows)
            constants = constants_from(best_times(trials_on(tables), tell), sizes)
        fingerprint = fingerprint_here(spark.version, spark.sparkContext.master or master)
    except RtFilterError:
        raise
    except Exception as error:  # whatever Spark raises: a full disk, executors that see no --location
        raise CalibrationError(f"a trial failed with master {master!r}: {first_line(error)}") from error
    finally:
        spark.stop()
    path = calibration_file(fingerprint)
    write_calibration(fingerprint, constants, path)
    return Calibration(fingerprint, constants, path)


def place_of(master: str) -> tuple[Fingerprint, Path]:
    """What a calibration for a master is measured on here, and where it would be kept; starts no Spark."""
    fingerprint = fingerprint_here(find_spark().version, master)
    return fingerprint, calibration_file(fingerprint)


@contextmanager
def _folder(location: Path | None) -> Iterator[Path]:
    if location is None:
        with tempfile.TemporaryDirectory(prefix="rtfilter-calibrate-") as name:
            yield Path(name)
        return
    folder = location.absolute() / f"rtfilter-calibrate-{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True)
    except OSError as e:
        raise CalibrationError(f"{location} can't be written ({e.strerror or e}): name another directory with --location.") from e
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
