"""The file of measured constants: what is used, and what is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planner.inputs.machine import DEFAULTS, Constants
from rtfilter import hardware
from rtfilter.calibrate.constants_file import calibration_file, check_place, read_calibration, write_calibration
from rtfilter.calibrate.fingerprint import Fingerprint, fingerprint_here
from rtfilter.errors import CalibrationError
from rtfilter.host import machine_constants

HERE = Fingerprint("a processor", 2, 24, "4.3.0", "local[2]")
MEASURED = replace(DEFAULTS, scan_row_ns=99.0, job_ms=7.0)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("RTFILTER_CACHE", str(tmp_path))
    machine_constants._constants.cache_clear()
    yield tmp_path
    machine_constants._constants.cache_clear()


def kept(**changes: Any) -> Path:
    """A calibration of this machine, with changes to the file's content."""
    path = calibration_file(HERE)
    write_calibration(HERE, MEASURED, path)
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, **changes}), encoding="utf-8")
    return path


def test_what_was_written_is_read() -> None:
    assert read_calibration(HERE, kept()) == MEASURED


def test_without_a_file_nothing_is_known() -> None:
    assert read_calibration(HERE, calibration_file(HERE)) is None


@pytest.mark.parametrize(
    "change", [{"cpu": "another"}, {"cores": 4}, {"memory_gb": 8}, {"spark": "4.4.0"}, {"master": "spark://m:7077"}]
)
def test_each_machine_and_master_has_a_file_of_its_own(change: dict[str, Any]) -> None:
    other = replace(HERE, **change)
    assert calibration_file(other) != calibration_file(HERE)
    with pytest.raises(CalibrationError, match="was measured on"):
        read_calibration(other, kept())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": 2}, "no calibration of format 1"),
        ({"constants": {"scan_row_ns": 1.0}}, "other constants"),
        ({"constants": {**DEFAULTS.to_dict(), "brand_new_ms": 1.0}}, "other constants"),
        ({"constants": {**DEFAULTS.to_dict(), "job_ms": "7"}}, "job_ms = '7'"),
        ({"constants": {**DEFAULTS.to_dict(), "job_ms": -1.0}}, "job_ms = -1.0"),
        ({"constants": {**DEFAULTS.to_dict(), "job_ms": True}}, "job_ms = True"),
        ({"constants": {**DEFAULTS.to_dict(), "job_ms": float("nan")}}, "job_ms = nan"),
        ({"constants": {**DEFAULTS.to_dict(), "job_ms": 10**400}}, "job_ms = 1000"),
    ],
)
def test_a_file_with_anything_odd_is_not_used_and_says_what_to_do(change: dict[str, Any], says: str) -> None:
    with pytest.raises(CalibrationError, match=says) as caught:
        read_calibration(HERE, kept(**change))
    assert "rtfilter calibrate" in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 1, "fingerprint"', pytest.param("[" * 500_000, id="deep")])
def test_half_a_file_is_not_used(text: str) -> None:
    path = kept()
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CalibrationError):
        read_calibration(HERE, path)


def test_a_place_that_can_not_be_written_is_named(cache: Path) -> None:
    (cache / "calibration").write_text("a file where a folder should be", encoding="utf-8")
    with pytest.raises(CalibrationError, match="RTFILTER_CACHE"):
        write_calibration(HERE, MEASURED, calibration_file(HERE))
    with pytest.raises(CalibrationError, match="RTFILTER_CACHE"):
        check_place(calibration_file(HERE))


def test_looking_at_a_place_leaves_what_is_there() -> None:
    path = kept()
    check_place(path)
    assert read_calibration(HERE, path) == MEASURED and [each.name for each in path.parent.iterdir()] == [path.name]


class TestFingerprint:
    def test_a_local_master_stands_for_the_cores_that_it_takes(self) -> None:
        assert fingerprint_here("4.3.0", "local[*]") == fingerprint_here("4.3.0", f"local[{hardware.usable_cpus()}]")
        assert fingerprint_here("4.3.0", "local[*, 4]") == fingerprint_here("4.3.0", "local[*]")
        assert fingerprint_here("4.3.0", "local[3,4]") == fingerprint_here("4.3.0", "local[3]")
        assert fingerprint_here("4.3.0", "local[3]") != fingerprint_here("4.3.0", "local[4]")
        assert fingerprint_here("4.3.0", "spark://m:7077").master == "spark://m:7077"

    def test_the_processor_is_named_where_linux_names_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        info = tmp_path / "cpuinfo"
        info.write_text("processor\t: 0\nmodel name\t: A Fast One @ 3 GHz\nmodel name\t: second\n", encoding="utf-8")
        monkeypatch.setattr(hardware, "CPU_INFO", info)
        assert hardware.cpu_model() == "A Fast One @ 3 GHz"
        monkeypatch.setattr(hardware, "CPU_INFO", tmp_path / "none")
        assert hardware.cpu_model() != ""


class TestHost:
    SPARK: dict[str, Any] = {"version": "4.3.0", "master": "local[2]", "cores": 2}  # noqa: RUF012

    def file(self) -> Path:
        return calibration_file(fingerprint_here("4.3.0", "local[2]"))

    def test_it_takes_the_calibration_of_its_machine_and_master(self) -> None:
        write_calibration(fingerprint_here("4.3.0", "local[2]"), MEASURED, self.file())
        machine = machine_constants.machine_of(self.SPARK)
        assert (machine.constants, machine.cores) == (MEASURED, 2)
        assert machine_constants.machine_of({**self.SPARK, "master": "local[4]"}).constants == DEFAULTS

    def test_without_one_it_takes_the_defaults_and_says_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert machine_constants.machine_of(self.SPARK).constants == Constants()
        assert machine_constants.machine_of({}).cores == 1
        assert capsys.readouterr().err == ""

    def test_one_that_can_not_be_used_costs_one_warning(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.file().parent.mkdir(parents=True)
        self.file().write_text("{", encoding="utf-8")
        assert machine_constants.machine_of(self.SPARK).constants == machine_constants.machine_of(self.SPARK).constants == DEFAULTS
        said = capsys.readouterr().err
        assert said.count("can't be read") == 1 and "defaults" in said
