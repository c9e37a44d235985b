"""The life of a star-tree: what it covers after each action, and that it answers what those files hold."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from rtfilter.errors import IndexDefinitionError, IndexStateError, IndexStorageError
from rtfilter.star_tree.actions import tree_actions
from rtfilter.star_tree.actions.row_limit import row_limit
from rtfilter.star_tree.tree_files import CoveredFile, covered_files
from rtfilter.store.index_actions import actions
from rtfilter.store.index_files import log
from rtfilter.store.index_files.storage import DATA
from tests.star_tree.small_tables import check_answers, definition_of, reader_of, storage_of, write_part


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = tmp_path / "t"
    write_part(table, "a.parquet", 0)
    write_part(table, "b.parquet", 50)
    tree_actions.create(storage_of(table), definition_of(table), reader_of(table))
    return table


def refresh(folder: Path, mode: str = "incremental") -> tree_actions.TreeReport:
    return tree_actions.refresh(storage_of(folder), mode, reader_of(folder))


def segments(folder: Path) -> int:
    tree = log.read_log(storage_of(folder)).tree
    return 0 if tree is None else len(tree.segments)


def test_create_covers_all_files(folder: Path) -> None:
    assert check_answers(folder) == ["a.parquet", "b.parquet"] and segments(folder) == 1


def test_new_files_make_a_segment(folder: Path) -> None:
    write_part(folder, "sub=1/c.parquet", 100)
    write_part(folder, "d.parquet", 150)
    report = refresh(folder)
    assert (report.files, report.table_rows) == (2, 100) and segments(folder) == 2
    assert check_answers(folder) == ["a.parquet", "b.parquet", "d.parquet", "sub=1/c.parquet"]
    assert refresh(folder) == tree_actions.NOTHING_BUILT and segments(folder) == 2


def test_a_segment_with_a_changed_file_is_made_anew(folder: Path) -> None:
    write_part(folder, "c.parquet", 100)
    refresh(folder)
    write_part(folder, "b.parquet", 500, rows=10)
    report = refresh(folder)
    assert (report.files, report.table_rows) == (2, 60) and segments(folder) == 2
    assert check_answers(folder) == ["a.parquet", "b.parquet", "c.parquet"]


def test_a_segment_with_a_file_that_is_gone_is_made_anew(folder: Path) -> None:
    os.unlink(folder / "a.parquet")
    report = refresh(folder)
    assert report.files == 1 and check_answers(folder) == ["b.parquet"] and segments(folder) == 1


def test_a_segment_all_of_whose_files_are_gone_is_dropped(folder: Path) -> None:
    write_part(folder, "c.parquet", 100)
    refresh(folder)
    os.unlink(folder / "c.parquet")
    assert refresh(folder) == tree_actions.NOTHING_BUILT
    assert check_answers(folder) == ["a.parquet", "b.parquet"] and segments(folder) == 1


def test_a_file_in_anothers_place_with_its_size_and_time_is_found(folder: Path) -> None:
    """S27: only the footer tells."""
    before = os.stat(folder / "b.parquet")
    write_part(folder, "b.parquet", 50 + 660)
    os.utime(folder / "b.parquet", ns=(before.st_atime_ns, before.st_mtime_ns))
    after = os.stat(folder / "b.parquet")
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert refresh(folder).files == 2 and check_answers(folder) == ["a.parquet", "b.parquet"]


def test_full_reads_all(folder: Path) -> None:
    write_part(folder, "c.parquet", 100)
    refresh(folder)
    assert refresh(folder, "full").files == 3 and segments(folder) == 1
    assert check_answers(folder) == ["a.parquet", "b.parquet", "c.parquet"]


def test_optimize_makes_one_segment(folder: Path) -> None:
    for number in range(2, 5):
        write_part(folder, f"f{number}.parquet", 50 * number)
        refresh(folder)
    largest = log.read_log(storage_of(folder)).tree
    assert largest is not None and segments(folder) == 4
    assert tree_actions.optimize(storage_of(folder), reader_of(folder)) == 1
    assert len(check_answers(folder)) == 5
    merged = log.read_log(storage_of(folder)).tree
    assert merged is not None and merged.segments[0].table_rows == 250
    assert merged.segments[0].largest == {"x": 249, "price": 24900} and set(merged.segments[0].nullable) == {"price"}
    assert tree_actions.optimize(storage_of(folder), reader_of(folder)) == 1


def test_what_optimize_merges_is_what_a_full_refresh_makes(folder: Path) -> None:
    write_part(folder, "c.parquet", 1_000)
    refresh(folder)
    tree_actions.optimize(storage_of(folder), reader_of(folder))
    merged = log.read_log(storage_of(folder)).tree
    refresh(folder, "full")
    made = log.read_log(storage_of(folder)).tree
    assert merged is not None and made is not None
    assert merged.segments[0].rows == made.segments[0].rows and merged.segments[0].nodes == made.segments[0].nodes


def test_optimize_leaves_a_stale_segment_to_a_refresh(folder: Path) -> None:
    for name, first in (("c.parquet", 100), ("d.parquet", 150)):
        write_part(folder, name, first)
        refresh(folder)
    write_part(folder, "a.parquet", 500)
    assert tree_actions.optimize(storage_of(folder), reader_of(folder)) == 2
    assert refresh(folder).files == 2 and len(check_answers(folder)) == 4


def test_a_segment_without_nulls_and_one_with_are_merged(tmp_path: Path) -> None:
    write_part(tmp_path, "a.parquet", 1, rows=4)
    tree_actions.create(storage_of(tmp_path), definition_of(tmp_path), reader_of(tmp_path))
    first = log.read_log(storage_of(tmp_path)).tree
    write_part(tmp_path, "b.parquet", 5, rows=40)
    refresh(tmp_path)
    assert first is not None and first.segments[0].nullable == () and check_answers(tmp_path)
    assert tree_actions.optimize(storage_of(tmp_path), reader_of(tmp_path)) == 1
    assert check_answers(tmp_path) == ["a.parquet", "b.parquet"]


def test_delete_restore_and_vacuum(folder: Path) -> None:
    refresh(folder, "full")
    write_part(folder, "c.parquet", 100)
    refresh(folder, "full")
    actions.delete(storage_of(folder))
    assert check_answers(folder) == []
    with pytest.raises(IndexStateError, match="use restore first"):
        refresh(folder)
    actions.restore(storage_of(folder))
    assert len(check_answers(folder)) == 3
    assert actions.vacuum(storage_of(folder)) > 0 and len(check_answers(folder)) == 3
    actions.delete(storage_of(folder))
    actions.vacuum(storage_of(folder))
    assert storage_of(folder).names(DATA) == [] and log.read_log(storage_of(folder)).state == log.DOES_NOT_EXIST
    tree_actions.create(storage_of(folder), definition_of(folder), reader_of(folder))
    assert len(check_answers(folder)) == 3


def test_damaged_files_are_made_anew(folder: Path) -> None:
    tree = log.read_log(storage_of(folder)).tree
    assert tree is not None
    Path(storage_of(folder).local_file(tree.segments[0].files.name)).write_bytes(b"PAR1 no PAR1")
    assert refresh(folder).files == 2 and check_answers(folder) == ["a.parquet", "b.parquet"]


def test_damaged_rows_are_no_answer_to_optimize(folder: Path) -> None:
    write_part(folder, "c.parquet", 100)
    refresh(folder)
    tree = log.read_log(storage_of(folder)).tree
    assert tree is not None
    name = tree.segments[0].rows[0].name
    path = Path(storage_of(folder).local_file(name))
    content = path.read_bytes()
    path.write_bytes(content[:60] + bytes(60) + content[120:])
    with pytest.raises(IndexStorageError, match=name):
        tree_actions.optimize(storage_of(folder), reader_of(folder))
    assert log.read_log(storage_of(folder)).tree == tree


def test_two_segments_of_one_file_are_not_both_kept(folder: Path) -> None:
    """A log that somebody has written by hand: rows would count twice."""
    write_part(folder, "c.parquet", 100)
    refresh(folder)
    storage = storage_of(folder)
    tree = log.read_log(storage).tree
    assert tree is not None
    known = {each.path: each for segment in tree.segments for each in covered_files(storage, segment)}
    listing = reader_of(folder).listed()

    def all_files(_: Any, __: Any) -> tuple[CoveredFile, ...]:
        return (known["a.parquet"],)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_actions, "covered_files", all_files)
        kept, wanted = tree_actions.stale_files(storage, tree, reader_of(folder), listing)
    assert len(kept) == 1 and {os.path.basename(file.path) for file in wanted} == {"b.parquet", "c.parquet"}


def test_an_unknown_mode(folder: Path) -> None:
    with pytest.raises(IndexDefinitionError, match=r"'quik'.*full|'quik'.*incremental"):
        refresh(folder, "quik")


@pytest.mark.parametrize(
    ("given", "rows", "most"),
    [("10%", 1_000_000, 100_000), ("10%", 50, 10_000), (7, 50, 7), ("500", 1, 500), ("0.5%", 10_000_000, 50_000)],
)
def test_limits(given: str | int, rows: int, most: int) -> None:
    assert row_limit(given).most(rows) == most


@pytest.mark.parametrize("given", ["ten", "", "-1", 0, "0%", "x%", "nan%", 10**12, True, 1.5])
def test_no_limits(given: Any) -> None:
    with pytest.raises(IndexDefinitionError, match="max_rows="):
        row_limit(given)
