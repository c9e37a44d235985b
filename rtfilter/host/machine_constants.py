"""What the planner estimates times with: the constants of the machine and master that the session runs on."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from typing import Any

from planner.inputs.machine import DEFAULTS, Constants, Machine
from rtfilter.calibrate.constants_file import calibration_file, read_calibration
from rtfilter.calibrate.fingerprint import fingerprint_here
from rtfilter.errors import CalibrationError


def machine_of(spark: Mapping[str, Any]) -> Machine:
    """The machine of a request's `spark` part."""
    return Machine(_constants(str(spark.get("version", "")), str(spark.get("master", ""))), int(spark.get("cores") or 1))


@functools.lru_cache(maxsize=16)
def _constants(spark: str, master: str) -> Constants:
    """The calibrated constants, the defaults without any. A file that can't be used costs a warning on standard error."""
    fingerprint = fingerprint_here(spark, master)
    try:
        return read_calibration(fingerprint, calibration_file(fingerprint)) or DEFAULTS
    except CalibrationError as e:
        print(f"rtfilter planner host: {e} Until then the cost model's defaults are used.", file=sys.stderr, flush=True)
        return DEFAULTS
