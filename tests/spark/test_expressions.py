"""What can fail: every class of Spark's expressions is in the planner's table, and what is said never to fail does not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import rtfilter
from planner.plan.spark_expressions import KNOWN, LITERAL, NEVER, NOT_RUN
from tests.spark.classes import expression_classes

# Attributes and literals are nothing that is evaluated, aliases a name.
NOT_SHOWN = {"AttributeReference", "BoundReference", "Literal", "Alias"}


def test_every_class_of_expressions_is_in_the_table(spark: SparkSession) -> None:
    found = expression_classes(spark)
    names = set(found)
    assert len(names) > 700
    assert names - set(KNOWN) - NOT_SHOWN == set(), (
        "a new Spark has new expressions: say in planner/plan/spark_expressions.py how each is known"
    )
    ours = {"RuntimeFilter", "StaticInvoke:CharVarcharCodegenUtils.readSidePadding"}
    assert set(KNOWN) - names - ours == set(), "these are gone"
    replaced = {name for name, is_replaced in found.items() if is_replaced}
    assert {name for name in replaced if KNOWN[name] != NOT_RUN} == set()


INTS = (None, 0, 1, -1, 7, 2**31 - 1, -(2**31))
LONGS = (None, 0, 1, -1, 2**63 - 1, -(2**63))
DOUBLES = (None, 0.0, -0.0, 1.5, -1e308, 1e308, float("nan"), float("inf"), float("-inf"), 5e-324)
TEXTS = (
    *(None, "", " ", "abc", "ß\u0130", "\U0001f600x", "%_\\", "a" * 300, "12", "1e400"),
    *('{"a": [1, {"b": null}]}', "{", "2024-02-30", "\x00"),
)
BYTES = (None, b"", b"\x00", b"\xff\xfe\x80", b"abc")
# Beyond these Spark's own functions of dates know no text.
DAYS = (None, 0, -719162, 2932896, 19000, -141427)
MOMENTS = (None, 0, -62135596800000000, 253402300799999999, 1_700_000_000_123_456)
LISTS: tuple[Any, ...] = (None, [], [None], [1, None, 1], [2**31 - 1, -(2**31)], list(range(50)))
TEXT_LISTS: tuple[Any, ...] = (None, [], [None, ""], ["b", "a", "b"])
MAPS: tuple[Any, ...] = (None, [], [("a", 1)], [("", None), ("b", -1)])


def awkward_table() -> pa.Table:
    """Two columns of each type, of which each value of the one meets each of the other."""
    values: dict[str, tuple[tuple[Any, ...], pa.DataType]] = {
        "i": (INTS, pa.int32()),
        "l": (LONGS, pa.int64()),
        "s": ((None, 0, 32767, -32768), pa.int16()),
        "d": (DOUBLES, pa.float64()),
        "f": (DOUBLES[:3] + DOUBLES[6:9], pa.float32()),
        "t": (TEXTS, pa.string()),
        "y": (BYTES, pa.binary()),
        "b": ((None, True, False), pa.bool_()),
        "day": (DAYS, pa.date32()),
        "at": (MOMENTS, pa.timestamp("us", "UTC")),
        "a": (LISTS, pa.list_(pa.int32())),
        "ta": (TEXT_LISTS, pa.list_(pa.string())),
        "m": (MAPS, pa.map_(pa.string(), pa.int32())),
    }
    columns = {}
    for name, (each, type_) in values.items():
        pairs = list(itertools.islice(itertools.cycle(itertools.product(each, each)), 196))
        columns[f"{name}1"] = pa.array([one for one, _ in pairs], type_)
        columns[f"{name}2"] = pa.array([two for _, two in pairs], type_)
    small = pa.array([None, 0, 1, -1] * 49, pa.int32())
    nines = pa.array(["99999999.99", "-99999999.99", None, "0.00"] * 49, pa.string()).cast(pa.decimal128(10, 2))
    return pa.table({**columns, "n": small, "c": nines})


@pytest.fixture(scope="module")
def awkward(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder: Path = tmp_path_factory.mktemp("awkward")
    pq.write_table(awkward_table(), folder / "part.parquet")
    own = session.newSession()
    own.conf.set("spark.sql.ansi.enabled", True)
    own.conf.set("rtfilter.planner.timeoutMs", "30000")
    own.read.parquet(str(folder)).createOrReplaceTempView("awkward")
    pq.write_table(pa.table({"id": pa.array([5, 8], pa.int32())}), folder.parent / "ids.parquet")
    own.read.parquet(str(folder.parent / "ids.parquet")).createOrReplaceTempView("ids")
    yield own


# One after the other, on the columns of `awkward_table`.
NEVER_FAIL = r"""
acos(d1); acosh(d1); asin(d1); asinh(d1); atan(d1); atanh(d1); cbrt(d1); cos(d1); cosh(d1); cot(d1); csc(d1); exp(d1);
expm1(d1); ln(d1); log10(d1); log1p(d1); log2(d1); rint(d1); sec(d1); signum(d1); sin(d1); sinh(d1); sqrt(d1); tan(d1);
tanh(d1); degrees(d1); radians(d1); isnan(d1); abs(d1); negative(d1); ascii(t1); bit_length(t1);
char_length(t1); octet_length(t1); upper(t1); lower(t1); initcap(t1); trim(t1); ltrim(t1); rtrim(t1); reverse(t1);
soundex(t1); md5(t1); sha1(t1); crc32(t1); year(day1); month(day1); dayofmonth(day1); dayofweek(day1); dayofyear(day1);
weekday(day1); weekofyear(day1); quarter(day1); last_day(day1); dayname(day1); monthname(day1); hour(at1); minute(at1);
second(at1); unix_seconds(at1); unix_millis(at1); unix_micros(at1); atan2(d1, d2); hypot(d1, d2); pow(d1, d2); log(d1, d2);
nanvl(d1, d2); greatest(d1, d2); least(t1, t2); factorial(i1); d1 + d2; d1 * d2; d1 - d2; d1 / 3; d1 % 3; i1 % 3;
pmod(i1, 3); i1 div 3; c + c; c * c; c / 3; try_add(i1, i2); try_divide(d1, d2); try_divide(i1, i2); try_multiply(l1, l2);
try_subtract(i1, i2); try_mod(i1, i2); try_cast(t1 as int); try_cast(t1 as date); try_cast(d1 as int);
try_cast(t1 as double); try_cast(t1 as timestamp); cast(i1 as bigint); cast(i1 as double); cast(l1 as double);
cast(l1 as string); cast(d1 as float); cast(i1 as decimal(12,2)); cast(at1 as date); cast(day1 as timestamp);
cast(b1 as int); cast(i1 as boolean); cast(t1 as binary); cast(c as double); cast(at1 as bigint); cast(d1 as string);
cast(day1 as string); cast(a1 as string); cast(b1 as decimal(3,1)); i1 & i2; i1 | i2; i1 ^ i2; ~i1; bit_count(l1);
shiftleft(i1, i2); shiftright(l1, i2); shiftrightunsigned(l1, i2); bin(l1); hex(t1); hex(l1); chr(l1); levenshtein(t1, t2);
find_in_set(t1, t2); instr(t1, t2); locate(t1, t2, i1); concat(t1, t2); concat_ws(t1, t2, 'x'); concat_ws(',', ta1);
contains(t1, t2); startswith(t1, t2); endswith(t1, t2); replace(t1, t2, 'x'); translate(t1, t2, 'ab'); substring(t1, i1, i2);
substring_index(t1, t2, i1); sha2(t1, n); trim(t2 from t1); t1 like 'a%'; t1 like '%\\%_b'; t1 like any ('a%', 'b');
t1 like all ('a%', 'b'); t1 not like all ('a%', 'b_'); t1 not like any ('a', 'b%'); t1 rlike '^(a|b)+c?$'; split(t1, '[ab]');
split(t1, 'a', 2); regexp_extract(t1, '(a)(b)', 2); regexp_extract(t1, 'ab', 0); regexp_extract(t1, '(?:x)([(])\\(y', 1);
regexp_extract_all(t1, '(a)', 1); regexp_replace(t1, 'a+', 'z'); overlay(t1 placing t2 from i1); get_json_object(t1, '$.a');
get_json_object(t1, t2); repeat(t1, 3); lpad(t1, 20, t2); rpad(t1, 20, t2); space(3); ltrim(t2, t1); rtrim(t2, t1);
date_add(day1, i1); date_sub(day1, i1); datediff(day1, day2); unix_date(day1); date_from_unix_date(i1); trunc(day1, t1);
trunc(day1, 'MM'); timestamp_micros(l1); extract(yearofweek from day1); size(a1); array_contains(a1, i1); array_distinct(a1);
array_except(a1, a2); array_intersect(a1, a2); array_union(a1, a2); arrays_overlap(a1, a2); array_join(ta1, t1);
array_join(ta1, t1, t2); array_max(a1); array_min(a1); array_position(a1, i1); array_remove(a1, i1); arrays_zip(a1, a2);
sort_array(a1); flatten(array(a1, a2)); array(i1, i2); array_repeat(i1, 3); concat(a1, a2); transform(a1, x -> x is null);
filter(a1, x -> x > 1); exists(a1, x -> x > 1); forall(a1, x -> x > 1); zip_with(a1, a2, (x, y) -> x > y); map_keys(m1);
map_values(m1); map_entries(m1); map_filter(m1, (k, v) -> v > 0); m1['a']; named_struct('x', i1, 'y', t1); struct(i1, t1).t1;
array(struct(i1, t1)).t1; hash(i1, t1, d1, a1); xxhash64(i1, t1, day1); coalesce(t1, t2); if(b1, i1, i2);
case when b1 then i1 when b2 then i2 end; i1 = i2; i1 <=> i2; d1 < d2; d1 <= d2; t1 > t2; t1 >= t2; b1 and b2; b1 or b2;
not b1; i1 in (1, 2, i2); i1 in (1,2,3,4,5,6,7,8,9,10,11,12,13); t1 is null; t1 is not null; reverse(a1); pi() + d1;
e() * d1; typeof(t1); input_file_name(); monotonically_increasing_id() is null; make_date(2000, 1, 1); ceil(c); floor(c);
abs(c); negative(c)
"""

OF_MANY_ROWS = """
count(i1); min(t1); max(d1); first(i1); last(i1); max_by(i1, d1); min_by(i1, t1); bit_and(l1); bit_or(l1); bit_xor(l1);
corr(d1, d2); covar_pop(d1, d2); covar_samp(d1, d2); stddev_pop(d1); stddev_samp(d1); var_pop(d1); var_samp(d1);
kurtosis(d1); skewness(d1);
collect_list(i1); collect_set(t1); approx_count_distinct(t1); sum(s1); sum(c); avg(c); avg(l1); avg(i1); sum(d1);
row_number() over (partition by i1 order by l1); rank() over (order by l1); dense_rank() over (order by l1);
percent_rank() over (order by l1); cume_dist() over (order by l1); ntile(3) over (order by l1); lead(i1) over (order by l1);
lag(i1) over (order by l1); nth_value(i1, 2) over (order by l1);
max(i1) over (order by l1 rows between 1 preceding and 1 following);
min(i1) over (order by l1 rows between unbounded preceding and current row);
min(i1) over (order by l1 rows between current row and unbounded following)
"""

SQL = [sql.strip() for sql in NEVER_FAIL.split(";")]
ALL_SQL = [*SQL, *(sql.strip() for sql in OF_MANY_ROWS.split(";"))]


# What only Spark itself makes, what has no argument, and what is computed, or written otherwise, before anything runs.
_NOT_EVALUATED = """
AtLeastNNonNulls BloomFilterMightContain CollationAwareMurmur3Hash CollationAwareXxHash64 DynamicPruningExpression Empty2Null
EulerNumber GetArrayStructFields GetStructField HiveHash InSubqueryExec JsonTuple KnownFloatingPointNormalized KnownNotContainsNull
KnownNotNull KnownNullable LikeAll LikeAny MakeDecimal MonotonicallyIncreasingID NormalizeNaNAndZero NotLikeAny Pi
PreciseTimestampConversion Rand Randn RuntimeFilter ScalarSubquery SparkPartitionID TypeOf Uuid
StaticInvoke:CharVarcharCodegenUtils.readSidePadding
"""
NOT_EVALUATED = set(_NOT_EVALUATED.split())


def class_names(node: Any) -> set[str]:
    found = {str(node.getClass().getSimpleName())}
    children = node.children()
    for at in range(children.size()):
        found |= class_names(children.apply(at))
    return found


def evaluated(frame: Any) -> set[str]:
    """The classes of expressions in a frame's optimized plan."""
    found: set[str] = set()
    plans = [frame._jdf.queryExecution().optimizedPlan()]
    while plans:
        plan = plans.pop()
        for at in range(plan.expressions().size()):
            found |= class_names(plan.expressions().apply(at))
        plans += [plan.children().apply(at) for at in range(plan.children().size())]
    return found


