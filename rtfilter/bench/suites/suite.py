"""What a benchmark suite is, and how an installed one is found by its name."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from rtfilter.bench.suites.data_cache import DataCache
from rtfilter.errors import BenchError, did_you_mean

ENTRY_POINT_GROUP = "rtfilter.suites"


@dataclass(frozen=True)
class Query:
    """One query in both dialects. `family` groups queries in charts; `selectivity` is the share of build rows that survive,
    `build_keys` the number of distinct keys of the build side, each where the suite sets it. `answer`: the published result, a
    header line and `|` between values.
    """

    id: str
    spark_sql: str
    duckdb_sql: str
    tables: tuple[str, ...]
    family: str = ""
    selectivity: float | None = None
    build_keys: int | None = None
    answer: str | None = None


@dataclass(frozen=True)
class DataRequest:
    """What a suite is asked to make or find. `say` takes one short line whenever a new step begins.

    `pack_rows` and `files` (of each large table) are None where the suite's own choice holds. `query_ids`: the queries that will
    run, None for all of them; the tables of others need not be made.
    """

    sf: float
    zipf: float | None
    layout: str
    cache: DataCache
    say: Callable[[str], None]
    pack_rows: int | None = None
    files: int | None = None
    query_ids: tuple[str, ...] | None = None

    def wanted(self, queries: Iterable[Query]) -> tuple[Query, ...]:
        """Those of the queries that are asked for."""
        return tuple(query for query in queries if self.query_ids is None or query.id in self.query_ids)


@dataclass(frozen=True)
class Distribution:
    """How skewed a generated column came out: at some ranks of its values, most frequent first, the share of the rows that has
    the value, and the share that the law gives it."""

    column: str
    values: int
    points: tuple[tuple[int, float, float], ...]

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Distribution:
        """From the form that a dataset's manifest keeps."""
        points = tuple((int(rank), float(drawn), float(law)) for rank, drawn, law in entry["points"])
        return cls(str(entry["column"]), int(entry["values"]), points)


@dataclass(frozen=True)
class SuiteData:
    """A suite's tables (name to Parquet file or directory) and its queries, whose literals may depend on the data.

    `distributions` for the report, where the data is skewed.
    """

    tables: Mapping[str, Path]
    queries: tuple[Query, ...]
    distributions: tuple[Distribution, ...] = ()


@dataclass(frozen=True)
class Suite:
    """A named set of queries over generated data. `layouts` begins with the default one; ids are known before the data is.

    `default_zipf` is None where the data is not skewed, `scales` False where it is what it is. `spark_conf` is what the queries
    need in every Spark mode; `broadcast_threshold_bytes` holds where the user gives none.
    """

    name: str
    doc: str
    layouts: tuple[str, ...]
    query_ids: tuple[str, ...]
    prepare: Callable[[DataRequest], SuiteData]
    default_zipf: float | None = None
    scales: bool = True
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    broadcast_threshold_bytes: int | None = None


def installed_suites() -> dict[str, EntryPoint]:
    """Every suite that an installed distribution registers, by name; none of them is loaded."""
    return {point.name: point for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)}


def load_suite(name: str) -> Suite:
    """The suite of that name.

    Raises:
        BenchError: no installed distribution has it, or it cannot be imported.
    """
    points = installed_suites()
    if name not in points:
        raise BenchError(_no_such_suite(name, tuple(points)))
    try:
        suite = points[name].load()
    except (ImportError, AttributeError) as error:
        raise BenchError(
            f"suite {name!r} cannot be loaded: {error}. Install what benchmarks need: pip install 'rtfilter[bench]'."
        ) from error
    if not isinstance(suite, Suite):
        raise BenchError(f"entry point {points[name].value!r} of suite {name!r} is not a Suite; its distribution must be mended.")
    return suite


def _no_such_suite(name: str, known: Sequence[str]) -> str:
    if not known:
        return (
            f"there is no suite {name!r}: no distribution registers any under {ENTRY_POINT_GROUP!r}. "
            "Install the project (pip install -e '.[bench]') so that its entry points are known."
        )
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"there is no suite {name!r}. Suites that exist: {', '.join(known)}.{hint}"


def choose_layout(suite: Suite, layout: str | None) -> str:
    """The asked layout, or the suite's default.

    Raises:
        BenchError: the suite has no such layout.
    """
    if layout is None:
        return suite.layouts[0]
    if layout not in suite.layouts:
        raise BenchError(f"suite {suite.name!r} has no layout {layout!r}. {did_you_mean(layout, suite.layouts)}")
    return layout


def select_query_ids(query_ids: Sequence[str], patterns: Sequence[str]) -> tuple[str, ...]:
    """The ids that equal a pattern or match it as a glob (`attr*`), in the suite's order; all of them without patterns.

    Raises:
        BenchError: a pattern that matches nothing.
    """
    if not patterns:
        return tuple(query_ids)
    for pattern in patterns:
        if not any(_matches(query_id, pattern) for query_id in query_ids):
            raise BenchError(f"no query matches {pattern!r}. {did_you_mean(pattern, query_ids)}")
    return tuple(query_id for query_id in query_ids if any(_matches(query_id, pattern) for pattern in patterns))


def _matches(query_id: str, pattern: str) -> bool:
    return query_id == pattern or fnmatch.fnmatchcase(query_id, pattern)
