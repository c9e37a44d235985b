"""How often a reader goes from file to file to see how the filters of one query are placed.

One run over the snapshot of TPC-H Q5 is traced (`sys.setprofile`). Each function counts once, where it is first called, for it is
read once. A comprehension or a lambda belongs to its function. `planner/plan`, `planner/inputs` and the two files of words are what
the question is about, not steps of it. A stop is a change of file, and a return a stop in a file that was seen before.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from planner.inputs.settings import PlanSettings
from planner.plan.snapshot import parse_snapshot
from planner.questions import place

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOT = ROOT / "tests/planner/snapshots/tpch_q5.json"
NO_STEPS = ("planner/plan/", "planner/inputs/", "planner/reasons.py", "planner/counted.py")


@dataclass(frozen=True, slots=True)
class Walk:
    """The files in the order in which they are visited, a file more than once where it is visited again."""

    stops: tuple[str, ...]

    @property
    def files(self) -> int:
        return len(set(self.stops))

    @property
    def returns(self) -> int:
        return len(self.stops) - self.files


def placing_walk(snapshot: Path = SNAPSHOT) -> Walk:
    """The walk for placing the filters of one query."""
    plan = parse_snapshot(json.loads(snapshot.read_text(encoding="utf-8"))["nodes"])
    settings = PlanSettings("d1", recall=lambda traits: None)
    called: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT / "planner"):
            called.setdefault((path.relative_to(ROOT).as_posix(), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        place(plan, settings)
    finally:
        sys.setprofile(before)
    steps = (file for file, name in called if not name.endswith(">") and not file.startswith(NO_STEPS))
    return Walk(tuple(_changes_of_file(steps)))


def _changes_of_file(files: Iterator[str]) -> Iterator[str]:
    last = None
    for file in files:
        if file != last:
            yield file
        last = file


if __name__ == "__main__":
    walk = placing_walk()
    print(*walk.stops, sep="\n")
    print(f"{walk.files} files, {len(walk.stops)} stops, {walk.returns} returns")
