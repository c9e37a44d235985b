"""TPC-H: skewed data that hangs together as dbgen's does, queries and answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

duckdb = pytest.importorskip("duckdb")

from rtfilter.bench.engines.duckdb_engine import DuckDbEngine  # noqa: E402
from rtfilter.bench.run.interleaved import run_query  # noqa: E402
from rtfilter.bench.suites.data_cache import DataCache, Dataset  # noqa: E402  # after the check that the bench extra is there
from rtfilter.bench.suites.suite import DataRequest  # noqa: E402
from rtfilter.errors import BenchError  # noqa: E402
from tpch.columns import cents, dates, days, money  # noqa: E402
from tpch.data import skewed_tables, tpch_tables  # noqa: E402
from tpch.skew import order_places  # noqa: E402
from tpch.suites import QUERY_IDS, TPCH_SUITE, TPCH_ZIPF_SUITE, tpch_queries  # noqa: E402
from tpch.zipf import ZipfSampler, zipf_shares  # noqa: E402

SF = 0.01


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> DataCache:
    return DataCache(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module", params=[0.5, 2.0])
def skewed(request: pytest.FixtureRequest, cache: DataCache) -> Dataset:
    return skewed_tables(cache, SF, request.param)


def one(dataset: Dataset, sql: str) -> object:
    """The single value of a query over the dataset's tables."""
    con = duckdb.connect()
    for file in dataset.path.glob("*.parquet"):
        con.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM '{file}'")
    return con.execute(sql).fetchall()[0][0]


@pytest.mark.parametrize("z", [0.0, 0.5, 1.0, 2.0, 4.0])
def test_draws_follow_the_law_and_reach_only_the_domain(z: float) -> None:
    sampler = ZipfSampler("a column", 1000, z)
    drawn = sampler.draw(200_000)
    assert set(np.unique(drawn)) <= set(range(1000))
    law = zipf_shares(1000, z)
    assert sampler.counts[0] / 200_000 == pytest.approx(law[0], rel=0.1)
    assert np.bincount(drawn, minlength=1000).max() == sampler.counts.max()
    assert law.sum() == pytest.approx(1) and np.all(np.diff(law) <= 0)


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=6))
def test_draws_do_not_depend_on_how_many_come_at_a_time(sizes: list[int]) -> None:
    whole, parts = ZipfSampler("c", 97, 1.5), ZipfSampler("c", 97, 1.5)
    assert np.concatenate([parts.draw(size) for size in sizes]).tolist() == whole.draw(sum(sizes)).tolist()


def test_the_frequent_value_is_not_the_smallest_and_differs_between_columns() -> None:
    frequent = {name: np.bincount(ZipfSampler(name, 500, 2.0).draw(2000)).argmax() for name in ("a", "b", "c")}
    assert len(set(frequent.values())) == 3 and 0 not in frequent.values()


@settings(deadline=None)
@given(st.lists(st.integers(-(10**12), 10**12)), st.integers(0, 3))
def test_money_and_cents_are_inverse_also_in_slices(amounts: list[int], start: int) -> None:
    column = money(np.array(amounts, dtype=np.int64))
    assert [int(value.as_py() * 100) for value in column] == amounts
    assert cents(column.slice(start)).tolist() == amounts[start:]


def test_dates_and_days_are_inverse() -> None:
    assert days(dates(np.array([0, 8035, -1]))).tolist() == [0, 8035, -1]


def test_order_places_are_dense_over_dbgens_keys(cache: DataCache) -> None:
    keys = np.asarray(pq.read_table(tpch_tables(cache, SF).path / "orders.parquet")["o_orderkey"])
    places = order_places(keys)
    assert len(np.unique(places)) == len(keys) and places.max() < len(keys) + 8


def test_zipf_0_is_dbgens_data_unchanged(cache: DataCache) -> None:
    assert skewed_tables(cache, SF, 0.0) == tpch_tables(cache, SF)


