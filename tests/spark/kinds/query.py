"""A query of a case, and which of its properties the comparison needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Query:
    """`ordered`: its rows come in an order that Spark does not change from run to run. `conf`: entries that it needs."""

    sql: str
    ordered: bool = False
    conf: tuple[tuple[str, str], ...] = ()
    actions: tuple[str, ...] = ()
