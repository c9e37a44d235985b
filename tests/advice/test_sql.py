"""Statements of SQL: understood as Spark means them, or counted as not understood, never misread."""

from __future__ import annotations

import pytest
from sqlglot import exp

from rtfilter.advice.logs.sql_conditions import nodes_of
from rtfilter.advice.logs.sql_queries import fingerprint_of
from rtfilter.advice.logs.sql_texts import NotUnderstoodError, parsed, statements
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.workload.fingerprints import Fingerprint
from tests.advice.abstract import column, table

TABLES: dict[str, TableStatistics] = {
    "t": table(*(column(name, 10) for name in ("a", "b", "c", "d", "k"))),
    "s": table(*(column(name, 10) for name in ("x", "y", "k", "Mixed")), name="s"),
}


def read(sql: str) -> Fingerprint | None:
    return fingerprint_of(sql, TABLES)


def told(sql: str) -> str:
    found = read(sql)
    return "" if found is None else str(found)


NOT_UNDERSTOOD = [
    "select * from t where a = 'it''s'",
    'select * from t where a = "it""s"',
    "select * from t where a = 1 -- to the next line \\\nand b = 2",
    "select * from t where a = 4 | 1 & 2",
    "select * from t where a ^ 1 = 2",
    "select * from t where ~a = 2",
    "select * from t where a << 1 = 2",
    "select * from t where a >> 1 = 2",
    "select * from t where a >>> 1 = 2",
    "table t",
    "select * from (table t) where a = 1",
    "select * from s union all table t",
    "table t |> where a = 1",
    "from t |> where a = 1",
    "select * from t |> set a = 1 |> where a = 1",
    "select * from t |> drop b",
    "stream t",
    "select * from stream t where a = 1",
    "select v:a.b::int from t where a = 1",
    "select * from t where d:x.y = 1",
    "select * from t where a between symmetric 2 and 1",
    "begin select * from t where a = 1; end",
    "declare x int; begin set x = 1; end",
    "execute immediate 'select * from t where a = 1'",
    "create table u as table t",
    "explain select * from t where a = 1",
    "show partitions t",
    "msck repair table t",
    "insert overwrite directory '/x' using parquet options ('a' = 1) select * from t where a = 1",
    "select X '10' from t where a = 1",
    "select * from t where a = 1 qualify row_number() over (order by b) = 1",
    "select * from t pivot (sum(a) for b in (1, 2)) where a = 1",
    "select * from identifier('t') where a = 1",
    "select * from t where a = 1; select * from t where b = 1",
    "select * from t where a = ",
    "selec * from t",
    "%$§",
]


@pytest.mark.parametrize("sql", NOT_UNDERSTOOD)
def test_what_may_mean_something_else_is_not_understood(sql: str) -> None:
    with pytest.raises(NotUnderstoodError, match=r"\w"):
        read(sql)


