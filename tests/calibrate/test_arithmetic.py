"""Constants out of the times of trials: from times that constants would cause, the same constants come back."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.inputs.machine import DEFAULTS, Constants
from rtfilter.calibrate.arithmetic import DROPPED_SHARE, MOST_FACTOR, Sizes, constants_from
from rtfilter.calibrate.trials import Tables, trials_on
from rtfilter.errors import CalibrationError

SIZES = Sizes(rows=8_000_000, cores=4, packs=32, split_packs=1_600, files=64, build_keys=200_000)
NOT_MEASURED = {"ship_byte_ns", "gate_ms"}


def times(constants: Constants, sizes: Sizes = SIZES) -> dict[str, float]:
    """What the trials take, in ms, on a machine of these constants on which starting a query takes 50 ms."""

    def rows(ns: float) -> float:
        return sizes.rows * ns / 1e6 / sizes.cores

    start = 50.0
    one = start + rows(constants.scan_row_ns + 8 * constants.scan_byte_ns)
    two, four = one + rows(8 * constants.scan_byte_ns), one + rows(24 * constants.scan_byte_ns)
    joined = two + rows(constants.join_probe_ns)
    both = joined + rows(8 * constants.scan_byte_ns + constants.join_probe_ns)
    written = start + rows(70.0)
    shuffled = written + rows(40 * constants.shuffle_byte_ns)
    saved = rows(2 * DROPPED_SHARE * constants.join_probe_ns)
    files = start + 11.0
    asked = constants.round_trip_ms
    read_alone = constants.scan_row_ns + 8 * constants.scan_byte_ns
    many = 60.0 + sizes.build_keys * (read_alone + constants.broadcast_row_ns + 16 * constants.broadcast_byte_ns) / 1e6
    wide = many + sizes.build_keys * 64 * (constants.scan_byte_ns + constants.broadcast_byte_ns) / 1e6
    return {
        "scan nothing": start,
        "scan one column": one,
        "scan two columns": two,
        "scan four columns": four,
        "scan many packs": one + (sizes.split_packs - sizes.packs) * constants.pack_open_ms / sizes.cores,
        "scan few files": files,
        "scan many files": files + (sizes.files - sizes.cores) * constants.footer_ms / sizes.cores,
        "join one table": joined,
        "join one table by rows": two + rows(constants.row_probe_ns),
        "join two tables": both,
        "join two tables, one far apart": both + 7.0,
        "broadcast one row": 60.0,
        "broadcast many rows": many,
        "broadcast wide rows": wide,
        "group": two + rows(constants.group_row_ns),
        "write nowhere": written,
        "shuffle": shuffled,
        "shuffle and sort": shuffled + rows(constants.sort_row_ns),
        "test against a range": both + rows(constants.range_test_ns) - saved,
        "test against a bitmap": both + rows(constants.bitmap_test_ns) - saved,
        "test against a set": both + 7.0 + rows(constants.set_test_ns) - saved,
        "test against a bloom filter": both + rows(constants.bloom_test_ns) - saved,
        "collect many keys": sizes.build_keys * constants.collect_key_ns / 1e6,
        "collect few keys in a job": constants.job_ms,
        "collect few keys on the driver": constants.driver_read_ms,
        "ask about few packs": asked,
        "ask about many packs": asked + (sizes.split_packs - sizes.packs) * constants.verdict_pack_ns / 1e6,
    }


@given(st.fixed_dictionaries({field.name: st.floats(0.5, 2.0) for field in fields(Constants)}))
def test_the_constants_that_cause_the_times_come_back(factors: dict[str, float]) -> None:
    machine = Constants(**{name: factor * getattr(DEFAULTS, name) for name, factor in factors.items()})
    found = constants_from(times(machine), SIZES)
    for name in factors.keys() - NOT_MEASURED:
        assert getattr(found, name) == pytest.approx(getattr(machine, name), rel=1e-6), name


def test_what_no_trial_measures_keeps_its_default() -> None:
    assert constants_from(times(replace(DEFAULTS, ship_byte_ns=99.0)), SIZES).ship_byte_ns == DEFAULTS.ship_byte_ns


def test_a_difference_that_noise_has_turned_round_is_no_negative_time() -> None:
    noisy = {**times(DEFAULTS), "shuffle and sort": 1.0, "test against a set": 0.0}
    found = constants_from(noisy, SIZES)
    assert (found.sort_row_ns, found.set_test_ns) == (DEFAULTS.sort_row_ns / MOST_FACTOR, DEFAULTS.set_test_ns / MOST_FACTOR)


def test_a_disturbed_trial_does_not_make_everything_look_worth_it() -> None:
    assert constants_from({**times(DEFAULTS), "shuffle": 1e9}, SIZES).shuffle_byte_ns == DEFAULTS.shuffle_byte_ns * MOST_FACTOR


def test_times_that_show_nothing_are_an_error_that_says_what_to_do() -> None:
    with pytest.raises(CalibrationError, match="run it again when it is idle") as caught:
        constants_from(dict.fromkeys(times(DEFAULTS), 10.0), SIZES)
    assert "sort_row_ns" in str(caught.value)


def test_the_trials_are_those_that_are_counted_with() -> None:
    assert set(trials_on(Tables(None))) == set(times(DEFAULTS))  # type: ignore[arg-type]
