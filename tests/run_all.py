"""All tests, as `make test` runs them: several pytest processes, and one closing line over all of them.

A Spark session settles its jars and its extensions once per process, and some tests kill what runs beside it. So everything
without a JVM is one process, the files directly in tests/spark another, and every folder of tests/spark one more. Tests that show
what a dependency does run again with the oldest and the newest versions that pyproject.toml allows (with_dependencies.py). Two run
at a time, since a small query mostly waits for one thread or another, and each prints when it ends. All of them run even when an
early one fails; the status is 0 only when each of them passed.

    python tests/run_all.py                     everything
    python tests/run_all.py -k fill -x          everything, with these options for each process
    python tests/run_all.py tests/report -k x   exactly this, in one process
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
SPARK_TESTS = ROOT / "tests" / "spark"
GROUP_TIMEOUT_S = 1800
GROUPS_AT_ONCE = min(2, os.cpu_count() or 1)
# Those that take longest begin first, so that none of them is left over for the end.
LONGEST = (
    "spark/mutations",
    "spark",
    "without Spark",
    "oldest dependencies",
    "spark/differential",
    "spark/filesystems",
    "spark/shuffled",
)
# The better compiler hardly gets its time back in queries that run once; the code cache of 48 MB that comes with this is too small.
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
NO_TESTS_COLLECTED = 5
# So many tests are printed with their times.
SLOWEST = 25
PYTEST = ("-m", "pytest")
BY_DEPENDENCIES = {
    # The planner and reports import none of them (tests/repo/test_layers.py).
    "oldest": ("tests/store", "tests/index", "tests/host"),
    # What CI installs anew is the newest already, and all else runs with it.
    "newest": ("tests/store",),
}


@dataclass(frozen=True)
class Group:
    """One pytest process: its name, the arguments that select its tests, and what has Python run pytest."""

    name: str
    selection: tuple[str, ...]
    runner: tuple[str, ...] = PYTEST


@dataclass(frozen=True)
class Outcome:
    """What one pytest process left: its exit status, its counts by pytest's own words, how long it took and each of its tests."""

    group: Group
    status: int
    counts: Counter[str]
    seconds: float = 0.0
    tests: tuple[tuple[float, str], ...] = ()


def has_tests(folder: Path, *, below: bool) -> bool:
    return any(folder.rglob("test_*.py") if below else folder.glob("test_*.py"))


def groups(spark_tests: Path) -> list[Group]:
    """The processes of a full run; a folder without test files is none."""
    found = [Group("without Spark", ("tests", "--ignore=tests/spark"))]
    for which, selection in BY_DEPENDENCIES.items():
        found.append(Group(f"{which} dependencies", selection, ("tests/with_dependencies.py", which)))
    folders = sorted(folder for folder in spark_tests.iterdir() if folder.is_dir()) if spark_tests.is_dir() else []
    if has_tests(spark_tests, below=False):
        ignored = tuple(f"--ignore=tests/spark/{folder.name}" for folder in folders)
        found.append(Group("spark", ("tests/spark", *ignored)))
    found += [Group(f"spark/{folder.name}", (f"tests/spark/{folder.name}",)) for folder in folders if has_tests(folder, below=True)]
    return found


def counts_of(junit: Path) -> Counter[str]:
    """Passed, failed, skipped and errors out of a JUnit file; one error when a process died before it wrote one."""
    try:
        suites = list(ElementTree.parse(junit).getroot().iter("testsuite"))
    except (OSError, ElementTree.ParseError):
        return Counter(error=1)
    counts: Counter[str] = Counter()
    for suite in suites:
        failed, error, skipped = (int(suite.get(name, "0")) for name in ("failures", "errors", "skipped"))
        counts += Counter(failed=failed, error=error, skipped=skipped)
        counts["passed"] += max(0, int(suite.get("tests", "0")) - failed - error - skipped)
    return counts


