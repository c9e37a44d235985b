"""The runner behind `make test`: every process can fail the run, and the last line counts all of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.run_all import (
    BY_DEPENDENCIES,
    LONGEST,
    NO_TESTS_COLLECTED,
    ROOT,
    SPARK_TESTS,
    Group,
    Outcome,
    closing_line,
    counts_of,
    groups,
    overall_status,
    slowest_lines,
    times_of,
)

WITHOUT_SPARK = ["without Spark", "oldest dependencies", "newest dependencies"]


def outcome(status: int, **counts: int) -> Outcome:
    return Outcome(Group("a group", ()), status, Counter(counts))


def test_each_folder_of_spark_tests_is_a_process_of_its_own(tmp_path: Path) -> None:
    for name in ("test_one.py", "faults/test_two.py", "rows/deep/test_three.py", "data/not_a_test.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [group.name for group in groups(tmp_path)] == [*WITHOUT_SPARK, "spark", "spark/faults", "spark/rows"]
    assert "--ignore=tests/spark/faults" in groups(tmp_path)[len(WITHOUT_SPARK)].selection


def test_the_tests_that_run_with_other_dependencies_exist() -> None:
    for selection in BY_DEPENDENCIES.values():
        assert selection and all((ROOT / each).is_dir() for each in selection)


def test_the_processes_that_begin_first_exist() -> None:
    assert set(LONGEST) <= {group.name for group in groups(SPARK_TESTS)}


def test_any_failed_process_fails_the_run() -> None:
    assert overall_status([outcome(0), outcome(0)], narrowed=False) == 0
    assert overall_status([outcome(0), outcome(1), outcome(0)], narrowed=False) == 1
    assert overall_status([outcome(0), outcome(-9)], narrowed=False) != 0


def test_a_process_without_tests_fails_a_full_run_and_may_be_part_of_a_narrowed_one() -> None:
    empty = outcome(NO_TESTS_COLLECTED)
    assert overall_status([outcome(0), empty], narrowed=False) != 0
    assert overall_status([outcome(0), empty], narrowed=True) == 0
    assert overall_status([empty, empty], narrowed=True) != 0
    assert overall_status([outcome(1), empty], narrowed=True) == 1


def test_the_closing_line_counts_all_processes() -> None:
    line = closing_line([outcome(0, passed=7, skipped=1), outcome(1, passed=2, failed=1)], 61.5)
    assert line.strip("=") == " 1 failed, 9 passed, 1 skipped in 61.50s (0:01:01) "


def test_counts_come_from_the_junit_file(tmp_path: Path) -> None:
    junit = tmp_path / "r.xml"
    junit.write_text('<testsuites><testsuite errors="1" failures="2" skipped="3" tests="10"/></testsuites>', encoding="utf-8")
    assert counts_of(junit) == Counter(passed=4, skipped=3, failed=2, error=1)


def test_what_took_longest_is_told_over_all_processes(tmp_path: Path) -> None:
    junit = tmp_path / "r.xml"
    junit.write_text('<testsuite><testcase classname="a.b" name="one" time="2.5"/></testsuite>', encoding="utf-8")
    assert times_of(junit) == ((2.5, "a.b::one"),) and times_of(tmp_path / "none.xml") == ()
    quick = Outcome(Group("quick", ()), 0, Counter(), 3.0, ((0.5, "two"),))
    slow = Outcome(Group("slow", ()), 0, Counter(), 9.0, times_of(junit))
    assert [line.split() for line in slowest_lines([quick, slow])] == [
        ["processes,", "the", "slowest", "first:"],
        ["9.0", "s", "slow"],
        ["3.0", "s", "quick"],
        ["the", "2", "slowest", "tests:"],
        ["2.5", "s", "a.b::one"],
        ["0.5", "s", "two"],
    ]


def test_a_process_that_died_without_a_junit_file_is_an_error(tmp_path: Path) -> None:
    assert counts_of(tmp_path / "none.xml") == Counter(error=1)
