"""What is the matter with indexes, as reports and why_not get it: with filters from joins and with the query's own conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rtfilter.store import open_indexes
from rtfilter.store.index_actions import actions
from rtfilter.store.remote import index_copies
from rtfilter.store.sketches.kinds import Bloom
from tests.index.host_requests import AskedHost
from tests.index.remote_files import FarFiles, far
from tests.index.tables import create_index, storage_of, write_spread


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(index_copies, "LOOK_AGAIN_S", 0.0)
    monkeypatch.setattr(open_indexes, "TRY_AGAIN_S", 0.0)
    monkeypatch.setenv("RTFILTER_CACHE", str(tmp_path / "home"))


def told_host(folder: Path, *, is_far: bool, **options: object) -> AskedHost:
    host = AskedHost(folder, is_far=is_far, **options)
    host.tell_files()
    return host


@pytest.fixture
def there(folder: Path) -> Iterator[AskedHost]:
    """A host that can't open the table's filesystem."""
    host = told_host(folder, is_far=True)
    yield host
    host.close()


@pytest.fixture
def here(folder: Path) -> Iterator[AskedHost]:
    host = told_host(folder, is_far=False)
    yield host
    host.close()


def codes(entry: dict[str, Any] | None) -> list[str]:
    assert entry is not None
    found: list[str] = entry.get("index_reasons", [])
    return found


def check_used(host: AskedHost) -> None:
    """The index rejects nine packs of ten, and nothing is said against it."""
    for planned, filled in (host.joined(), host.conditioned()):
        assert filled is not None
        assert (planned["reason"], filled["reason"], filled["packs_kept"]) == ("PLANNED", "APPLIED", 1)
        assert not codes(planned) and not codes(filled) and "ndex" not in filled["detail"]


def check_refused(host: AskedHost, reason: str, *said: str) -> None:
    """No pack is rejected, and plan and fill of a join and the plan of a condition tell why."""
    planned, filled = host.joined()
    assert planned["reason"] == "PLANNED" and filled["decision"] == "skipped" and filled["reason"] == "REJECTS_NO_PACK"
    condition, asked = host.conditioned()
    assert (condition["decision"], condition["reason"], asked) == ("skipped", reason, None)
    for entry in (planned, filled, condition):
        assert codes(entry) == [reason] and all(each in entry["detail"] for each in said), entry


def check_used_with_a_remark(host: AskedHost, reason: str, *said: str) -> None:
    for entries in (host.joined(), host.conditioned()):
        planned, filled = entries
        assert filled is not None and planned["reason"] == "PLANNED" and filled["packs_kept"] == 1 and filled["reason"] == "APPLIED"
        for entry in (planned, filled):
            assert codes(entry) == [reason] and all(each in entry["detail"] for each in said), entry


def place_of(folder: Path) -> str:
    return far(folder / "_rtfilter")


def test_an_index_elsewhere_is_coming_and_then_used(there: AskedHost) -> None:
    check_refused(there, "INDEX_COMING", f"The indexes in {place_of(there.folder)} are not used: which there are is found out")
    there.look(FarFiles())
    check_used(there)


def test_a_table_elsewhere_without_an_index_has_no_remark_after_one_look(tmp_path: Path) -> None:
    write_spread(tmp_path / "bare", "p0.parquet", 0)
    host = told_host(tmp_path / "bare", is_far=True)
    host.look(FarFiles())
    assert [codes(entry) for entry in host.joined()] == [[], []]
    with pytest.raises(ValueError, match="not enough values"):
        host.conditioned()
    host.close()


def test_a_directory_that_can_not_be_listed_is_told_until_it_can(there: AskedHost) -> None:
    there.look(FarFiles(fails_at=1))
    place = place_of(there.folder)
    check_refused(there, "INDEX_UNREACHABLE", f"can't list {place}: list failed on purpose", "later queries try again")
    there.look(FarFiles())
    check_used(there)
    there.look(FarFiles(fails_at=1))
    check_used_with_a_remark(there, "INDEX_UNREACHABLE", f"can't list {place}")
    there.look(FarFiles())
    check_used(there)


def spoil_log(folder: Path, content: bytes) -> None:
    for path in (folder / "_rtfilter" / "i" / "log").iterdir():
        path.write_bytes(content)


def append_to_log(folder: Path, content: bytes) -> Path:
    path = folder / "_rtfilter" / "i" / "log" / f"{9:020d}.json"
    path.write_bytes(content)
    return path


def spoil_data(folder: Path) -> None:
    """As large as before, but not what the name says."""
    for path in (folder / "_rtfilter" / "i" / "data").iterdir():
        path.write_bytes(bytes(path.stat().st_size))


@pytest.mark.parametrize(
    ("spoil", "reason", "way_out"),
    [
        (lambda folder: spoil_log(folder, b"{"), "INDEX_CORRUPT", "cancel it, then rebuild it"),
        (lambda folder: spoil_log(folder, b'{"format": 2}'), "INDEX_VERSION", "use the rtfilter that wrote it; or cancel it"),
        (lambda folder: spoil_log(folder, b'{"format": 1, "state": "CREATING"}'), "INDEX_UNFINISHED", "cancel it"),
        (lambda folder: actions.delete(storage_of(folder)), "INDEX_DELETED", "restore or vacuum it"),
    ],
)
def test_a_log_that_has_no_index_for_readers_is_told_here_and_there(
    there: AskedHost, here: AskedHost, spoil: Callable[[Path], None], reason: str, way_out: str
) -> None:
    spoil(there.folder)
    there.look(FarFiles())
    check_refused(there, reason, f"Index i in {place_of(there.folder)} is not used", way_out)
    check_refused(here, reason, f"Index i in {here.folder}/_rtfilter is not used", way_out)


@pytest.mark.parametrize(("content", "reason"), [(b"{", "INDEX_CORRUPT"), (b'{"format": 2}', "INDEX_VERSION")])
def test_an_entry_behind_the_stable_one_that_can_not_be_read_is_told_until_it_is_gone(
    there: AskedHost, here: AskedHost, content: bytes, reason: str
) -> None:
    behind = append_to_log(there.folder, content)
    there.look(FarFiles())
    for host in (there, here):
        check_used_with_a_remark(host, reason, "is used only as far as possible: entry 9 of its log")
    behind.unlink()
    there.look(FarFiles())
    for host in (there, here):
        check_used(host)


def test_data_that_does_not_fit_its_checksum_is_told_there(there: AskedHost) -> None:
    spoil_data(there.folder)
    there.look(FarFiles())
    check_refused(there, "INDEX_CORRUPT", "its content is another than its name says", "rebuild it (refresh in mode full;")


def test_damaged_data_is_told_here_from_the_first_query_on_and_no_more_when_it_is_mended(here: AskedHost) -> None:
    data = {path: path.read_bytes() for path in (here.folder / "_rtfilter" / "i" / "data").iterdir()}
    spoil_data(here.folder)
    _, filled = here.joined()
    assert filled["reason"] == "REJECTS_NO_PACK" and codes(filled) == ["INDEX_CORRUPT"]
    _, asked = here.conditioned()
    assert asked is not None and asked["reason"] == "INDEX_CORRUPT" and codes(asked) == ["INDEX_CORRUPT"]
    for path, content in data.items():
        path.write_bytes(content)
    here.joined()
    check_used(here)


def test_a_cache_that_can_not_be_written_is_told_with_the_option(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    host = told_host(folder, is_far=True, **{"store.cacheDirectory": tmp_path / "file" / "cache"})
    host.look(FarFiles())
    check_refused(host, "INDEX_CACHE", f"{tmp_path}/file/cache", "set rtfilter.store.cacheDirectory")
    host.conf["rtfilter.store.cacheDirectory"] = str(tmp_path / "cache")
    host.look(FarFiles())
    check_used(host)
    host.close()


def test_an_index_larger_than_the_cache_may_be_is_told_with_the_option(folder: Path) -> None:
    host = told_host(folder, is_far=True, **{"store.cacheBytes": 1000})
    host.look(FarFiles())
    check_refused(host, "INDEX_TOO_LARGE", "rtfilter.store.cacheBytes is 1000; raise that")
    host.conf["rtfilter.store.cacheBytes"] = str(1 << 30)
    host.look(FarFiles())
    check_used(host)
    host.close()


def test_a_place_here_that_can_not_be_listed_is_told(here: AskedHost) -> None:
    store = here.folder / "_rtfilter"
    store.rename(here.folder / "aside")
    # Root may list everything, but not go round in circles.
    store.symlink_to(store)
    check_refused(here, "INDEX_UNREACHABLE", f"The indexes in {store} are not used: can't list {store}")
    store.unlink()
    (here.folder / "aside").rename(store)
    check_used(here)


def test_a_deleted_index_of_an_enclosing_directory_is_no_news_of_a_table_in_it(folder: Path) -> None:
    write_spread(folder / "orders", "p0.parquet", 0)
    write_spread(folder / "orders", "p1.parquet", 5)
    create_index(folder / "orders", sketches=(Bloom("a"),))
    actions.delete(storage_of(folder))
    host = told_host(folder / "orders", is_far=False)
    check_used(host)
    host.close()


def test_a_log_here_that_can_not_be_listed_is_told(here: AskedHost) -> None:
    log = here.folder / "_rtfilter" / "i" / "log"
    log.rename(log.with_name("aside"))
    log.symlink_to(log)
    check_refused(here, "INDEX_UNREACHABLE", f"Index i in {here.folder}/_rtfilter is not used", "can't list")


def test_an_index_that_does_not_know_all_files_is_told_where_it_is_used(folder: Path, here: AskedHost) -> None:
    write_spread(folder, "p2.parquet", 20)
    here.tell_files()
    host = told_host(folder, is_far=False)
    for _, filled in (host.joined(), host.conditioned()):
        assert filled is not None and codes(filled) == ["INDEX_STALE"] and "covers 2 of 3 files" in filled["detail"]
    host.close()


def test_in_a_store_for_many_tables_only_what_is_known_to_be_of_the_table_is_told(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    (store / "other" / "log").mkdir(parents=True)
    (store / "other" / "log" / f"{1:020d}.json").write_bytes(b"{")
    host = told_host(folder, is_far=True, **{"store.location": far(store)})
    host.look(FarFiles())
    planned, filled = host.joined()
    assert codes(planned) == codes(filled) == []
    host.look(FarFiles(fails_at=1))
    check_refused(host, "INDEX_UNREACHABLE", f"can't list {far(store)}")
    host.close()
