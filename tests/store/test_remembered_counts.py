"""Facts of tables are told for exactly the files they are of."""

from __future__ import annotations

import pytest

from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.tables.remembered_counts import SeenTables, TableFacts

FILES = [FileIdentity("file:/data/fact/part-0.parquet", 600, 1), FileIdentity("file:/data/fact/part-1.parquet", 400, 1)]


@pytest.fixture
def seen() -> SeenTables:
    found = SeenTables(most=2)
    found.tell(FILES, 1_000, 8_000, [("Day", 2_000), ("order", 2_001), ("name", None)])
    return found


def test_a_column_is_dense_when_there_are_four_rows_for_a_value(seen: SeenTables) -> None:
    assert seen.facts(["file:/data/fact"], 1_000) == TableFacts(8_000, {"day": 2_000})


@pytest.mark.parametrize(
    ("roots", "total_bytes"),
    [
        (["file:/data/fact"], 1_001),
        (["file:/data/fac"], 1_000),
        (["file:/data/fact/part-0.parquet"], 1_000),
        ([], 1_000),
    ],
)
def test_other_files_are_another_table(seen: SeenTables, roots: list[str], total_bytes: int) -> None:
    assert seen.facts(roots, total_bytes) is None


@pytest.mark.parametrize("roots", [["file:/data/fact/"], ["file:/data"], [file.path for file in FILES]])
def test_the_same_files_may_be_named_in_several_ways(seen: SeenTables, roots: list[str]) -> None:
    assert seen.facts(roots, 1_000) is not None


def test_columns_add_up_while_the_rows_stay(seen: SeenTables) -> None:
    seen.tell(FILES, 1_000, 8_000, [("item", 10)])
    assert seen.facts(["file:/data/fact"], 1_000) == TableFacts(8_000, {"day": 2_000, "item": 10})
    seen.tell(FILES, 1_000, 9_000, [("item", 11)])
    assert seen.facts(["file:/data/fact"], 1_000) == TableFacts(9_000, {"item": 11})


def test_the_oldest_table_goes_first(seen: SeenTables) -> None:
    for total_bytes in (2_000, 3_000):
        seen.tell(FILES, total_bytes, 10, [])
    assert seen.facts(["file:/data/fact"], 1_000) is None
    assert seen.facts(["file:/data/fact"], 3_000) == TableFacts(10)
