"""A case's query as text, for Spark and for DuckDB. They differ in how they write `<=>` and semi and anti joins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.spark.differential.cases import Block, Case, Filter, Item, Join, Key, Relation, Subquery

SPARK = "spark"
DUCKDB = "duckdb"

Columns = Mapping[str, Sequence[str]]

# What a join key may make of its column.
FORMS = {
    "plain": "{}",
    "wide": "cast({} as bigint)",
    "plus": "(cast({} as bigint) + 1)",
    "negated": "(0 - cast({} as bigint))",
    "narrow": "try_cast({} as smallint)",
    "not null": "coalesce({}, 0)",
    "next day": "({} + 1)",
    "as decimal": "cast({} as decimal(21,3))",
    "as double": "cast({} as double)",
    "day": "cast({} as date)",
    "opposite": "(not {})",
    "doubled": "({} || {})",
    "not null text": "coalesce({}, 'k00007')",
    "not null binary": "coalesce({}, unhex('6b3030303037'))",
    # Null past the end of the type; DuckDB has no try_add.
    "tried": "try_add(cast({} as int), 7)",
    "tried long": "try_subtract(-7, cast({} as bigint))",
    # Round the end of the type, in a session that does not raise.
    "wrapped": "(cast({} as int) + 7)",
    "wrapped long": "(-7 - cast({} as bigint))",
    "next week": "date_add({}, 7)",
    "decimal plus": "({} + 1)",
    "decimal negated": "(0 - {})",
}
_INT, _LONG = 2**31, 2**63
DUCKDB_FORMS = {
    **FORMS,
    "tried": f"(case when cast({{}} as bigint) + 7 < {_INT} then cast({{}} as bigint) + 7 end)",
    "tried long": f"(case when -7 - cast({{}} as hugeint) >= -{_LONG} then -7 - cast({{}} as hugeint) end)",
    "wrapped": f"((cast({{}} as bigint) + 7 + {3 * _INT}) % {2 * _INT} - {_INT})",
    "wrapped long": f"((-7 - cast({{}} as hugeint) + {3 * _LONG}) % {2 * _LONG} - {_LONG})",
    "next week": "({} + 7)",
    # DuckDB adds within 18 digits where both sides have fewer; no column has more than 20 before the point and 6 behind it.
    "decimal plus": "(cast({} as decimal(38,6)) + 1)",
    "decimal negated": "(0 - cast({} as decimal(38,6)))",
}
# What a session may make of an overflow depends on its mode.
NOT_ANSI = ("wrapped", "wrapped long")

ITEMS = {
    "column": "{column}",
    "count": "count({column})",
    "distinct": "count(distinct {column})",
    "sum": "sum({column})",
    "min": "min({column})",
    "max": "max({column})",
    "rank": "rank() over (partition by {column} order by {alias}.v nulls first)",
    "total": "sum({alias}.v) over (partition by {column})",
}


def render(case: Case, dialect: str) -> str:
    """The query's text."""
    columns: dict[str, Sequence[str]] = {table.name: [column.name for column in table.columns] for table in case.tables}
    ctes = []
    for cte in case.query.ctes:
        ctes.append(f"{cte.alias} as ({_body(cte, columns)})")
        columns[cte.alias] = columns[cte.source]
    blocks = " union all ".join(_block(block, columns, dialect) for block in case.query.blocks)
    return f"with {', '.join(ctes)} {blocks}" if ctes else blocks


def _conditions(filters: Sequence[Filter], alias: str = "") -> list[str]:
    prefix = f"{alias}." if alias else ""
    return [each.condition.format(prefix + each.column) for each in filters]


def _where(conditions: Sequence[str]) -> str:
    return f" where {' and '.join(conditions)}" if conditions else ""


