"""The advisor: a workload and statistics in, advice out. Equal input gives equal output, whatever the order of the log."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rtfilter.advice.event_logs.fingerprints import add_event_logs
from rtfilter.advice.logs.lines import Reading, told
from rtfilter.advice.logs.read import LogReader
from rtfilter.advice.packs.askings import Asking, askings
from rtfilter.advice.packs.by_formulas import why_nothing_helps
from rtfilter.advice.packs.item import Item
from rtfilter.advice.packs.served import served_queries
from rtfilter.advice.sampled.table_packs import SAMPLE_PACKS
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.trials.trial import Trial
from rtfilter.advice.tried.back_test import back_test
from rtfilter.advice.tried.by_trials import trial_of
from rtfilter.advice.tried.items_of_tables import NOT_BUILT, items_of_tables
from rtfilter.advice.votes.best_of_tree import ORDER, parser_votes
from rtfilter.advice.votes.choose_columns import MIN_GAIN, Choice, WeightedVote, choose_columns
from rtfilter.advice.votes.freq import freq_votes
from rtfilter.advice.votes.rules import Asked, bloom_columns, can_be_aggregated_before, flags, is_numeric, range_columns
from rtfilter.advice.votes.scan_cost import Pricing, votes_of
from rtfilter.advice.workload.fingerprints import Calls, Fingerprint, TableUse, days_of, in_order, scanned
from rtfilter.advice.workload.halves import halves
from rtfilter.advice.workload.predicates import BY_VALUE, leaves
from rtfilter.errors import AdviceError

STRATEGIES = ("freq", "parser", "estimate")


@dataclass(frozen=True, slots=True)
class Settings:
    """`budget`: bytes, or a share of each table's bytes as "10%"; None for all. `exclude`: tables that get no advice.

    `sample_packs`: most row groups of a table that are tried.
    """

    strategy: str = "estimate"
    budget: str | None = "10%"
    min_calls: float = 1
    min_ms: float = 0
    top: int = 10
    threshold: float = 1
    order: int = ORDER
    min_gain: float = MIN_GAIN
    exclude: tuple[str, ...] = ()
    sample_packs: int = SAMPLE_PACKS

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise AdviceError(f"the strategy is {self.strategy!r}; it must be one of {', '.join(STRATEGIES)}.")
        budget_bytes(self.budget, 0)


@dataclass(frozen=True, slots=True)
class Advice:
    """What `rtfilter advise` prints. `votes` by table and column; `chosen`, `trace` and `unit` of costs for `estimate` only."""

    strategy: str
    items: list[dict[str, Any]]
    served: list[dict[str, Any]]
    unserved: list[dict[str, Any]]
    votes: dict[str, dict[str, float]]
    notes: list[dict[str, Any]]
    read: dict[str, Any]
    coverage: dict[str, dict[str, float]] = field(default_factory=dict)
    chosen: dict[str, dict[str, Any]] = field(default_factory=dict)
    trace: list[dict[str, Any]] = field(default_factory=list)
    unit: dict[str, str] = field(default_factory=dict)
    back_test: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        queries = {"served": self.served, "unserved": self.unserved}
        found = {"strategy": self.strategy, "items": self.items, **queries, "votes": self.votes}
        if self.strategy == "parser":
            found["coverage"] = self.coverage
        if self.strategy == "estimate":
            found |= {"chosen": self.chosen, "trace": self.trace, "unit": self.unit}
        if self.back_test is not None:
            found["back_test"] = self.back_test
        return {**found, "notes": self.notes, "read": self.read}


def budget_bytes(budget: str | None, table_bytes: int | None) -> float:
    """The bytes of a budget, which is a number or a percentage of the table's bytes.

    Raises:
        AdviceError: it is neither.
    """
    if budget is None:
        return math.inf
    text = budget.strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise AdviceError(f'the budget is {budget!r}; it must be bytes, such as 1000000, or a share of a table, such as "10%".')
    if not text.endswith("%"):
        return number
    return math.inf if table_bytes is None else table_bytes * number / 100


def advise_logs(
    logs: Sequence[str | Path],
    sql: Sequence[str | Path],
    tables: Mapping[str, TableStatistics],
    settings: Settings,
    event_logs: Sequence[str | Path] = (),
    accepts: Callable[[str], bool] | None = None,
    at_hand: Collection[str] = (),
) -> Advice:
    """Advice for the queries in JSON logs, SQL files and Spark's event logs on tables with statistics.

    `accepts`: Spark's own judgement of a statement, where there is a session. `at_hand`: tables whose files may be looked at.

    Raises:
        AdviceError: a file can't be read, a table to exclude is not there, or sqlglot is not installed and needed.
    """
    excluded = {name.lower() for name in settings.exclude}
    if unknown := sorted(excluded - {name.lower() for name in tables}):
        raise AdviceError(f"--exclude names {', '.join(unknown)}; there are {', '.join(sorted(tables)) or 'no tables'}.")
    known = {name: table for name, table in tables.items() if name.lower() not in excluded}
    reading = LogReader(known, accepts).read(logs, sql)
    add_event_logs(event_logs, known, reading)
    return advise(reading, known, settings, at_hand)


def advise(reading: Reading, known: Mapping[str, TableStatistics], settings: Settings, at_hand: Collection[str] = ()) -> Advice:
    """Advice for queries that were read. `at_hand`: tables whose files may be looked at."""
    counting = [each for each in in_order(reading.workload) if _counts(*each, settings)]
    judged = [(fingerprint, calls) for fingerprint, calls in counting if _is_judgeable(fingerprint, known)]
    choices: dict[str, Choice] = {}
    coverage: dict[str, dict[str, float]] = {}
    if settings.strategy == "freq":
        votes = _as_floats(freq_votes(dict(judged), dict(known), settings.threshold))
    elif settings.strategy == "parser":
        found = parser_votes(dict(judged), dict(known), settings.threshold, settings.order)
        votes, coverage = _as_floats(found.votes), _sorted(found.coverage)
    else:
        choices = {name: _choice(judged, table, settings) for name, table in sorted(known.items())}
        votes = {name: choice.weights for name, choice in choices.items() if choice.weights}
    asked = askings(judged, known)
    trials = _trials(asked, known, settings, at_hand)
    budgets = {name: budget_bytes(settings.budget, table.bytes) for name, table in known.items()}
    days = days_of(calls for _, calls in counting)
    by_packs = settings.strategy == "estimate"
    found_items = items_of_tables(asked, known, budgets, trials, None if by_packs else votes, days)
    items = found_items.items[: settings.top]
    split = halves(dict(judged)) if trials else None
    return Advice(
        strategy=settings.strategy,
        items=[item.to_dict(rank) for rank, item in enumerate(items, 1)],
        served=served_queries(counting, items),
        unserved=_unserved(counting, judged, known, items, found_items.reasons),
        votes=votes,
        notes=_notes(counting, known, choices),
        read={**_read(reading), **({} if days is None else {"days": days})},
        coverage=coverage,
        chosen={name: {"indexed": list(choice.indexed), "sorted": choice.sorted_by} for name, choice in choices.items()},
        trace=[
            {"table": name, "k": each.k, "columns": list(each.columns), "cost": each.cost, "accepted": each.accepted}
            for name, choice in choices.items()
            for each in choice.rounds
        ],
        back_test=None if split is None else back_test(split, known, trials, budgets).to_dict(),
        unit={name: "bytes" if known[name].has_bytes else "column scans" for name in choices},
    )


def _counts(fingerprint: Fingerprint, calls: Calls, settings: Settings) -> bool:
    excluded = {name.lower() for name in settings.exclude}
    only_excluded = not fingerprint.uses and all(name.split(".")[-1].lower() in excluded for name in fingerprint.unknown_tables)
    ms = calls.total_ms
    return calls.weight >= settings.min_calls and (ms is None or ms >= settings.min_ms) and not only_excluded


def _is_judgeable(fingerprint: Fingerprint, tables: Mapping[str, TableStatistics]) -> bool:
    """Whether the statistics know every column whose number of values counts. Else the log is older or newer than the table."""
    return bool(fingerprint.uses) and all(
        tables[use.table].column(leaf.column) is not None
        for use in fingerprint.uses
        for leaf in leaves(use.predicate)
        if leaf.operator in BY_VALUE
    )


def _as_floats(votes: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    return _sorted({table: {name: _plain(vote) for name, vote in found.items()} for table, found in votes.items()})


def _plain(number: Any) -> float:
    return int(number) if number == int(number) else float(number)


def _sorted(votes: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    return {table: dict(sorted(found.items(), key=lambda each: (-each[1], each[0]))) for table, found in sorted(votes.items())}


def _choice(judged: Sequence[tuple[Fingerprint, Calls]], table: TableStatistics, settings: Settings) -> Choice:
    pricing = Pricing(table)
    votes = [
        WeightedVote(vote, weight)
        for fingerprint, calls in judged
        if (weight := float(scanned(calls)))
        for use in fingerprint.uses
        if use.table == table.name
        for vote in votes_of(use.predicate, pricing)
    ]
    return choose_columns(votes, table, settings.min_gain)


def _trials(
    asked: Mapping[str, Sequence[Asking]], tables: Mapping[str, TableStatistics], settings: Settings, at_hand: Collection[str]
) -> dict[str, Trial]:
    """Tables that may be looked at, with sketches of a sample of their packs."""
    if settings.strategy != "estimate":
        return {}
    found = {name: trial_of(asked[name], tables[name], settings.sample_packs) for name in sorted(asked) if name in at_hand}
    return {name: trial for name, trial in found.items() if trial is not None}


def _unserved(
    counting: Sequence[tuple[Fingerprint, Calls]],
    judged: Sequence[tuple[Fingerprint, Calls]],
    tables: Mapping[str, TableStatistics],
    items: Sequence[Item],
    by_trials: Mapping[tuple[str, str], str],
) -> list[dict[str, Any]]:
    """The queries that no item helps, each with its reasons; the most frequent first."""
    served = {query for item in items if item.kind not in NOT_BUILT for query in item.queries}
    clear = {fingerprint for fingerprint, _ in judged}
    found = []
    for fingerprint, calls in sorted(counting, key=lambda each: (-each[1].weight, each[0].id)):
        if fingerprint.id not in served:
            reasons = [
                f"{use.table}: {by_trials.get((use.table, fingerprint.id)) or _why(use, tables[use.table], fingerprint in clear)}"
                for use in fingerprint.uses
            ]
            reasons += [f"{name}: no statistics of it" for name in fingerprint.unknown_tables]
            found.append(
                {
                    "query": fingerprint.id,
                    "shape": str(fingerprint),
                    "calls": _plain(calls.weight),
                    "ms": calls.total_ms,
                    "reason": "; ".join(dict.fromkeys(reasons)),
                }
            )
    return found


def _why(use: TableUse, table: TableStatistics, is_judged: bool) -> str:
    if use.strangers and not is_judged:
        return f"it has no column {', '.join(use.strangers)}: are the statistics of this table?"
    return why_nothing_helps(use, table)


def _notes(
    counting: Sequence[tuple[Fingerprint, Calls]], tables: Mapping[str, TableStatistics], choices: Mapping[str, Choice]
) -> list[dict[str, Any]]:
    notes: list[dict[str, Any]] = []
    for name, table in sorted(tables.items()):
        uses = [(use, calls) for fingerprint, calls in counting for use in fingerprint.uses if use.table == name]
        asked = [Asked(use.predicate, float(calls.weight)) for use, calls in uses]
        if columns := bloom_columns(asked, table):
            text = f"more than half of the queries on {name} ask for values of {', '.join(columns)}"
            notes.append({"rule": "bloom", "table": name, "columns": columns, "text": text})
        if columns := range_columns(asked, table):
            text = f"more than two fifths of the queries on {name} ask for ranges of {', '.join(columns)}"
            notes.append({"rule": "range", "table": name, "columns": columns, "text": text})
        if name in choices and choices[name].is_greedy:
            text = f"{name} has more than 20 columns in conditions: sets were grown column by column, not all were tried"
            notes.append({"rule": "greedy", "table": name, "columns": [], "text": text})
    return notes + _notes_on_queries(counting, tables)


def _notes_on_queries(counting: Sequence[tuple[Fingerprint, Calls]], tables: Mapping[str, TableStatistics]) -> list[dict[str, Any]]:
    """Flags and sums, each text once with the queries that it is about."""
    found: dict[tuple[str, str], list[tuple[Fingerprint, Calls]]] = {}
    for fingerprint, calls in counting:
        for text in dict.fromkeys(flags(fingerprint, tables)):
            found.setdefault(("flag", text), []).append((fingerprint, calls))
        if len(fingerprint.uses) == 1 and can_be_aggregated_before(fingerprint, _metrics(fingerprint, tables)):
            (use,) = fingerprint.uses
            keys = sorted({*use.group_keys, *(name for leaf in leaves(use.predicate) for name in leaf.columns)})
            text = f"selects sums only: an aggregate of {use.table} by {', '.join(keys) or 'nothing'} could answer it"
            found.setdefault(("pre-aggregation", text), []).append((fingerprint, calls))
    return [
        {
            "rule": rule,
            "text": text,
            "queries": [fingerprint.id for fingerprint, _ in about],
            "calls": _plain(sum((calls.weight for _, calls in about), 0)),
        }
        for (rule, text), about in sorted(found.items())
    ]


def _metrics(fingerprint: Fingerprint, tables: Mapping[str, TableStatistics]) -> frozenset[str]:
    """Numeric columns that the query neither groups by nor has conditions on."""
    (use,) = fingerprint.uses
    keys = {*use.group_keys, *(name for leaf in leaves(use.predicate) for name in leaf.columns)}
    return frozenset(column.name for column in tables[use.table].columns.values() if is_numeric(column) and column.name not in keys)


def _read(reading: Reading) -> dict[str, Any]:
    return {
        "queries": reading.queries,
        "fingerprints": len(reading.workload),
        "without_tables": reading.empty,
        "skipped": told(reading.skipped),
        "notes": reading.notes,
    }
