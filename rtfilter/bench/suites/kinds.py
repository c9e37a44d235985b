"""Suite `kinds`: one fact joined with build sides of 1 to 10,000,000 distinct keys, for time and packs kept as a curve over them.

At scale factor 1 the fact has 20,000,000 rows over as many keys. It has two key columns that say the same: `f_key` is dense
(0, 1, 2, …: a bitmap can hold it), `f_wide` is spread a thousandfold (no bitmap of a bearable size can). Build keys are spread
evenly over the domain, so that beyond some thousands of keys every pack holds one and only the test of each row is left.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from rtfilter.bench.suites.data_cache import Dataset, Manifest
from rtfilter.bench.suites.duckdb_generators import GENERATOR_BYTES, connection, quoted
from rtfilter.bench.suites.layout import CLUSTERED, NATURAL, SHUFFLED, laid_out_tables
from rtfilter.bench.suites.suite import DataRequest, Query, Suite, SuiteData
from rtfilter.errors import BenchError

if TYPE_CHECKING:
    import duckdb

KEY_COUNTS = tuple(10**exponent for exponent in range(8))
DOMAIN_AT_SF1 = 20_000_000
WIDE_STEP = 1009
"""A prime, so that the wide keys have no common power of two for a hash to stumble over."""
JITTER_SHARE = 0.01
"""Of the domain: how far a row of the natural layout may lie from where its key would have it, as in a table that is loaded
roughly in order."""
SEED = 20260101


def prepare(request: DataRequest) -> SuiteData:
    """Finds or makes the fact in the asked layout and one build table for each number of keys that the scale has room for."""
    domain = round(DOMAIN_AT_SF1 * request.sf)
    counts = tuple(count for count in KEY_COUNTS if count <= domain)
    if not counts:
        raise BenchError(f"suite 'kinds' has no key at scale factor {request.sf:g}. Give at least --sf {1 / DOMAIN_AT_SF1:g}.")
    if counts != KEY_COUNTS:
        request.say(f"leaves out more than {counts[-1]:,} keys: at scale factor {request.sf:g} the fact has {domain:,} of them")
    queries = request.wanted(kinds_queries(counts))
    generated = _generated(request, domain, counts)
    return SuiteData(laid_out_tables(request, generated, queries, {"fact": "f_key"}), queries)


def kinds_queries(counts: tuple[int, ...]) -> tuple[Query, ...]:
    """`keys=N` joins on the dense key, `wide keys=N` on the spread one."""
    return tuple(_query(family, count) for family in ("keys", "wide keys") for count in counts)


def _query(family: str, count: int) -> Query:
    column, build = ("wide" if family == "wide keys" else "key"), _build_table(count)
    sql = f"SELECT count(*), sum(f_value), sum(b_value) FROM fact JOIN {build} ON f_{column} = b_{column}"
    return Query(f"{family}={count}", sql, sql, ("fact", build), family=family, build_keys=count)


def _build_table(count: int) -> str:
    return f"build_{count}"


def _generated(request: DataRequest, domain: int, counts: tuple[int, ...]) -> Dataset:
    def build(directory: Path) -> Manifest:
        scratch = directory / ".scratch"
        scratch.mkdir()
        with connection(scratch, most_bytes=GENERATOR_BYTES) as con:
            request.say(f"makes a fact of {domain:,} rows")
            position = f"hash(i, {SEED}) % {max(1, round(domain * JITTER_SHARE))} + i"
            _copy(con, directory / "fact.parquet", f"{_fact_sql(domain)} ORDER BY {position}, i")
            for count in counts:
                request.say(f"makes a build side of {count:,} keys")
                _copy(con, directory / f"{_build_table(count)}.parquet", _build_sql(domain, count))
        shutil.rmtree(scratch)
        return {"sf": request.sf, "rows": {"fact": domain}, "keys": list(counts)}

    return request.cache.dataset(f"kinds-sf{request.sf:g}", build)


def _fact_sql(domain: int) -> str:
    values = f"CAST(hash(i, {SEED} + 1) % 1000 AS INTEGER) AS f_value, hash(i) / 1e19 AS f_amount"
    return f"SELECT i AS f_key, i * {WIDE_STEP} AS f_wide, {values} FROM range({domain}) AS numbers(i)"


def _build_sql(domain: int, count: int) -> str:
    """Key k of n lies in the middle of the k-th nth of the domain; a hash order, since nobody's build side comes sorted."""
    key = f"(CAST(i AS HUGEINT) * {domain} + {domain // 2}) // {count}"
    columns = f"CAST({key} AS BIGINT) AS b_key, CAST({key} * {WIDE_STEP} AS BIGINT) AS b_wide, CAST(i % 7 AS INTEGER) AS b_value"
    return f"SELECT {columns} FROM range({count}) AS numbers(i) ORDER BY hash(i, {SEED}), i"


def _copy(con: duckdb.DuckDBPyConnection, file: Path, sql: str) -> None:
    con.execute(f"COPY ({sql}) TO '{quoted(file)}' (FORMAT parquet)")


SUITE = Suite(
    name="kinds",
    doc="one fact x build sides of 1 to 10,000,000 distinct keys, shuffled joins, dense and wide keys",
    layouts=(NATURAL, CLUSTERED, SHUFFLED),
    query_ids=tuple(query.id for query in kinds_queries(KEY_COUNTS)),
    prepare=prepare,
    broadcast_threshold_bytes=-1,
)
