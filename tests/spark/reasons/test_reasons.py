"""Every reason that the layer can give, made by a real query, with the whole text that users see.

`pytest tests/spark/reasons --update-golden` writes `reasons.txt` anew: read the difference, sentence by sentence.
"""

from __future__ import annotations

from typing import Any

import pytest

import rtfilter
from rtfilter.report import Report, WhyNot
from tests.spark.reasons.golden import Golden, without_what_varies
from tests.spark.reasons.row import Row, Scene
from tests.spark.reasons.rows import ROWS


def reason_texts(row: Row, scene: Scene) -> list[str]:
    """What is said with the row's code: a line for each candidate, or the sentence that stands for all of them."""
    prepared = None if row.prepare is None else row.prepare(scene)
    frame = scene.spark.sql(row.sql) if prepared is None else prepared
    if row.runs:
        frame.collect()
        report = rtfilter.last_report(scene.spark)
        assert report is not None
        shown: Report | WhyNot = report
        entries = report.to_dict()["filters"]
    else:
        shown = rtfilter.why_not(frame)
        entries = shown.to_dict()["keys"]
    if shown.reason == row.code:
        return [without_what_varies(shown.detail)]
    found = sorted({_line(entry) for entry in entries if row.code in _codes(entry)})
    assert found, f"the query does not show {row.code}, but:\n{shown}"
    return found


def _codes(entry: dict[str, Any]) -> tuple[str, ...]:
    return (entry["reason"], entry.get("rows_reason", ""), *entry["index_reasons"])


def _line(entry: dict[str, Any]) -> str:
    join = f"{entry['join_type']} {entry['strategy']}".strip()
    return without_what_varies(f"{entry['probe']} <- {entry['build']} ({join}): {entry['decision']}. {entry['detail']}")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_reason(row: Row, scene: Scene, golden: Golden, request: pytest.FixtureRequest) -> None:
    for name, value in row.conf.items():
        scene.spark.conf.set(name, value)
    found = reason_texts(row, scene)
    golden.seen[row.name] = found
    if not request.config.getoption("--update-golden", default=False):
        assert found == golden.known.get(row.name)


def test_no_text_is_left_over(golden: Golden, request: pytest.FixtureRequest) -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    if not request.config.getoption("--update-golden", default=False):
        assert set(golden.known) == set(names)
