"""The same queries in our own query log and in Spark's event log: one fingerprint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rtfilter.advice.event_logs.fingerprints import fingerprint_of
from rtfilter.advice.event_logs.queries import QueryFacts
from rtfilter.advice.event_logs.read import read_event_logs
from rtfilter.advice.logs.lines import log_lines
from rtfilter.advice.logs.own_lines import OwnLines, OwnQuery
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.workload.fingerprints import Fingerprint
from rtfilter.advice.workload.literals import Literals, number
from tests.advice.event_logs.expected import EXPECTED, PARTIAL, TABLES
from tests.spark.applications import application, give_time
from tests.spark.event_logs.make_logs import QUERIES, make_tables

# Both logs have one line for each; a copy has one for each of its steps.
NAMES = [name for name in EXPECTED if name in QUERIES and not name.startswith(("saved", "copy"))]
MORE = {
    "grouped": "select s_day % 7, s_shop, sum(s_price), count(distinct s_item) from sales"
    " where s_item <> 3 group by s_day % 7, s_shop",
    "condition on both": "select count(*) from sales join item on s_item = i_id and s_day < i_size where i_kind = 'toys'",
    "having": "select s_shop, min(s_day) from sales group by s_shop having min(s_day) > 3",
    "rows": "select s_day, i_code from sales join item on s_item = i_id where i_size = 3 and s_price between 1 and 2",
    "top": "select s_day from sales where s_item = 4 order by s_day limit 7",
    "nested": "select max(n) from (select s_item, count(*) n from sales where s_day > 5 group by s_item) x"
    " join item on s_item = i_id",
    "patterns": "select count(*) from item where i_code like '%1' and i_kind like 't%s' and not (i_size in (1, 2) or i_id < 5)",
    "scalar": "select count(*) from sales where s_price > (select avg(s_price) from sales where s_day = 1)",
}
Logs = tuple[dict[str, Fingerprint], list[OwnQuery | str]]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Logs:
    folder = tmp_path_factory.mktemp("both_logs")
    events, own = folder / "events", folder / "own.jsonl"
    events.mkdir()
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": events.as_uri(),
        "spark.rtfilter.log.path": str(own),
        "spark.rtfilter.log.literals": "true",
        "spark.sql.shuffle.partitions": "4",
    }
    with application("both logs", conf, scratch=folder) as spark:
        give_time(spark)
        make_tables(spark, folder)
        for name in ("sales", "item", "shop", "price", "visits"):
            spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
        before = len(own.read_text().splitlines()) if own.exists() else 0
        for name, sql in asked().items():
            spark.sparkContext.setJobDescription(name)
            spark.sql(sql).collect()
    known = {name: TableStatistics(name, None, table.columns, path=str(folder / name)) for name, table in TABLES.items()}
    return in_events(events, known), in_own(own, known)[before:]


def asked() -> dict[str, str]:
    return {**{name: QUERIES[name] for name in NAMES}, **MORE}


def in_events(folder: Path, known: dict[str, TableStatistics]) -> dict[str, Fingerprint]:
    found: dict[str, Fingerprint] = {}

    def take(query: QueryFacts, _: object, log: str) -> None:
        found[query.description] = fingerprint_of(query, known)

    read_event_logs([folder], take, lambda *why: None)
    return found


def in_own(file: Path, known: dict[str, TableStatistics]) -> list[OwnQuery | str]:
    lines = OwnLines(known)
    found: list[OwnQuery | str] = []
    with file.open() as text:
        for _, line in log_lines(text):
            found.append(lines.query(line.own) if not isinstance(line, str) and line.own is not None else str(line))
    return found


def test_each_query_has_a_line(logs: Logs) -> None:
    assert len(logs[1]) == len(asked()) and set(asked()) <= set(logs[0])


@pytest.mark.parametrize("name", [*NAMES, *MORE])
def test_both_logs_tell_the_same(logs: Logs, name: str) -> None:
    events, line = logs[0][name], logs[1][list(asked()).index(name)]
    assert isinstance(line, OwnQuery), line
    own = line.shape.fingerprint
    if name not in PARTIAL:
        assert events == own
    # How many values a list of texts has stands in no event log.
    assert [(use.table, use.join_keys, use.group_keys) for use in events.uses] == [
        (use.table, use.join_keys, use.group_keys) for use in own.uses
    ]


@pytest.mark.parametrize("name", [*NAMES, *MORE])
def test_literals_are_the_same_where_the_event_log_has_them(logs: Logs, name: str) -> None:
    events, line = logs[0][name], logs[1][list(asked()).index(name)]
    assert isinstance(line, OwnQuery), line
    known = [leaf for use in events.literals for leaf in use]
    logged = [plain(leaf) for use in line.sample for leaf in use]
    assert [own if event is not None else None for event, own in zip(known, logged, strict=False)] == known[: len(logged)]
    assert not line.sample or len(known) == len(logged)


def plain(literals: Literals | None) -> Literals | None:
    """Our log has decimals as texts."""
    if literals is None or literals.form == "like":
        return literals
    return replace(literals, values=tuple(number(each) or each if isinstance(each, str) else each for each in literals.values))


def test_most_literals_are_told(logs: Logs) -> None:
    known = [leaf for name in NAMES for use in logs[0][name].literals for leaf in use]
    assert sum(leaf is not None for leaf in known) > len(known) * 0.7