UNDERSTOOD = [
    ("select * from t where a = ''", "t: a = ?"),
    ("select * from t where a = 'x' and b = 'y'", "t: a = ? and b = ?"),
    ("select * from t where a = 'it\\'s' and b = 1", "t: a = ? and b = ?"),
    ("select * from t where a = 1 -- b = 2\nand c = 3", "t: a = ? and c = ?"),
    ("select * from t where a = 1 /* b = 2 /* d = 1 */ */ and c = 3", "t: a = ? and c = ?"),
    ("select * from t where a = 'x' || 'y'", "t: a = ?"),
    ("select * from t where a = :p and b = ? and c in (:x, :y)", "t: a = ? and b = ? and c in (2)"),
    ("select percentile_cont(0.5) within group (order by a) from t where b = 1", "t: b = ?"),
    ("select listagg(a) from t where b = 1", "t: b = ?"),
    ("select -2::string from t where a = 1", "t: a = ?"),
    ("select * from t where -a::string = '1'", "t: function(a)"),
    ("select * from t tablesample (10 percent) repeatable (3) where a = 1", "t: a = ?"),
    ("select * from t where a=1 and (b=2 or c in (1, 2, 2))", "t: a = ? and (b = ? or c in (2))"),
    ("select * from t where a in ('#VALUES', 23)", "t: a in (23)"),
    ("select * from t where a not in (1, 2) and not (b = 1) and not b in (3)", "t: a not in (2) and b <> ? and b not in (1)"),
    ("select * from t where a == 1 and b != 2 and c <> 3 and d <=> 4", "t: a = ? and b <> ? and c <> ? and d = ?"),
    ("select * from t where a <=> null and b is not null and c is null", "t: a is null and b is not null and c is null"),
    ("select * from t where a = null", "t: other(a)"),
    ("select * from t where 1 = a and 5 > b and c between 1 and 2", "t: a = ? and b range and c range"),
    ("select * from t where not c between 1 and 2 and d not between 1 and 2", "t: not c range and not d range"),
    ("select * from t where a like 'x%' and b not like 'y' and c rlike 'z'", "t: a like and not b like and c like"),
    ("select * from t where not (a = 1 or b = 2)", "t: not (a = ? or b = ?)"),
    ("select * from t where lower(a) = 'x' and a + b = 3 and a = b", "t: function(a) and function(a, b) and function(a, b)"),
    ("select * from t where d", "t: d = ?"),
    ("select * from t where not d", "t: d <> ?"),
    ("select * from t where 1 = 1 and a = 1", "t: a = ?"),
    ("select * from t where 1 = 0 or a = 1", "t: other(a)"),
    ("select * from t where exists(b, e -> e = 1)", "t: function(b)"),
    ("select * from t where A = 1 and `B` = 2", "t: a = ? and b = ?"),
    ("select * from db.t where db.t.a = 1", "t: a = ?"),
    ("select * from s where mixed = 1", "s: Mixed = ?"),
    ("select a as qualify from t where a = 1", "t: a = ?"),
    ("from t select a where b = 1", "t: b = ?"),
    ("insert into u select * from t where a = 1", "t: a = ?"),
    ("insert into table u select * from t where a = 1", "t: a = ?"),
    ("create table u as select * from t where a = 1", "t: a = ?"),
    ("select * from t where a = 1 minus select * from t where b = 1", "t: a = ?; t: b = ?"),
    ("select /*+ broadcast(s) */ * from t join s on t.k = s.k where a = 1 and x = 2", "t: a = ?; s: x = ?"),
    ("select * from t, s where t.k = s.k and a = 1", "t: a = ?; s: no condition"),
    ("select * from t join s on t.k = s.k and x = 2", "t: no condition; s: x = ?"),
    # What an outer join fills with NULL is filtered before the join only by a condition that NULL fails.
    ("select * from t left join s on t.k = s.k where x = 2", "t: no condition; s: x = ?"),
    ("select * from t left join s on t.k = s.k where x is null", "t: no condition; s: no condition and more"),
    ("select * from t left join s on t.k = s.k where x = 1 or y is null", "t: no condition; s: no condition and more"),
    ("select * from t left join s on t.k = s.k and a = 1 and x = 2", "t: no condition and more; s: x = ?"),
    ("select * from t right join s on t.k = s.k and a = 1 and x = 2", "t: a = ?; s: no condition and more"),
    ("select * from t full join s on t.k = s.k and a = 1", "t: no condition and more; s: no condition"),
    ("select * from t left semi join s on t.k = s.k and x = 1 where a = 1", "t: a = ?; s: x = ?"),
    ("select * from t left anti join s on t.k = s.k and a = 1 and x = 1", "t: no condition and more; s: x = ?"),
    ("select * from t where a in (select x from s where y = 1) and b = 2", "t: b = ? and more; s: y = ?"),
    ("select * from t where a = 1 or b in (select x from s)", "t: no condition and more; s: no condition"),
    ("select * from t, s where a = 1 and (b = 1 or x = 1)", "t: a = ? and more; s: no condition and more"),
    ("with c as (select * from t where a = 1) select * from c where b = 2", "t: a = ?"),
    ("with t as (select * from t where a = 1) select * from t where b = 2", "t: a = ?"),
    ("select * from (select a from t where b = 1) u where a = 1", "t: b = ?"),
    ("select * from t u(b, a, z) where a = 1", ""),
    ("select * from t lateral view explode(d) e as z where z = 1 and a = 1", "t: a = ?"),
    ("select * from t where s.f = 1", "t: no condition"),
    ("select * from t where t.b.f = 1 and a = 1", "t: a = ? and more"),
    ("select * from u where a = 1", "tables without statistics: u"),
    ("select * from parquet.`/x/t` where a = 1", "tables without statistics: parquet./x/t"),
    ("select stream.a from t stream where stream.a = 1", "t: a = ?"),
    ("values 'a', 'b' as t(x)", ""),
    ("set spark.sql.ansi.enabled = true", ""),
    ("delete from t where a = 1", ""),
    ("create table u (a int)", ""),
    ("select 1", ""),
]


