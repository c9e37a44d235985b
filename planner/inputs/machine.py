"""The times of a machine that all estimates go by: measured ones, or defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Constants:
    """Times of a machine: `*_row_ns`, `*_byte_ns` and `*_key_ns` of one core, `*_ms` as they pass.

    The defaults were derived from the figures of docs/benchmarks.md and the design's trials on two cores (46 ns to scan and probe a
    row of two columns, 375 ns to shuffle, sort and merge one, 36 to 99 ms for a job that collects keys, 12 ms where the driver
    reads them itself, 2 ms to collect 100,000 of a broadcast, 45 to 55 ms from the end of a broadcast's job to the stage behind a
    gate, the fill included); `rtfilter calibrate` measures them anew, but for `gate_ms` and `ship_byte_ns`.
    """

    # Reading and decoding: a row, and a byte of its columns as they are in memory.
    scan_row_ns: float = 12.0
    scan_byte_ns: float = 1.5
    # A row group's own cost beside its rows; opening a file and reading its footer in a task.
    pack_open_ms: float = 0.05
    footer_ms: float = 1.0
    # One look-up in a join's hash table by one whole number, and by a row of keys: texts, dates, several columns; one row of a hash
    # aggregate, one of a sort.
    join_probe_ns: float = 15.0
    row_probe_ns: float = 60.0
    group_row_ns: float = 30.0
    sort_row_ns: float = 120.0
    # Writing and reading a byte of a row in Spark's own format through a shuffle.
    shuffle_byte_ns: float = 6.0
    # Collecting a row for a broadcast and making the hash table of it, and a byte of it: the other cores wait meanwhile.
    broadcast_row_ns: float = 400.0
    broadcast_byte_ns: float = 8.0
    # The test of one row against a filter of each kind, and against a set that is held as a bitmap.
    range_test_ns: float = 3.0
    bitmap_test_ns: float = 8.0
    set_test_ns: float = 8.0
    bloom_test_ns: float = 12.0
    # Reading one build row and keeping its key.
    collect_key_ns: float = 30.0
    # Collecting keys from a shuffle, without its rows: in a job, and where the driver reads a small one itself; one question to
    # the planner's host.
    job_ms: float = 40.0
    driver_read_ms: float = 12.0
    round_trip_ms: float = 2.5
    # What a wait takes however small both sides are: the end of one stage, the plan that follows and the start of the next, one
    # after the other instead of side by side.
    gate_ms: float = 40.0
    # Judging one pack; sending one byte to the executors.
    verdict_pack_ns: float = 200.0
    ship_byte_ns: float = 5.0

    def to_dict(self) -> dict[str, float]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


DEFAULTS = Constants()


@dataclass(frozen=True, slots=True)
class Machine:
    """`cores` share the work of executors; the times are those of one of them."""

    constants: Constants = DEFAULTS
    cores: int = 1

    def shared_ms(self, core_ns: float) -> float:
        """Wall time in ms of work that all cores share evenly."""
        return core_ns / 1e6 / max(self.cores, 1)
