"""What the queries of tests/spark/event_logs/make_logs.py ask of their tables, written by hand."""

from __future__ import annotations

from rtfilter.advice.statistics.tables import ColumnStatistics, TableStatistics

COLUMNS = {
    "sales": ("s_item", "s_day", "s_shop", "s_price"),
    "item": ("i_id", "i_kind", "i_size", "i_code"),
    "shop": ("h_id", "h_city"),
    "price": ("p_item", "p_day", "p_level"),
    "visits": ("v_price", "v_shop"),
}
TABLES = {
    name: TableStatistics(name, None, {column: ColumnStatistics(column) for column in columns}, path=f"/data/tables/{name}")
    for name, columns in COLUMNS.items()
} | {"saved_sales": TableStatistics("saved_sales", None, {name: ColumnStatistics(name) for name in COLUMNS["sales"]})}

COUNT = (("count", ()),)
# By query: of each table its condition, join keys and group keys; then the aggregates.
Asked = dict[str, tuple[str, str, str]]
EXPECTED: dict[str, tuple[Asked, tuple[tuple[str, tuple[str, ...]], ...]]] = {
    "broadcast": (
        {"sales": ("s_day range", "s_item", ""), "item": ("i_kind = ?", "i_id", "i_kind")},
        (("count", ()), ("sum", ("s_price",))),
    ),
    "shuffled": ({"sales": ("", "s_item", "s_shop"), "item": ("i_size range", "i_id", "")}, (("max", ("s_price",)),)),
    "empty dimension": ({"sales": ("", "s_item", ""), "item": ("i_kind = ?", "i_id", "")}, COUNT),
    "two joins": (
        {"sales": ("", "s_item s_shop", ""), "item": ("i_kind = ?", "i_id", ""), "shop": ("h_city = ?", "h_id", "")},
        COUNT,
    ),
    "two keys": ({"sales": ("", "s_day s_item", ""), "price": ("p_level = ?", "p_day p_item", "")}, COUNT),
    "semi": ({"sales": ("", "s_item", ""), "item": ("i_size = ?", "i_id", "")}, COUNT),
    "anti": ({"sales": ("", "s_item", ""), "item": ("i_size range", "i_id", "")}, COUNT),
    "left outer": ({"sales": ("", "s_item", ""), "item": ("i_size = ?", "i_id", "")}, (("count", ("i_kind",)),)),
    "right outer": ({"sales": ("", "s_item", ""), "item": ("i_size = ?", "i_id", "")}, COUNT),
    "full outer": ({"sales": ("", "s_item", ""), "item": ("i_size = ?", "i_id", "")}, COUNT),
    "computed key": ({"sales": ("s_item is not null", "", ""), "item": ("i_size = ? and i_id is not null", "", "")}, COUNT),
    "dynamic partitions": (
        {"visits": ("", "v_shop", ""), "shop": ("h_city = ?", "h_id", "")},
        (("avg", ("v_price",)), ("count", ())),
    ),
    "numbers": ({"sales": ("s_item in (3) or s_day = ?", "", "")}, COUNT),
    "many numbers": ({"sales": ("s_item in (12) and s_day range", "", "")}, COUNT),
    "texts": ({"item": ("i_kind in (4) and i_code like", "", "")}, COUNT),
    "nulls": ({"item": ("i_code is null or (i_size <> ? and i_size <> ?)", "", "")}, COUNT),
    "functions": ({"item": ("function(i_kind) and function(i_size)", "", "")}, COUNT),
    "saved": ({"saved_sales": ("s_item = ?", "", "")}, (("count", ("s_shop",)), ("min", ("s_price",)))),
    "saved join": ({"saved_sales": ("", "s_item", ""), "item": ("i_size = ?", "i_id", "")}, COUNT),
    "self": ({"item": ("i_kind = ?", "i_size", ""), "item 2": ("", "i_id", "")}, COUNT),
    "copy": ({"sales": ("", "s_item", ""), "item": ("i_size = ?", "i_id", "")}, ()),
}
# Of which the log does not show all: texts are not quoted there.
PARTIAL = {"texts"}
