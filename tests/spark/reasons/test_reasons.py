"""Every reason that the layer can give, made by a real query, with the whole text that users see.

`pytest tests/spark/reasons --update-golden` writes `reasons.txt` anew: read the difference, sentence by sentence.
"""

from __future__ import annotations

from typing import Any

import pytest

import rtfilter
from rtfilter.bridge import jvm
from rtfilter.report import Report, WhyNot
from tests.spark.reasons.golden import Golden, without_what_varies
from tests.spark.reasons.row import Row, Scene
from tests.spark.reasons.rows import ROWS


def reason_texts(row: Row, scene: Scene) -> list[str]:
    """What is said with the row's code: a line for each candidate, or the sentence that stands for all of them."""
    frame = scene.spark.sql(row.sql)
    if not row.runs:
        shown: Report | WhyNot = rtfilter.why_not(frame)
        entries, of_rows = shown.to_dict()["keys"], set[str]()
    else:
        frame.collect()
        report, record = rtfilter.last_report(scene.spark), jvm.last_record(scene.spark)
        assert report is not None and record is not None
        if report.reason == row.code:
            return [str(report).splitlines()[1]]
        shown, entries = report, report.to_dict()["filters"]
        of_rows = {each["id"] for fill in record["fills"] for each in fill["filters"] if each.get("rows_reason") == row.code}
    found = sorted({_line(entry) for entry in entries if _has(entry, row.code) or entry.get("id") in of_rows})
    assert found, f"the query does not show {row.code}, but:\n{shown}"
    return found


def _has(entry: dict[str, Any], code: str) -> bool:
    return code in (entry["reason"], *entry["index_reasons"])


def _line(entry: dict[str, Any]) -> str:
    join = f"{entry['join_type']} {entry['strategy']}".strip()
    return without_what_varies(f"{entry['probe']} <- {entry['build']} ({join}): {entry['decision']}. {entry['detail']}")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_reason(row: Row, scene: Scene, golden: Golden, request: pytest.FixtureRequest) -> None:
    for name, value in row.conf.items():
        scene.spark.conf.set(name, value)
    if row.prepare is not None:
        row.prepare(scene)
    found = reason_texts(row, scene)
    golden.seen[row.name] = found
    if not request.config.getoption("--update-golden", default=False):
        assert found == golden.known.get(row.name)


def test_no_text_is_left_over(golden: Golden, request: pytest.FixtureRequest) -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    if not request.config.getoption("--update-golden", default=False):
        assert set(golden.known) == set(names)