@pytest.mark.parametrize("zipf", [-0.1, 4.5, float("nan"), float("inf")])
def test_other_exponents_are_refused(cache: DataCache, zipf: float) -> None:
    with pytest.raises(BenchError, match="--zipf is"):
        skewed_tables(cache, SF, zipf)


def test_skewed_tables_have_dbgens_schema_and_row_counts(cache: DataCache, skewed: Dataset) -> None:
    for file in tpch_tables(cache, SF).path.glob("*.parquet"):
        new = pq.ParquetFile(skewed.path / file.name)
        assert new.schema_arrow == pq.read_schema(file)
        assert new.metadata.num_rows == pq.read_metadata(file).num_rows


def test_the_same_exponent_gives_the_same_data(cache: DataCache, skewed: Dataset, tmp_path: Path) -> None:
    again = skewed_tables(DataCache(tmp_path), SF, skewed.manifest["zipf"])
    for table in ("lineitem", "orders", "customer"):
        assert pq.read_table(again.path / f"{table}.parquet").equals(pq.read_table(skewed.path / f"{table}.parquet"))


@pytest.mark.parametrize(
    "broken",
    [
        "FROM lineitem LEFT JOIN partsupp ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey WHERE ps_partkey IS NULL",
        "FROM orders LEFT JOIN customer ON o_custkey = c_custkey WHERE c_custkey IS NULL OR o_custkey % 3 = 0",
        "FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE NOT (o_orderdate < l_shipdate AND l_shipdate < l_receiptdate)",
        "FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE l_commitdate - o_orderdate NOT BETWEEN 30 AND 90",
        "FROM lineitem JOIN part ON l_partkey = p_partkey WHERE l_extendedprice <> l_quantity * p_retailprice",
        "FROM lineitem WHERE (l_linestatus = 'F') <> (l_shipdate <= DATE '1995-06-17')",
        "FROM lineitem WHERE (l_returnflag = 'N') <> (l_receiptdate > DATE '1995-06-17')",
        """FROM (
             SELECT any_value(o_orderstatus) AS state, bool_and(l_linestatus = 'F') AS f, bool_and(l_linestatus = 'O') AS o
             FROM orders JOIN lineitem ON l_orderkey = o_orderkey GROUP BY o_orderkey
           ) WHERE state <> CASE WHEN f THEN 'F' WHEN o THEN 'O' ELSE 'P' END""",
        """FROM (
             SELECT any_value(o_totalprice) AS total,
               sum(CAST(l_extendedprice * 100 AS BIGINT) * (100 - CAST(l_discount * 100 AS BIGINT)) // 100
                   * (100 + CAST(l_tax * 100 AS BIGINT)) // 100) AS cents
             FROM orders JOIN lineitem ON l_orderkey = o_orderkey GROUP BY o_orderkey
           ) WHERE total * 100 <> cents""",
        "FROM part WHERE substr(p_brand, 7, 1) <> substr(p_mfgr, 14, 1)",
        "FROM customer WHERE CAST(substr(c_phone, 1, 2) AS INTEGER) <> c_nationkey + 10",
        "FROM supplier WHERE CAST(substr(s_phone, 1, 2) AS INTEGER) <> s_nationkey + 10",
        "FROM orders WHERE o_orderdate NOT BETWEEN DATE '1992-01-01' AND DATE '1998-08-02'",
        "FROM lineitem WHERE l_quantity NOT BETWEEN 1 AND 50 OR l_discount NOT BETWEEN 0 AND 0.10 OR l_tax NOT BETWEEN 0 AND 0.08",
    ],
)
def test_no_row_breaks_what_hangs_together_in_tpch(cache: DataCache, skewed: Dataset, broken: str) -> None:
    assert one(skewed, f"SELECT count(*) {broken}") == 0
    assert one(tpch_tables(cache, SF), f"SELECT count(*) {broken}") == 0


