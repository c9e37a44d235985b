"""Finding suites, choosing layouts and queries."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from rtfilter.bench.suites import suite
from rtfilter.bench.suites.suite import choose_layout, load_suite, select_query_ids
from rtfilter.errors import BenchError
from tpcds.imci_micro import SUITE, imci_queries

IDS = SUITE.query_ids


@pytest.fixture
def imci_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("imci-micro", "tpcds.imci_micro:SUITE", suite.ENTRY_POINT_GROUP)
    monkeypatch.setattr(suite, "entry_points", lambda group: [point])


@pytest.mark.usefixtures("imci_registered")
def test_a_registered_suite_is_loaded_by_name() -> None:
    assert load_suite("imci-micro") is SUITE


@pytest.mark.usefixtures("imci_registered")
@pytest.mark.parametrize("name", ["tpch", "tpch-zipf", "tpcds"])
def test_a_suite_that_is_not_there_names_those_that_are(name: str) -> None:
    with pytest.raises(BenchError, match=f"no suite '{name}'. Suites that exist: imci-micro"):
        load_suite(name)


@pytest.mark.usefixtures("imci_registered")
def test_a_misspelt_suite_gets_a_hint() -> None:
    with pytest.raises(BenchError, match="Did you mean 'imci-micro'"):
        load_suite("imci-mikro")


def test_without_any_registration_the_way_out_is_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "entry_points", lambda group: [])
    with pytest.raises(BenchError, match="pip install"):
        load_suite("imci-micro")


def test_an_entry_point_that_is_no_suite_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "entry_points", lambda group: [EntryPoint("odd", "tpcds.imci_micro:FILES", group)])
    with pytest.raises(BenchError, match="not a Suite"):
        load_suite("odd")


def test_layouts_default_to_the_first_and_unknown_ones_are_refused() -> None:
    assert choose_layout(SUITE, None) == "clustered"
    assert choose_layout(SUITE, "shuffled") == "shuffled"
    with pytest.raises(BenchError, match="Did you mean 'natural'"):
        choose_layout(SUITE, "naturl")


def test_query_ids_are_exact_or_globs_in_the_suites_order() -> None:
    assert select_query_ids(IDS, ["attr p=0.001", "p=0.001"]) == ("p=0.001", "attr p=0.001")
    assert select_query_ids(IDS, ["attr*"]) == tuple(f"attr p={p}" for p in ("1.0", "0.9", "0.8", "0.5", "0.1", "0.01", "0.001"))
    assert select_query_ids(IDS, ["*p=0.01"]) == ("p=0.01", "attr p=0.01", "swapped p=0.01", "limit p=0.01")
    assert select_query_ids(IDS, []) == IDS


def test_a_pattern_that_matches_nothing_is_refused_with_the_nearest_id() -> None:
    with pytest.raises(BenchError, match=r"Did you mean 'p=0\.001'"):
        select_query_ids(IDS, ["p=0.01", "p=.001"])


def test_the_limit_has_a_literal_that_is_exact() -> None:
    literals = {query.id: query.spark_sql.rpartition(" ")[2] for query in imci_queries(102_000) if query.id.startswith("limit")}
    assert literals["limit p=0.9"] == "91800"
    assert literals["limit p=0.001"] == "102"


def test_ids_are_those_of_the_contract_and_unique() -> None:
    assert {"p=0.001", "attr p=0.001", "swapped p=0.001", "limit p=0.001"} <= set(IDS)
    assert len(set(IDS)) == len(IDS) == 28
    assert tuple(query.id for query in imci_queries(18_000)) == IDS
