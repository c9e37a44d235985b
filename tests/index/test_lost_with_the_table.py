"""An index inside a table that is overwritten is gone, and that is said, also by a process that has never seen it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import rtfilter
from rtfilter import Bloom, Index, MinMax
from rtfilter.errors import IndexStateError
from rtfilter.store.index_actions import made_indexes
from rtfilter.store.index_facts import facts_of_indexes
from rtfilter.store.open_indexes import IndexShelf
from tests.index.tables import write_part
from tests.index.test_index_cli import run


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RTFILTER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    write_part(tmp_path / "t", "p0.parquet", 0)
    return tmp_path / "t"


def overwrite(table: Path) -> None:
    """As Spark does: all that is in the directory goes first."""
    shutil.rmtree(table)
    write_part(table, "p1.parquet", 100)


def test_it_is_listed_as_gone(table: Path) -> None:
    index = Index.create(None, str(table), [MinMax("a")], name="i")
    assert [each.state for each in rtfilter.indexes(None, str(table))] == ["ACTIVE"]
    overwrite(table)
    (lost,) = rtfilter.indexes(None, str(table))
    assert (lost.name, lost.table, lost.state, index.state) == ("i", str(table), "GONE", "GONE")
    assert lost.stats()["state"] == "GONE" and "GONE" in repr(lost) and "GONE" in lost._repr_html_()


@pytest.mark.parametrize("mode", ["full", "incremental", "quick"])
def test_to_refresh_or_load_it_is_an_error_with_the_way_out(table: Path, mode: str) -> None:
    index = Index.create(None, str(table), [MinMax("a")], name="i")
    overwrite(table)
    with pytest.raises(IndexStateError, match=r"is gone: .* overwritten that\. Make it anew with create, and set rtfilter\.store"):
        index.refresh(mode)
    with pytest.raises(IndexStateError, match="is gone"):
        Index.load(None, str(table), "i")
    with pytest.raises(IndexStateError, match="has no index 'other'"):
        Index.load(None, str(table), "other")


def test_made_anew_it_is_there_again(table: Path) -> None:
    Index.create(None, str(table), [MinMax("a")], name="i")
    overwrite(table)
    assert Index.create(None, str(table), [Bloom("a")], name="i").state == "ACTIVE"
    assert [each.state for each in rtfilter.indexes(None, str(table))] == ["ACTIVE"]


def test_deleted_it_is_not_told_of_any_more(table: Path) -> None:
    index = Index.create(None, str(table), [MinMax("a")], name="i")
    Index.create(None, str(table), [MinMax("a")], name="j")
    overwrite(table)
    index.delete()
    assert [each.name for each in rtfilter.indexes(None, str(table))] == ["j"]


def test_one_that_was_vacuumed_is_not_gone(table: Path) -> None:
    index = Index.create(None, str(table), [MinMax("a")], name="i")
    index.delete()
    index.vacuum()
    shutil.rmtree(table / "_rtfilter")
    assert index.state == "DOES_NOT_EXIST" and rtfilter.indexes(None, str(table)) == []


def test_a_location_outside_the_table_keeps_it(table: Path, tmp_path: Path) -> None:
    index = Index.create(None, str(table), [MinMax("a")], name="i", location=str(tmp_path / "store"))
    overwrite(table)
    assert index.state == "ACTIVE" and index.refresh().files == 1 and not made_indexes.has_notes()


def test_one_of_a_single_file_is_told_for_that_file_only(table: Path) -> None:
    write_part(table, "p1.parquet", 50)
    Index.create(None, str(table / "p0.parquet"), [MinMax("a")], name="i")
    shutil.rmtree(table / "_rtfilter")
    (lost,) = rtfilter.indexes(None, str(table / "p0.parquet"))
    assert (lost.name, lost.table, lost.state) == ("i", str(table / "p0.parquet"), "GONE")
    assert rtfilter.indexes(None, str(table)) == [] == rtfilter.indexes(None, str(table / "p1.parquet"))


def test_a_host_that_has_never_seen_it_tells_of_it(table: Path) -> None:
    Index.create(None, str(table), [MinMax("a")], name="i")
    overwrite(table)
    (fact,) = facts_of_indexes(IndexShelf(), [str(table)], [("a", "bigint")])
    (remark,) = fact.remarks
    assert remark.reason == "INDEX_GONE" and not fact.is_usable
    assert remark.text == (
        f"Index i in {table}/_rtfilter is not used: it is not there any more, as after its table was overwritten; "
        "make it anew, and set rtfilter.store.location for tables that are overwritten."
    )
    assert facts_of_indexes(IndexShelf(), [f"{table}2"], [("a", "bigint")]) == ()


def test_the_command_line_says_so(table: Path) -> None:
    assert run("create", table, "--name", "i", "--minmax", "a").exit_code == 0
    overwrite(table)
    assert run("list", table).stdout == "i  GONE  it was inside the table, and somebody has overwritten that\n"
    assert json.loads(run("list", table, "--json").stdout)[0]["state"] == "GONE"
    refreshed = run("refresh", table, "--name", "i")
    assert refreshed.exit_code == 2 and "is gone" in refreshed.stderr
    assert run("create", table, "--name", "i", "--minmax", "a").exit_code == 0


def test_notes_are_bounded_and_those_of_tables_that_are_gone_go_first(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made_indexes, "MOST_NOTES", 3)
    made_indexes.remember(str(table / "_rtfilter" / "i"))
    for number in range(5):
        made_indexes.remember(str(tmp_path / f"gone{number}" / "_rtfilter" / "i"))
    assert made_indexes.remembered(str(table / "_rtfilter")) == ("i",)
    assert len(list((tmp_path / "cache" / "made").iterdir())) <= 3


def test_a_note_that_can_not_be_kept_or_read_is_no_error(table: Path, cache: Path) -> None:
    cache.write_text("no directory")
    index = Index.create(None, str(table), [MinMax("a")], name="i")
    overwrite(table)
    assert index.state == "DOES_NOT_EXIST" and not made_indexes.has_notes()


def test_a_damaged_note_is_none(table: Path, cache: Path) -> None:
    Index.create(None, str(table), [MinMax("a")], name="i")
    for note in (cache / "made").iterdir():
        note.write_text("{")
    overwrite(table)
    assert rtfilter.indexes(None, str(table)) == []