def test_foreign_keys_and_values_are_as_skewed_as_asked(skewed: Dataset) -> None:
    law = zipf_shares(2000, skewed.manifest["zipf"])
    share = one(skewed, "SELECT max(n) / sum(n) FROM (SELECT count(*) AS n FROM lineitem GROUP BY l_partkey)")
    assert share == pytest.approx(law[0], rel=0.1)
    columns = {entry["column"]: entry for entry in skewed.manifest["distributions"]}
    assert {"l_partkey", "o_custkey", "l_quantity", "o_orderdate", "p_brand", "c_nationkey", "ps_availqty"} <= set(columns)
    rank, drawn, expected = columns["l_partkey"]["points"][0]
    assert (rank, drawn, expected) == (1, pytest.approx(share), pytest.approx(law[0]))
    assert columns["l_partkey"]["points"][-1][0] == 2000


def test_the_suites_have_22_queries_and_4_variants_and_only_one_is_skewed() -> None:
    assert len(QUERY_IDS) == 26 and {"1", "22", "better5", "better9"} <= set(QUERY_IDS)
    assert tuple(query.id for query in tpch_queries(1.0)) == QUERY_IDS
    assert TPCH_SUITE.default_zipf is None and TPCH_ZIPF_SUITE.default_zipf == 2.0


def test_the_threshold_of_query_11_falls_with_the_scale_above_1() -> None:
    fractions = {sf: tpch_queries(sf)[10].spark_sql for sf in (0.01, 1.0, 10.0)}
    assert "* 0.000100000000" in fractions[0.01] and "* 0.000100000000" in fractions[1.0]
    assert "* 0.000010000000" in fractions[10.0]


@pytest.mark.parametrize("layout", TPCH_SUITE.layouts)
def test_every_published_answer_is_met_in_every_layout(cache: DataCache, layout: str) -> None:
    data = TPCH_SUITE.prepare(DataRequest(SF, None, layout, cache, lambda step: None))
    assert all(query.answer is not None for query in data.queries)
    engine = DuckDbEngine(duckdb.connect(), data.tables, threads=1)
    for query in data.queries:
        outcome = run_query(query, {"duckdb": engine}, runs=1, warmup=0)
        assert [measured.difference for measured in outcome.measurements] == [None], query.id


def test_skewed_data_has_published_answers_only_without_skew(cache: DataCache) -> None:
    plain, skewed = (
        TPCH_ZIPF_SUITE.prepare(DataRequest(SF, zipf, "natural", cache, lambda step: None, query_ids=("6",))) for zipf in (0.0, 1.0)
    )
    assert [query.answer for query in skewed.queries] == [None]
    outcome = run_query(plain.queries[0], {"duckdb": DuckDbEngine(duckdb.connect(), plain.tables, threads=1)}, runs=1, warmup=0)
    assert plain.queries[0].answer is not None and outcome.measurements[0].difference is None


def test_variants_give_the_rows_of_their_originals(cache: DataCache) -> None:
    """Their Spark texts, which DuckDB understands too."""
    from dataclasses import replace

    for dataset in (tpch_tables(cache, SF), skewed_tables(cache, SF, 1.0)):
        engine = DuckDbEngine(duckdb.connect(), {file.stem: file for file in dataset.path.glob("*.parquet")}, threads=1)
        for query in tpch_queries(SF)[22:]:
            variant = engine.run(replace(query, duckdb_sql=query.spark_sql))
            assert sorted(map(str, variant.rows)) == sorted(map(str, engine.run(query).rows)), query.id


def test_money_is_written_as_whole_numbers(skewed: Dataset) -> None:
    schema = pq.ParquetFile(skewed.path / "lineitem.parquet").schema
    assert schema.column(schema.to_arrow_schema().get_field_index("l_tax")).physical_type == "INT64"
    assert schema.to_arrow_schema().field("l_tax").type == pa.decimal128(15, 2)
