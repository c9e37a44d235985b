"""Many clients of one Thrift server: `python tests/measure/many_clients.py [SECONDS [CLIENTS]]`, by default 50 for 600 seconds.

Every second client has the layer on. The planner host is killed five times. Each result is compared with DuckDB's. Prints the
counts as JSON. The status is 1 where a query failed, a row was wrong, a line of the query log stands under another client's
session, or no filter was applied between two kills.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

import rtfilter
from tests.measure.hosts import marked, planner_hosts
from tests.spark.servers.clients import SPARK_HOME, thrift_server

FACT_ROWS, DIM_ROWS, PACK_ROWS = 200_000, 2_000, 1_000
KILLS = 5
QUERIES = (
    "select count(*), sum(v) from {fact} f join {dim} d on f.k = d.id where d.n between {low} and {high}",
    "select g, count(*), sum(v) from {fact} f join {dim} d on k = id where n between {low} and {high} group by g order by g",
    "select max(f.v), min(f.v) from {fact} f where f.k in (select id from {dim} where n between {low} and {high})",
    "select count(*), sum(f.v) from {fact} f left semi join {dim} d on f.k = d.id and d.n between {low} and {high}",
    "select count(f.v), count(*) from {dim} d left join {fact} f on f.k = d.id where d.n between {low} and {high}",
)


@dataclass
class Outcome:
    """What became of one client's queries."""

    right: int = 0
    wrong: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def write_tables(folder: Path) -> None:
    row = np.arange(FACT_ROWS)
    pq.write_table(pa.table({"k": row // 100, "v": row}), folder / "fact.parquet", row_group_size=PACK_ROWS)
    number = np.arange(DIM_ROWS)
    pq.write_table(pa.table({"id": number, "n": number * 7 % DIM_ROWS, "g": number % 5}), folder / "dim.parquet")


def asked(folder: Path) -> list[tuple[str, list[list[str]]]]:
    """Queries for Spark, and their rows as DuckDB has them."""
    chosen = random.Random(1)
    found = []
    for text in QUERIES:
        for _ in range(12):
            low = chosen.randrange(DIM_ROWS)
            values = {"low": low, "high": low + chosen.choice([0, 5, 50])}
            duck = text.replace("left semi join", "semi join").format(
                fact=f"'{folder}/fact.parquet'", dim=f"'{folder}/dim.parquet'", **values
            )
            rows = duckdb.sql(duck).fetchall()
            spark = text.format(fact=f"parquet.`{folder}/fact.parquet`", dim=f"parquet.`{folder}/dim.parquet`", **values)
            found.append((spark, [[str(value) for value in each] for each in rows]))
    return found


def client(
    gateway: JavaGateway, port: int, number: int, queries: Sequence[tuple[str, list[list[str]]]], until: float, out: Outcome
) -> None:
    connection = gateway.jvm.java.sql.DriverManager.getConnection(f"jdbc:hive2://127.0.0.1:{port}", f"client{number}", "")
    statement = connection.createStatement()
    statement.execute(f"SET rtfilter.enabled={str(number % 2 == 0).lower()}")
    statement.execute("SET rtfilter.cost=always")
    chosen = random.Random(number)
    while time.monotonic() < until:
        query, expected = chosen.choice(queries)
        try:
            # The client's number is in the text, so that each line of the log says whose query it was.
            found = rows_of(statement.executeQuery(f"/* client {number} */ {query}"))
        except Exception as error:  # whatever the driver says is counted
            out.failed.append(f"{query}: {str(error)[:500]}")
            continue
        if found == expected:
            out.right += 1
        else:
            out.wrong.append(f"{query}: {found} for {expected}")
    connection.close()


def rows_of(result: Any) -> list[list[str]]:
    columns = range(1, result.getMetaData().getColumnCount() + 1)
    rows = []
    while result.next():
        rows.append([str(result.getString(column)) for column in columns])
    return rows


def kill_hosts(mark: str, seconds: float) -> list[str]:
    """Kills the host as often as KILLS says, evenly over the time; when it did, as the log writes times."""
    killed = []
    for _ in range(KILLS):
        time.sleep(seconds / (KILLS + 1))
        while not (hosts := planner_hosts(mark)):
            time.sleep(0.1)
        for host in hosts:
            os.kill(host, signal.SIGKILL)
            killed.append(datetime.now().astimezone().isoformat())
    return killed


def judged(log: Path, killed: Sequence[str]) -> dict[str, Any]:
    """Whose lines stand under which session, and how many filters were applied between two kills."""
    clients = defaultdict(set)
    applied: Counter[int] = Counter()
    moments = [datetime.fromisoformat(each) for each in killed]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if line["query"].startswith("/* client "):
            clients[line["session"]].add(line["query"].split()[2])
        at = datetime.fromisoformat(line["time"])
        applied[sum(at > each for each in moments)] += sum(each["decision"] == "applied" for each in line["filters"])
    sessions = [next(iter(numbers)) for numbers in clients.values() if len(numbers) == 1]
    return {
        "log_lines": len(lines),
        "sessions": len(clients),
        "mixed_sessions": len(clients) - len(set(sessions)),
        "of_clients_that_are_off": sum(int(number) % 2 for numbers in clients.values() for number in numbers),
        "applied": [applied[each] for each in range(len(killed) + 1)],
    }


def main(arguments: list[str]) -> int:
    seconds = float(arguments[0]) if arguments else 600.0
    clients = int(arguments[1]) if len(arguments) > 1 else 50
    with tempfile.TemporaryDirectory(prefix="rtfilter-clients-") as name:
        folder = Path(name)
        write_tables(folder)
        queries = asked(folder)
        log = folder / "log.jsonl"
        conf = {f"spark.{key}": value for key, value in {"rtfilter.log.path": str(log), "rtfilter.log.literals": "true"}.items()}
        conf["spark.rtfilter.feedback.path"] = str(folder / "feedback.json")
        os.environ.update(marked(name))
        port = launch_gateway(classpath=str(SPARK_HOME / "jars" / "*"), die_on_exit=True)
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        outcomes = [Outcome() for _ in range(clients)]
        with thrift_server({**conf, **rtfilter.spark_conf()}, folder) as server:
            until = time.monotonic() + seconds
            threads = [
                threading.Thread(target=client, args=(gateway, server, number, queries, until, out))
                for number, out in enumerate(outcomes)
            ]
            for each in threads:
                each.start()
            killed = kill_hosts(name, seconds)
            for each in threads:
                each.join()
        gateway.shutdown()
        failed, wrong = ([text for each in outcomes for text in getattr(each, what)] for what in ("failed", "wrong"))
        found = {
            "clients": sum(each.right > 0 for each in outcomes),
            "right": sum(each.right for each in outcomes),
            "wrong": len(wrong),
            "failed": len(failed),
            "kills": len(killed),
            **judged(log, killed),
        }
    print("\n".join([*wrong[:5], *failed[:5], json.dumps(found)]))
    good = found["clients"] == clients and found["kills"] == KILLS and all(found["applied"])
    return 0 if good and not (wrong or failed or found["mixed_sessions"] or found["of_clients_that_are_off"]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
