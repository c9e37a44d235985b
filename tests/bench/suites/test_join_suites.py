"""The suites `joins` and `kinds`: what their data and queries promise."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

duckdb = pytest.importorskip("duckdb")

from rtfilter.bench.engines.duckdb_engine import DuckDbEngine  # noqa: E402
from rtfilter.bench.suites import kinds  # noqa: E402  # after the check that the bench extra is there
from rtfilter.bench.suites.data_cache import DataCache  # noqa: E402
from rtfilter.bench.suites.suite import DataRequest, SuiteData  # noqa: E402
from rtfilter.errors import BenchError  # noqa: E402
from tpcds import joins  # noqa: E402


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> DataCache:
    return DataCache(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def kinds_data(cache: DataCache) -> SuiteData:
    return kinds.prepare(DataRequest(0.001, None, "clustered", cache, lambda step: None, pack_rows=512))


def test_joins_are_shuffled_unless_the_user_says_otherwise() -> None:
    assert joins.SUITE.broadcast_threshold_bytes == kinds.SUITE.broadcast_threshold_bytes == -1
    assert joins.SUITE.layouts[0] == "natural"
    assert joins.SUITE.query_ids == ("customer", "customer-item", "returns-date")


def test_each_join_keeps_some_rows_and_not_many(cache: DataCache) -> None:
    data = joins.prepare(DataRequest(0.1, None, "natural", cache, lambda step: None))
    engine = DuckDbEngine(duckdb.connect(), data.tables, threads=1)
    counts = {query.id: int(str(engine.run(query).rows[0][0])) for query in data.queries}
    # A month of births is about one customer in 850, and the categories two of ten.
    assert 0 < counts["customer-item"] < counts["customer"] < 288_000 / 200
    assert 0 < counts["returns-date"] < 288_000 / 200


def test_kinds_have_a_query_for_each_number_of_keys_that_the_scale_has_room_for(kinds_data: SuiteData) -> None:
    assert [query.build_keys for query in kinds_data.queries] == [1, 10, 100, 1000, 10_000] * 2
    assert {query.id for query in kinds_data.queries} < set(kinds.SUITE.query_ids)
    with pytest.raises(BenchError, match="at least --sf"):
        kinds.prepare(DataRequest(1e-9, None, "natural", DataCache(kinds_data.tables["fact"]), lambda step: None))


def test_build_keys_are_distinct_spread_over_the_fact_and_found_there_by_either_key(kinds_data: SuiteData) -> None:
    engine = DuckDbEngine(duckdb.connect(), kinds_data.tables, threads=1)
    for query in kinds_data.queries:
        assert engine.run(query).rows[0][0] == query.build_keys
    keys = sorted(pq.read_table(kinds_data.tables["build_10"])["b_key"].to_pylist())
    assert keys == [1000 + 2000 * k for k in range(10)]


def test_the_natural_order_of_the_fact_is_rough_and_the_clustered_one_exact(cache: DataCache, kinds_data: SuiteData) -> None:
    natural = kinds.prepare(DataRequest(0.001, None, "natural", cache, lambda step: None, pack_rows=512))
    loose, sorted_ = (pq.read_table(data.tables["fact"])["f_key"].to_pylist() for data in (natural, kinds_data))
    assert sorted_ == list(range(20_000)) == sorted(loose) and loose != sorted_
    assert max(abs(key - place) for place, key in enumerate(loose)) <= 400
