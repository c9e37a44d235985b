"""`rtfilter.advise` and `rtfilter.quantiles`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtfilter.advice.advise import Settings, advise_logs
from rtfilter.advice.logs.quantiles import quantiles as quantiles_of
from rtfilter.advice.statistics.collect import collect
from rtfilter.advice.statistics.tables import TableStatistics, parse_statistics, read_statistics
from rtfilter.advisor.advised import AdvisedTables
from rtfilter.errors import AdviceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Files = str | Path | Sequence[str | Path] | None


def advise(
    spark: SparkSession | None = None,
    tables: Mapping[str, str | Path] | Sequence[str] | None = None,
    log: Files = None,
    *,
    event_log: Files = None,
    sql: Files = None,
    stats: Files = None,
    strategy: str = "estimate",
    min_calls: float = 1,
    min_ms: float = 0,
    budget: str | int | None = "10%",
    exclude: Sequence[str] = (),
    top: int = 10,
    selectivity_threshold: float = 1,
    order: int = 2,
    min_gain: float = 0.05,
) -> AdvisedTables:
    """Which index or order would have paid for the queries of a log. Runs no query and builds nothing.

    advice = rtfilter.advise(spark, {"sales": "data/sales"}, log="queries.jsonl")
    print(advice)
    advice.apply(only=[1])

    Args:
        spark: Finds tables of the catalog, and its parser says which statements of a log are no SQL of Spark. May be None.
        tables: Paths by name as queries use it, or names of tables of the catalog.
        log, event_log, sql: A path or several: the query log or lines of JSON, Spark's event logs, files of statements.
        stats: Files of `rtfilter stats`, for tables that are not to be looked at now.
        budget: Most bytes of indexes for each table, or a share of its bytes; None for no bound.
        min_calls, min_ms: Kinds of queries that came less often, or took less time in all, are left out.

    The others are those of `rtfilter advise`.

    Raises:
        AdviceError: nothing to read, a file or a table can't be read, or an option is wrong.
        IndexDefinitionError: there is no such table.
    """
    settings = Settings(
        strategy=strategy,
        budget=None if budget is None else str(budget),
        min_calls=min_calls,
        min_ms=min_ms,
        top=top,
        threshold=selectivity_threshold,
        order=order,
        min_gain=min_gain,
        exclude=tuple(exclude),
    )
    return _advised(spark, tables or {}, _files(log), _files(event_log), _files(sql), _files(stats), settings)


def quantiles(log: Files) -> dict[str, Any]:
    """How many rows the queries of a log looked at and how long they took, at 10 … 90 and 95 %, and how the one explains the other.

    Returns:
        `rows` and `ms` by per cent, `fit` (`alpha` in ms a row, and `r2`), and `maximum_optimisation_ms` by per cent, or
        "unable to predict" where the fit explains 0.7 of the times or less.

    Raises:
        AdviceError: a log can't be read.
    """
    return quantiles_of(_files(log))


def _advised(
    spark: SparkSession | None,
    tables: Mapping[str, str | Path] | Sequence[str],
    logs: Sequence[str | Path],
    event_logs: Sequence[str | Path],
    statements: Sequence[str | Path],
    stats: Sequence[str | Path],
    settings: Settings,
) -> AdvisedTables:
    if not logs and not event_logs and not statements:
        raise AdviceError("there are no queries to advise on: give log=, event_log= or sql=, a path or a list of paths.")
    paths = _paths(spark, tables)
    known = known_tables(paths, stats)
    if not known:
        raise AdviceError("there are no tables to advise on: give tables= or stats=.")
    found = advise_logs(logs, statements, known, settings, event_logs, accepts=_parser_of(spark), at_hand=paths)
    return AdvisedTables(found, {name: table.path for name, table in known.items() if table.path} | paths, spark)


def known_tables(paths: Mapping[str, str], stats: Sequence[str | Path]) -> dict[str, TableStatistics]:
    """Statistics of tables, those of `paths` made now. Raises AdviceError, where a table is described twice too."""
    described = [(read_statistics(file), str(file)) for file in dict.fromkeys(stats)]
    described += [(parse_statistics({"tables": {name: collect(name, path)}}, path), path) for name, path in paths.items()]
    found: dict[str, TableStatistics] = {}
    for each, where in described:
        for name, table in each.items():
            if name.lower() in {known.lower() for known in found}:
                raise AdviceError(f"table {name!r} is described twice, the second time in {where}: leave one out.")
            found[name] = table
    return found


def _files(given: Files) -> list[str | Path]:
    if given is None:
        return []
    return [given] if isinstance(given, str | os.PathLike) else list(given)


def _paths(spark: SparkSession | None, tables: Mapping[str, str | Path] | Sequence[str]) -> dict[str, str]:
    """Where the tables lie. A table that is named only is one of the catalog."""
    if isinstance(tables, Mapping):
        named = dict(tables)
    else:
        named = {name: name for name in ([tables] if isinstance(tables, str) else tables)}
    if not named:
        return {}
    # Loads pyspark.
    from rtfilter.index.tables import root_of

    return {name: root_of(spark, os.fspath(table)) for name, table in named.items()}


def _parser_of(spark: SparkSession | None) -> Any:
    if spark is None:
        return None
    from rtfilter.bridge.sql_parser import accepts_of

    return accepts_of(spark)