@pytest.mark.parametrize("codegen", ["CODEGEN_ONLY", "NO_CODEGEN"])
def test_what_never_fails_has_a_value_for_everything(awkward: SparkSession, codegen: str) -> None:
    awkward.conf.set("rtfilter.enabled", False)
    awkward.conf.set("spark.sql.codegen.factoryMode", codegen)
    awkward.conf.set("spark.sql.codegen.wholeStage", codegen == "CODEGEN_ONLY")
    failed, seen = {}, set[str]()
    for sql in ALL_SQL:
        frame = awkward.sql(f"select {sql} as x from awkward")
        seen.update(evaluated(frame))
        try:
            frame.write.format("noop").mode("overwrite").save()
        except PySparkException as error:
            failed[sql] = str(error)[:200]
    assert failed == {}
    assert {name for name, how in KNOWN.items() if how in (NEVER, LITERAL)} - seen == NOT_EVALUATED
    for option in ("spark.sql.codegen.factoryMode", "spark.sql.codegen.wholeStage"):
        awkward.conf.unset(option)


def test_filters_pass_what_never_fails(awkward: SparkSession) -> None:
    """The expression stands between the scan and the join, on the probe side."""
    awkward.conf.set("rtfilter.enabled", True)
    awkward.conf.set("rtfilter.cost", "always")
    stopped = {}
    for sql in SQL:
        if "monotonically" in sql or "input_file" in sql:
            continue  # they do not fail, but go by the place of a row
        frame = awkward.sql(f"select /*+ broadcast(ids) */ * from (select i1, {sql} as x from awkward) join ids on i1 = id")
        reasons = {entry["reason"] for entry in rtfilter.why_not(frame).to_dict()["keys"]}
        if reasons != {"PLANNED"}:
            stopped[sql] = reasons
    assert stopped == {}
