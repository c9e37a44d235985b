"""What the planner decides on the plan of a pair; the pairs are in the folder of this name, one file a subject.

    # A preserved side keeps the rows that find no partner: no filter on it.
    with cores=4
    BroadcastHashJoin LeftOuter fact.k = dim.k
      Scan fact[k]
      BroadcastExchange
        Scan dim[k]
    =>
    fact.k <- dim.k  skipped PRESERVED_SIDE

A blank line ends a pair. The plan's form is in plan_text.py, that of a fill in fill_text.py, the answer's in answer_text.py.
Before the plan may stand:

- `with cost=always cores=2 kinds=range gates=off …`: options, cores (2 where nothing is said) and times of the machine
- `past fact.k losses=2 kept=0.1 …`: what the filter of a column did in earlier queries
- `works d1.0=0.1`: the share of rows that a filter at work lets through
- `index fact: a, b`, `index fact: INDEX_STALE`: columns that an index of the table covers, or why it can't be used
- `show detail gain …`: what the answer tells beside the reasons

Between plans: `re-plan` (the same query, some stages later) or `next query`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.golden_pairs import Pair
from tests.planner import plans
from tests.planner.golden.answer_text import answers_lines
from tests.planner.golden.ask import Machine, Question, answers
from tests.planner.golden.fill_text import decision_lines, is_fill
from tests.planner.golden.plan_text import parse_plan
from tests.planner.golden.words import fields_of, number_of, split_outside

FIXTURES = Path(__file__).parent / "pairs"
RE_PLAN, NEXT_QUERY = "re-plan", "next query"
_DIRECTIVES = ("with", "past", "works", "index", "show")
_SWITCHES = {
    "gates": "gate_enabled",
    "packs": "packs_enabled",
    "adaptive": "adaptive",
    "field_ids": "field_id_read",
    "goes_on": "goes_on",
}


def lines_after(pair: Pair) -> list[str]:
    """What the planner decides on the plan of a pair."""
    directives = [line for line in pair.before if line.split()[0] in _DIRECTIVES]
    lines = [line for line in pair.before if line not in directives]
    said: dict[str, list[str]] = defaultdict(list)
    for line in directives:
        word, _, rest = line.partition(" ")
        said[word].append(rest)
    settings = _settings(" ".join(said["with"]))
    show = " ".join(said["show"]).split()
    if is_fill(lines):
        return decision_lines(lines, settings, show)
    separators = [line for line in lines if line in (RE_PLAN, NEXT_QUERY)]
    question = Question(
        plans=[plans.nodes_of(parse_plan(plan)) for plan in _plans(lines)],
        next_queries={number + 1 for number, separator in enumerate(separators) if separator == NEXT_QUERY},
        settings=settings,
        past=dict(map(_past, said["past"])),
        shares={id: float(share) for line in said["works"] for id, share in fields_of(line).items()},
        indexes=_indexes(said["index"]),
    )
    return answers_lines(answers(question), separators, show)


def _plans(lines: Sequence[str]) -> Iterator[list[str]]:
    plan: list[str] = []
    for line in lines:
        if line in (RE_PLAN, NEXT_QUERY):
            yield plan
            plan = []
        else:
            plan.append(line)
    yield plan


def _settings(text: str) -> Mapping[str, Any]:
    """Fields of PlanSettings. What is a time of the machine ends in `_ms` or `_ns`."""
    found: dict[str, Any] = {}
    machine = Machine(cores=2)
    for name, value in fields_of(text).items():
        if name == "cores":
            machine = replace(machine, cores=int(value))
        elif name.endswith(("_ms", "_ns")):
            machine = replace(machine, constants=replace(machine.constants, **{name: float(value)}))
        elif name in _SWITCHES:
            found[_SWITCHES[name]] = value in ("on", "")
        elif name == "kinds":
            found[name] = tuple(value.split(","))
        else:
            found[name] = value if name == "cost" else round(number_of(value))
    return {**found, "machine": machine}


def _past(text: str) -> tuple[str, dict[str, Any]]:
    name, _, rest = text.rpartition(": ")
    known = {field: number_of(value) for field, value in fields_of(rest).items()}
    return name, {field: round(value) if field in ("losses", "build_rows") else value for field, value in known.items()}


def _indexes(lines: Sequence[str]) -> dict[str, list[tuple[str, str | list[str]]]]:
    found: dict[str, list[tuple[str, str | list[str]]]] = defaultdict(list)
    for number, line in enumerate(lines):
        table, _, columns = line.partition(": ")
        names = split_outside(columns, ",")
        found[table].append((f"i{number + 1}", names[0] if names[0].isupper() else names))
    return found