def times_of(junit: Path) -> tuple[tuple[float, str], ...]:
    """The seconds and the name of each test in a JUnit file; none where there is no such file."""
    try:
        cases = list(ElementTree.parse(junit).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return ()
    return tuple((float(each.get("time", "0")), f"{each.get('classname')}::{each.get('name')}") for each in cases)


def run(group: Group, options: Sequence[str], junit: Path, *, live: bool) -> Outcome:
    """Runs one process to its end, or to the time limit, past which it counts as an error. Prints as it goes, or all at its end."""
    command = [sys.executable, *group.runner, *group.selection, *options, f"--junitxml={junit}"]
    environment = {"SPARK_SUBMIT_OPTS": JVM_OPTIONS, **os.environ}
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        output = None if live else printed
        try:
            status = subprocess.run(
                command, cwd=ROOT, env=environment, timeout=GROUP_TIMEOUT_S, check=False, stdout=output, stderr=output
            ).returncode
            remark = ""
        except subprocess.TimeoutExpired:
            status, remark = 1, f"{group.name}: killed after {GROUP_TIMEOUT_S} s\n"
        printed.seek(0)
        print(f"\n##### {group.name}\n{printed.read()}{remark}", end="", flush=True)
    counts = Counter(error=1) if remark else counts_of(junit)
    return Outcome(group, status, counts, time.monotonic() - started, times_of(junit))


def overall_status(outcomes: Sequence[Outcome], *, narrowed: bool) -> int:
    """0 when every process passed. With options such as -k a process may have nothing to do, but not all of them."""
    if narrowed and any(outcome.status != NO_TESTS_COLLECTED for outcome in outcomes):
        outcomes = [outcome for outcome in outcomes if outcome.status != NO_TESTS_COLLECTED]
    return max((abs(outcome.status) for outcome in outcomes), default=NO_TESTS_COLLECTED)


def slowest_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """What took longest: all processes, and the slowest tests of all of them, each with its seconds."""
    processes = sorted(((outcome.seconds, outcome.group.name) for outcome in outcomes), reverse=True)
    tests = sorted((test for outcome in outcomes for test in outcome.tests), reverse=True)[:SLOWEST]
    lines = [
        ("processes, the slowest first", processes),
        (f"the {len(tests)} slowest tests", tests),
    ]
    return [line for title, found in lines for line in (f"{title}:", *(f"{seconds:8.1f} s  {name}" for seconds, name in found))]


def closing_line(outcomes: Sequence[Outcome], seconds: float) -> str:
    """The counts of all processes, in the form of pytest's own last line."""
    total = sum((outcome.counts for outcome in outcomes), Counter[str]())
    parts = [f"{total[word]} {word}" for word in ("failed", "passed", "skipped", "error") if total[word]] or ["no tests ran"]
    minutes, rest = divmod(int(seconds), 60)
    clock = f" ({minutes // 60}:{minutes % 60:02d}:{rest:02d})" if minutes else ""
    return f" {', '.join(parts)} in {seconds:.2f}s{clock} ".center(100, "=")


def main(arguments: Sequence[str]) -> int:
    chosen = any(not argument.startswith("-") and (ROOT / argument.split("::")[0]).exists() for argument in arguments)
    planned = [Group("chosen tests", ())] if chosen else groups(SPARK_TESTS)
    planned.sort(key=lambda group: LONGEST.index(group.name) if group.name in LONGEST else len(LONGEST))
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as reports, ThreadPoolExecutor(GROUPS_AT_ONCE) as pool:
        files = [Path(reports) / f"{number}.xml" for number in range(len(planned))]
        outcomes = list(pool.map(lambda group, file: run(group, arguments, file, live=len(planned) == 1), planned, files))
    print()
    for outcome in outcomes:
        if outcome.status not in (0, NO_TESTS_COLLECTED):
            print(f"{outcome.group.name}: pytest ended with status {outcome.status}")
    print("\n".join(slowest_lines(outcomes)))
    status = overall_status(outcomes, narrowed=bool(arguments))
    print(closing_line(outcomes, time.monotonic() - started), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
