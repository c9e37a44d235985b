"""Reasons by the join itself and by what stands for the whole query."""

from __future__ import annotations

from tests.spark.reasons.row import ALWAYS, SHUFFLED, Row

JOIN = "select v from fact join dim on k = id where grp = 3"
BUILD_BELOW = "select /*+ broadcast(d) */ d.id, f.v from fact f join dim d on f.k = d.id where 100 / (f.v - 500) <> 3"

OF_JOINS = (
    Row("PLANNED", JOIN, "broadcast"),
    Row("PLANNED", JOIN, "shuffled", {**SHUFFLED, **ALWAYS}),
    Row("ADAPTIVE_OFF", JOIN, "before it runs", {"spark.sql.adaptive.enabled": "false"}),
    Row("COST_NEVER", JOIN, conf={"rtfilter.cost": "never"}),
    Row("HINT_NEVER", JOIN.replace("select", "select /*+ RTFILTER(never) */")),
    Row("PRESERVED_SIDE", "select v, id from fact left join dim on k = id", "left outer"),
    Row("PRESERVED_SIDE", "select v, id from dim right join fact on k = id", "right outer"),
    Row("PRESERVED_SIDE", "select v, (select name from dim where id = k) from fact", "scalar subquery"),
    Row("ANTI_JOIN", "select v from fact left anti join dim on k = id"),
    Row("EXISTENCE_JOIN", "select v from fact where v < 0 or exists (select 1 from dim where id = k)"),
    Row("FULL_OUTER_JOIN", "select v, id from fact full outer join dim on k = id"),
    Row("NULL_AWARE_JOIN", "select v from fact where k not in (select idn from dim)"),
    Row("DUPLICATE_KEY", "select f.v from fact f join fact g on f.k = g.k join dim on f.k = id and g.k = id"),
    Row("NULL_SAFE_PAIR", "select v from fact join dim on kn <=> idn"),
    Row(
        "SOURCE_NOT_EXCHANGED",
        "select 1 from (select k, max(v) m from fact group by k) join (select id, count(*) c from dim group by id) on k = id",
        conf=SHUFFLED,
    ),
    Row("MAY_RAISE", JOIN.replace("grp = 3", "100 / (grp - 3) > -1000"), "the build side", {**SHUFFLED, **ALWAYS}),
    Row("MAY_RAISE", f"select /*+ broadcast(e) */ * from ({BUILD_BELOW}) x join dim e on x.id = e.id", "beside it"),
    Row("MAY_RAISE", "select v from fact join dim on k = id and 100 / (v - 500) <> id", "the join"),
    Row("MAY_RAISE", "select v from fact join dim on k = id and cast(s as int) = grp", "another key"),
    Row("MAY_RAISE", "select v from fact join dim on cast(s as int) = id", "the key"),
    Row(
        "NOT_DETERMINISTIC",
        "select v from fact join (select /*+ shuffle_hash(dim) */ * from dim limit 9) on k = id",
        "build side",
        SHUFFLED,
    ),
    Row("KEY_TYPE", "select v from fact join dim on s collate utf8_lcase = name", "collated"),
    Row("KEY_TYPE", "select v from fact join dim on s collate utf8_lcase = name", "collated, shuffled", SHUFFLED),
    Row("KEY_TYPE", "select v from fact join dim on named_struct('a', k) = named_struct('a', id)", "no type of keys"),
)
