"""Every reason code has its row in the table of tests/spark/reasons, where a real query makes it."""

from __future__ import annotations

import pytest

from tests.repo.reason_codes import ROOT, all_codes
from tests.spark.reasons.golden import Golden, without_what_varies
from tests.spark.reasons.rows import ROWS


@pytest.mark.parametrize(
    ("code", "file"),
    [
        ("PRESERVED_SIDE", "planner/reasons.py"),
        ("INDEX_STALE", "rtfilter/store/index_files/index_problems.py"),
        ("NOT_FILLED", "rtfilter/report.py"),
        ("NOTHING_DUE", "rtfilter/report_plan.py"),
        ("NO_MEMORY", "rtfilter/bridge/scala/common/fill/CollectKeys.scala"),
    ],
)
def test_codes_are_found_in_every_layer(code: str, file: str) -> None:
    assert all_codes()[code] == ROOT / file


def test_every_code_has_its_row() -> None:
    codes, with_row = all_codes(), {row.code for row in ROWS}
    without = {code: path.name for code, path in codes.items() if code not in with_row}
    assert not without, f"codes without a row in tests/spark/reasons: {without}"
    assert with_row <= set(codes), "rows for codes that nothing gives"


def test_every_code_is_explained_to_users() -> None:
    told = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("reports.md", "indexes.md"))
    missing = [code for code in all_codes() if f"`{code}`" not in told]
    assert not missing, f"codes without a line in docs/reports.md or docs/indexes.md: {', '.join(missing)}"


def test_every_row_has_its_text() -> None:
    texts, rows = set(Golden.read().known), {row.name for row in ROWS}
    assert rows <= texts, (
        f"rows without a text: {sorted(rows - texts)}; pytest tests/spark/reasons -k CODE --update-golden writes it"
    )
    assert texts <= rows, f"texts without a row: {sorted(texts - rows)}; pytest tests/spark/reasons --update-golden removes them"


def test_what_varies_is_left_out_of_texts() -> None:
    text = "It costs 1,234.5 ms and 12 ns: id#12L of Index i in /tmp/a-1/b.c/_rtfilter is not used; 3 packs, 1 of 2 files."
    assert without_what_varies(text) == (
        "It costs N ms and N ns: id#N of Index i in …/_rtfilter is not used; 3 packs, 1 of 2 files."
    )
