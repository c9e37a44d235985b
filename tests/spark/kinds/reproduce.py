"""Keeps what a finding needs to be seen again: the files as they lie, and a program that runs the query both ways."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from tests.spark.kinds.case import Case, world_of
from tests.spark.kinds.run import Harness, Outcome
from tests.spark.kinds.world import ddl

PROGRAM = '''"""{summary}

Run it with the repository's root on PYTHONPATH. The tables beside it are as they were, indexes included.
"""

from pathlib import Path

from tests.spark.kinds.actions import Doing, take_rows
from tests.spark.kinds.application import start
from tests.spark.kinds.run import error_class
from tests.spark.kinds.udfs import register

HERE = Path(__file__).parent.resolve()
CONF = {conf}
TABLES = {tables}
SQL = """{sql}"""

spark = start()
register(spark)
for key, value in CONF.items():
    spark.conf.set(key, value.replace("HERE", str(HERE)))
for name, columns in TABLES.items():
    {declare}
for on in (False, True):
    spark.conf.set("rtfilter.enabled", on)
    try:
        frame = spark.sql(SQL)
        rows = take_rows({action!r}, frame, Doing(spark, HERE, lambda: None, on, lambda: None))
        print("on" if on else "off", len(rows), rows if {ordered} else sorted(rows, key=repr))
    except Exception as e:
        print("on" if on else "off", error_class(e), str(e)[:300])
    if on:
        frame.explain()
spark.stop()
'''
BY_DDL = "spark.sql(f\"create table {name} ({columns}) using parquet location '{HERE / name}'\")"
BY_PATH = "spark.read.schema(columns).parquet(str(HERE / name)).createOrReplaceTempView(name)"


def keep(case: Case, outcome: Outcome, harness: Harness, found: Path) -> str:
    """Text for a log; the program and the files go to a folder below `found`."""
    small = _with_less_conf(case, outcome, harness)
    place, world = found / str(case.seed), world_of(case.seed)
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(harness.scene.place, place)
    tables = {table.name: ddl(table, world.naming, harness.scene.rows_of(world, table, table.files[0])) for table in world.tables}
    conf = dict(small.conf) | ({"rtfilter.store.location": "HERE/store"} if world.own_store else {})
    lines = [
        f"seed {case.seed}, {case.kind}, {case.action}, names {world.naming.style}: {outcome.finding}",
        f"before it: {[event.what for event in harness.happened]}",
        f"conf: {conf}",
        f"{case.query.sql}",
        f"kept in {place}",
    ]
    program = PROGRAM.format(
        summary=outcome.finding.replace('"""', "'").replace("\\", "/"),
        conf=conf,
        tables=tables,
        sql=case.query.sql.replace("\\", "\\\\"),
        declare=BY_DDL if world.by_ddl else BY_PATH,
        action=case.action,
        ordered=case.ordered,
    )
    (place / "again.py").write_text(program)
    return "\n".join(["FOUND " + lines[0], *(f"    {line}" for line in lines[1:])])


def _with_less_conf(case: Case, outcome: Outcome, harness: Harness) -> Case:
    """Without the entries of the conf that rows or errors differ without."""
    if not outcome.differs:
        return case
    for entry in case.conf:
        smaller = replace(case, conf=tuple(each for each in case.conf if each != entry))
        if harness.differs(smaller):
            case = smaller
    return case