def _body(relation: Relation, columns: Columns) -> str:
    """The SELECT that a shape makes of its table."""
    names = list(columns[relation.source])
    listed, where, column = ", ".join(names), _where(_conditions(relation.filters)), relation.column
    rows = f"from {relation.source}{where}"
    if relation.shape == "plain":
        return f"select {listed} {rows}"
    if relation.shape == "grouped":
        others = [name if name == column else f"{'sum' if name == 'v' else 'min'}({name}) as {name}" for name in names]
        return f"select {', '.join(others)} {rows} group by {column}"
    if relation.shape == "numbered":
        numbered = f"select {listed}, row_number() over (partition by {column} order by v) as n {rows}"
        return f"select {listed} from ({numbered}) w where n <= {relation.size}"
    if relation.shape == "limited":
        return f"select {listed} {rows} order by v limit {relation.size}"
    if relation.shape == "distinct":
        return f"select distinct {', '.join('cast(7 as bigint) as v' if name == 'v' else name for name in names)} {rows}"
    if relation.shape == "unioned":
        return f"select {listed} {rows} union all select {listed} from {relation.second}"
    if relation.shape == "joined":
        outer = ", ".join(f"x.{name}" for name in names)
        on = f"x.{column} = y.{column}"
        return (
            f"select {outer} from {relation.source} x join {relation.second} y on {on}{_where(_conditions(relation.filters, 'x'))}"
        )
    raise ValueError(f"there is no shape {relation.shape!r}")


def _from(relation: Relation, columns: Columns) -> str:
    if relation.shape == "plain" and not relation.filters:
        return f"{relation.source} {relation.alias}"
    return f"({_body(relation, columns)}) {relation.alias}"


def _key(key: Key, alias: str, dialect: str) -> str:
    forms = FORMS if dialect == SPARK else DUCKDB_FORMS
    left = forms[key.left_form].replace("{}", f"{key.left_alias}.{key.left}")
    right = forms[key.right_form].replace("{}", f"{alias}.{key.right}")
    null_safe = "<=>" if dialect == SPARK else "is not distinct from"
    return f"{left} {null_safe if key.null_safe else '='} {right}"


def _join(join: Join, columns: Columns, dialect: str) -> str:
    kind = join.kind if dialect == SPARK else join.kind.removeprefix("left ") if join.kind != "left" else "left"
    alias = join.relation.alias
    on = [*(_key(key, alias, dialect) for key in join.keys), *_conditions(join.filters, alias)]
    return f"{kind} join {_from(join.relation, columns)} on {' and '.join(on)}"


def _subquery(subquery: Subquery) -> str:
    outer = f"{subquery.alias}.{subquery.column}"
    conditions = _conditions(subquery.filters, "i")
    if subquery.kind in ("in", "not in"):
        text = f"{outer} {subquery.kind} (select i.{subquery.inner} from {subquery.table} i{_where(conditions)})"
    elif subquery.kind in ("exists", "not exists"):
        text = f"{subquery.kind} (select 1 from {subquery.table} i{_where([f'i.{subquery.inner} = {outer}', *conditions])})"
    else:
        text = f"{outer} >= (select min(i.{subquery.inner}) from {subquery.table} i{_where(conditions)})"
    if subquery.otherwise is None:
        return text
    return f"({text} or {_conditions([subquery.otherwise], subquery.alias)[0]})"


def _item(item: Item) -> str:
    return ITEMS[item.function].format(alias=item.alias, column=f"{item.alias}.{item.column}")


def _block(block: Block, columns: Columns, dialect: str) -> str:
    outputs = [*block.group, *block.items]
    hint = (
        f"/*+ {', '.join(f'{hint.strategy}({hint.alias})' for hint in block.hints)} */ " if block.hints and dialect == SPARK else ""
    )
    parts = [f"select {hint}{', '.join(f'{_item(item)} as c{number}' for number, item in enumerate(outputs))}"]
    parts.append(f"from {_from(block.first, columns)}")
    parts += [_join(join, columns, dialect) for join in block.joins]
    where = [condition for alias, each in block.where for condition in _conditions([each], alias)]
    where += [_subquery(subquery) for subquery in block.subqueries]
    if where:
        parts.append(_where(where).strip())
    if block.group:
        parts.append(f"group by {', '.join(_item(item) for item in block.group)}")
    elif is_aggregate(block):
        # An aggregate of nothing is a row; a check that counts rows must not take it for one.
        parts.append("having count(*) > 0")
    if block.limit is not None:
        parts.append(f"order by {', '.join(f'{number + 1} nulls first' for number in range(len(outputs)))} limit {block.limit}")
    return " ".join(parts)


def is_aggregate(block: Block) -> bool:
    return any(item.function in ("count", "distinct", "sum", "min", "max") for item in block.items)
