"""`rtfilter calibrate --show`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from planner.inputs.machine import DEFAULTS
from rtfilter.calibrate import run
from rtfilter.calibrate.constants_file import write_calibration
from rtfilter.calibrate.run import place_of
from rtfilter.cli.command import main


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTFILTER_CACHE", str(tmp_path))


def test_without_a_calibration_the_defaults_are_shown_with_units() -> None:
    shown = CliRunner().invoke(main, ["calibrate", "--show"])
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("defaults: there is no ")
    assert [line.split() for line in lines if line.startswith("shuffle byte")] == [["shuffle", "byte", "6.000", "ns"]]
    assert len(lines) == 1 + len(DEFAULTS.to_dict())


def test_a_calibration_is_shown_for_the_master_that_it_is_for() -> None:
    fingerprint, path = place_of("local[2]")
    write_calibration(fingerprint, replace(DEFAULTS, job_ms=12.5), path)
    shown = json.loads(CliRunner().invoke(main, ["calibrate", "--show", "--json", "--master", "local[2]"]).stdout)
    assert (shown["origin"], shown["constants"]["job_ms"], shown["file"]) == ("measured", 12.5, str(path))
    other = json.loads(CliRunner().invoke(main, ["calibrate", "--show", "--json", "--master", "local[3]"]).stdout)
    assert (other["origin"], other["constants"]["job_ms"]) == ("default", DEFAULTS.job_ms)


def test_a_file_that_can_not_be_used_is_an_error_that_says_what_to_do() -> None:
    _, path = place_of("local[2]")
    path.parent.mkdir(parents=True)
    path.write_text("{", encoding="utf-8")
    shown = CliRunner().invoke(main, ["calibrate", "--show", "--master", "local[2]"])
    assert shown.exit_code == 2 and "Run `rtfilter calibrate` again" in shown.stderr


def test_a_cache_that_can_not_be_written_is_known_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RTFILTER_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(run, "start_session", lambda *_: pytest.fail("Spark was started"))
    done = CliRunner().invoke(main, ["calibrate"])
    assert done.exit_code == 2 and "RTFILTER_CACHE" in done.stderr


def test_what_spark_raises_is_an_error_of_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped:
        def stop(self) -> None:
            stopped.append(True)

    stopped: list[bool] = []

    def full(*_: object) -> None:
        raise OSError("No space left on device\n\tat somewhere")

    monkeypatch.setattr(run, "start_session", lambda *_: Stopped())
    monkeypatch.setattr(run, "make_tables", full)
    done = CliRunner().invoke(main, ["calibrate", "--master", "local[1]"])
    assert done.exit_code == 2 and stopped
    assert done.stderr.splitlines()[-1] == "rtfilter: a trial failed with master 'local[1]': No space left on device"


def test_a_location_that_can_not_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(run, "start_session", lambda *_: SimpleNamespace(stop=lambda: None))
    done = CliRunner().invoke(main, ["calibrate", "--location", str(tmp_path / "file" / "below")])
    assert done.exit_code == 2 and "--location" in done.stderr
