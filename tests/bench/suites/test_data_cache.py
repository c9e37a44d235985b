"""Generated data appears whole or not at all."""

from __future__ import annotations

import errno
import json
import threading
from pathlib import Path

import pytest

from rtfilter.bench.suites.data_cache import DataCache, Manifest, data_directory
from rtfilter.errors import BenchError


def build_one_file(directory: Path) -> Manifest:
    (directory / "rows").write_text("1")
    return {"rows": 1}


def test_a_dataset_is_built_once_and_found_again(tmp_path: Path) -> None:
    cache = DataCache(tmp_path / "made" / "on demand")
    first = cache.dataset("d", build_one_file)
    assert first.manifest == {"dataset": "d", "rows": 1}
    assert json.loads((first.path / "manifest.json").read_text()) == first.manifest

    def must_not_build(directory: Path) -> Manifest:
        raise AssertionError("built twice")

    assert cache.dataset("d", must_not_build) == first


def test_a_build_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    cache = DataCache(tmp_path)

    def half(directory: Path) -> Manifest:
        (directory / "half").write_text("x")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.dataset("d", half)
    assert cache.find("d") is None
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_what_a_killed_process_left_is_built_anew(tmp_path: Path) -> None:
    (tmp_path / ".d.building").mkdir()
    (tmp_path / ".d.building" / "half").write_text("x")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "manifest.json").write_text('{"cut off')
    dataset = DataCache(tmp_path).dataset("d", build_one_file)
    assert sorted(path.name for path in dataset.path.iterdir()) == ["manifest.json", "rows"]


def test_two_builders_at_once_build_once(tmp_path: Path) -> None:
    built = []

    def build(directory: Path) -> Manifest:
        built.append(directory)
        return build_one_file(directory)

    threads = [threading.Thread(target=lambda: DataCache(tmp_path).dataset("d", build)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1


def test_a_full_disk_is_named_with_the_way_out(tmp_path: Path) -> None:
    def full(directory: Path) -> Manifest:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(BenchError, match=r"disk is full.*--data DIR.*RTFILTER_DATA") as caught:
        DataCache(tmp_path).dataset("d", full)
    assert str(tmp_path / "d") in str(caught.value)


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchError, match=r"file/data/d.*--data DIR"):
        DataCache(tmp_path / "file" / "data").dataset("d", build_one_file)


def test_option_comes_before_environment_before_default(tmp_path: Path) -> None:
    environment = {"RTFILTER_DATA": str(tmp_path / "env")}
    assert data_directory(tmp_path / "option", environment) == tmp_path / "option"
    assert data_directory(None, environment) == tmp_path / "env"
    assert data_directory(None, {}) == Path.home() / ".cache/rtfilter/data"