@pytest.mark.parametrize(("sql", "meaning"), UNDERSTOOD)
def test_what_is_understood_means_what_spark_means(sql: str, meaning: str) -> None:
    assert told(sql) == meaning


def test_columns_keys_and_results_are_told() -> None:
    found = read("select t.a, sum(b), count(*) from t join s on t.k = s.k where c > 1 group by t.a limit 7")
    assert found is not None
    first, second = found.uses
    assert (first.columns, first.join_keys, first.group_keys) == (("a", "b", "c", "k"), ("k",), ("a",))
    assert (second.columns, second.join_keys, second.group_keys) == (("k",), ("k",), ())
    assert (found.aggregates, found.plain, found.limit) == ((("sum", ("b",)), ("count", ())), False, 7)
    starred = read("select *, x from t join s using (k)")
    assert starred is not None and [(use.columns, use.join_keys) for use in starred.uses] == [(None, ("k",)), (None, ("k",))]


def test_columns_that_the_table_lacks_are_told() -> None:
    found = read("select a from t where xyz = 1 and t.uvw > 2 and a = 1")
    assert found is not None and found.uses[0].strangers == ("xyz", "uvw")


def test_only_literals_differ_between_queries_of_one_fingerprint() -> None:
    first, same = read("select a from t where b = 1 and c in (1, 2)"), read("SELECT A FROM t WHERE b=2 AND c IN (7,8)")
    other = read("select a from t where b = 1 and c in (1, 2, 3)")
    assert first == same and first != other
    assert first is not None and same is not None and first.id == same.id


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("select 1; select 2", ["select 1", "select 2"]),
        ("select ';' ; select \";\";", ["select ';'", 'select ";"']),
        ("select 'a\\';b' ; select `a;b`", ["select 'a\\';b'", "select `a;b`"]),
        ("select 1 -- a; b\n, 2; select 3", ["select 1 -- a; b\n, 2", "select 3"]),
        ("select 1 -- a \\\n; b\n, 2; select 3", ["select 1 -- a \\\n; b\n, 2", "select 3"]),
        ("select /* ; /* ; */ ; */ 1; select 2", ["select /* ; /* ; */ ; */ 1", "select 2"]),
        ("select 'a\n;b'; ;;\n select\n2", ["select 'a\n;b'", "select\n2"]),
        ("", []),
    ],
)
def test_files_are_cut_where_sparks_shell_cuts_them(text: str, found: list[str]) -> None:
    assert list(statements(text.splitlines(keepends=True))) == found


def test_an_endless_statement_is_not_understood() -> None:
    (text,) = statements(["select * from t where a in ("] + ["1,\n"] * 1_000_000)
    with pytest.raises(NotUnderstoodError, match="more than"):
        read(text)


@pytest.mark.parametrize(
    "sql", ["select 'secret", "select * from t where a = 'secret' and", "select 'secret' from t where a = 1 |> x 'secret'"]
)
def test_reasons_quote_nothing(sql: str) -> None:
    with pytest.raises(NotUnderstoodError) as error:
        read(sql)
    assert "secret" not in str(error.value) and "Line" not in str(error.value)


def test_deep_nesting_is_not_understood() -> None:
    with pytest.raises(NotUnderstoodError):
        read("select * from t where " + "(" * 20_000 + "a = 1" + ")" * 20_000)


def test_nodes_come_in_the_order_of_sqlglots_own_walk() -> None:
    text = (
        "with w as (select a, max(b) over (partition by c order by d) from t)"
        " select w.a, case when k in (1, 2) then f(b, c + d) end"
        " from w join s using (k) where exists (select 1 from s where x = w.a) and not (y between 1 and 2 or Mixed like 'a%')"
    )
    tree = parsed(text)
    assert [id(node) for node in nodes_of(tree)] == [id(node) for node in tree.walk()]
    kinds = (exp.Query, exp.Subquery)
    below = tree.find(exp.Where)
    assert [id(node) for node in nodes_of(below, kinds)] == [
        id(node) for node in below.walk(prune=lambda node: isinstance(node, kinds))
    ]
    assert len(nodes_of(below, kinds)) < len(nodes_of(below))
