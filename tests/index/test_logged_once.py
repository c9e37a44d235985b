"""Warnings of indexes that can't be used: each once, and no more remembered than a bound."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtfilter.store.index_files.data_files import LoadedBatches
from rtfilter.store.index_reading import logged_once
from rtfilter.store.index_reading.logged_once import ToldOnce
from rtfilter.store.open_indexes import IndexShelf
from rtfilter.store.remote import index_copies
from rtfilter.store.remote.index_copies import Mirror
from tests.index.remote_files import FarFiles, cache_of, far


def test_the_same_is_no_news_until_it_changes_or_was_well() -> None:
    told = ToldOnce()
    assert [told.is_news("i", text) for text in ("bad", "bad", "worse", "worse")] == [True, False, True, False]
    assert told.is_news("j", "bad")
    told.forget("i")
    told.forget("never told")
    assert told.is_news("i", "worse") and not told.is_news("j", "bad")


@given(st.lists(st.integers(0, 12), max_size=60))
def test_the_latest_are_remembered_and_no_others(asked: list[int]) -> None:
    with pytest.MonkeyPatch.context() as bound:
        bound.setattr(logged_once, "MOST_TOLD", 5)
        told, latest = ToldOnce(), list[int]()
        for each in asked:
            assert told.is_news(str(each), "bad") == (each not in latest)
            latest = [*(other for other in latest if other != each), each][-5:]
        assert len(told) == len(latest)


def test_bad_indexes_that_disappear_one_after_the_other_here_are_not_all_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logged_once, "MOST_TOLD", 5)
    shelf = IndexShelf()
    for number in range(8):
        log = tmp_path / f"i{number}" / "log"
        log.parent.mkdir()
        # Root may list everything, but not go round in circles.
        log.symlink_to(log)
        for _ in range(2):
            (found,) = shelf.shelved([str(tmp_path)])
            assert found.problems[0].reason == "INDEX_UNREACHABLE"
        shutil.rmtree(log.parent)
    assert len(caplog.records) == 8 and len(shelf._told) == 5


def test_bad_indexes_that_disappear_one_after_the_other_elsewhere_are_not_all_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logged_once, "MOST_TOLD", 5)
    monkeypatch.setattr(index_copies, "LOOK_AGAIN_S", 0.0)
    found, place = Mirror(LoadedBatches()), far(tmp_path)
    for number in range(8):
        log = tmp_path / f"i{number}" / "log"
        log.mkdir(parents=True)
        (log / f"{1:020d}.json").write_bytes(b"{")
        for _ in range(2):
            token, wishes = found.look([place], ["a"], cache_of(tmp_path))
            while token is not None:
                token, wishes = found.go_on(token, FarFiles().steps(wishes))
            assert [each.problems[0].reason for each in found.shelved(place, cache_of(tmp_path).directory)] == ["INDEX_CORRUPT"]
        shutil.rmtree(log.parent)
    assert len(caplog.records) == 8 and len(found._told) == 5
