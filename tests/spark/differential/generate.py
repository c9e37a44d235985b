"""From a seed to a case. Everything is drawn from the seed, so that it means the same case on every machine.

Tables cost more than queries: some seeds in a row share their tables.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from random import Random

from tests.spark.differential.cases import Block, Case, Filter, Hint, Item, Join, Key, Query, Relation, Subquery, Table
from tests.spark.differential.entities import generate_tables
from tests.spark.differential.values import BOUNDS, ODD_STRINGS, literal

# Seeds 0 to 7 have the same tables, so have 8 to 15, and so on.
QUERIES_PER_SET = 8
# What a join key makes of columns of types that are not whole numbers.
FORMS_OF_TYPE = {
    "date": ("next day", "next week"),
    "timestamp": ("day",),
    "timestamp_ntz": ("day",),
    "boolean": ("opposite",),
    "string": ("doubled", "not null text"),
    "binary": ("not null binary",),
    "float": ("as double", "not null"),
    "double": ("not null",),
}
JOIN_KINDS = {"inner": 58, "left semi": 16, "left": 9, "right": 4, "full": 2, "left anti": 7}
STRATEGIES = {"broadcast": 40, "merge": 30, "shuffle_hash": 30}
LEFT_COLUMNS_ONLY = ("left semi", "left anti")
SHAPES = {"plain": 85, "grouped": 7, "numbered": 5, "limited": 4, "distinct": 5, "unioned": 8, "joined": 6}
# What a CTE makes of its table: without an exchange of its own, and with one, which its uses may share.
CTE_SHAPES = {"plain": 45, "grouped": 20, "distinct": 10, "joined": 25}
SUBQUERIES = {"in": 4, "exists": 3, "scalar": 2, "not in": 1, "not exists": 2}


def generate(seed: int) -> Case:
    """The case of a seed."""
    tables = _tables(seed // QUERIES_PER_SET)
    # As texts, for Random takes -1 and 1, or a set and a query of one number, for the same seed.
    rng = Random(f"query {seed}")
    ansi = rng.random() > 0.2
    query = _QueryMaker(rng, tables, ansi).query()
    named = set(query.sources())
    return Case(seed, tuple(table for table in tables if table.name in named), query, _conf(rng, ansi))


@functools.lru_cache(maxsize=4)
def _tables(number: int) -> tuple[Table, ...]:
    return generate_tables(Random(f"tables {number}"))


def _conf(rng: Random, ansi: bool) -> tuple[tuple[str, str], ...]:
    """Small plans are compiled slower than they run, so most cases do without; the layer's own options vary too."""
    compiled = rng.random() < 0.1
    entries = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.ansi.enabled": str(ansi).lower(),
        "spark.sql.codegen.wholeStage": str(compiled).lower(),
        "spark.sql.codegen.factoryMode": "FALLBACK" if compiled else "NO_CODEGEN",
    }
    rare = [
        (0.25, "spark.sql.parquet.enableVectorizedReader", "false"),
        (0.12, "spark.sql.files.maxPartitionBytes", "16384"),
        (0.4, "spark.sql.autoBroadcastJoinThreshold", "-1"),
        (0.3, "rtfilter.kinds", rng.choice(["range", "set", "bloom", "range,bloom"])),
        (0.65, "rtfilter.cost", "always"),
        (0.12, "rtfilter.set.maxKeys", str(rng.choice([0, 1, 5]))),
    ]
    entries.update({key: value for share, key, value in rare if rng.random() < share})
    if "rtfilter.cost" not in entries:
        # Where rows are not tested one by one batches are; a pack has some tens of rows.
        entries["spark.sql.parquet.columnarReaderBatchSize"] = str(rng.choice([1, 7, 20]))
    return tuple(entries.items())


class _QueryMaker:
    """Draws a query over the tables; `sources` are the tables and, once there is one, the CTE."""

    def __init__(self, rng: Random, tables: tuple[Table, ...], ansi: bool) -> None:
        self.rng = rng
        self.ansi = ansi
        self.sources = {table.name: table for table in tables}
        self.facts = [table.name for table in tables if table.rows > 200] or [tables[0].name]
        self.others = [table.name for table in tables if table.name not in self.facts] or [tables[-1].name]

    def query(self) -> Query:
        ctes: tuple[Relation, ...] = ()
        if self.rng.random() < 0.2:
            ctes = (self._cte(),)
        if self.rng.random() < 0.15:
            items = self._items(["r0"], aggregate=self.rng.random() < 0.6)
            first = self._block(1)
            return Query(
                (replace(first, items=items, group=(), limit=None), replace(self._block(1), items=items, group=(), limit=None)),
                ctes,
            )
        return Query((self._block(self.rng.choices([1, 2, 3, 4], [42, 32, 18, 8])[0]),), ctes)

    def _cte(self) -> Relation:
        """One that blocks draw from now on: in place of the fact tables, or beside the others and mostly more than once."""
        rng = self.rng
        large = rng.random() < 0.4
        source = rng.choice(self.facts if large else self.others)
        shape = rng.choices(list(CTE_SHAPES), list(CTE_SHAPES.values()))[0]
        second = rng.choice(self.others) if shape == "joined" else ""
        cte = Relation("c0", source, shape, self._filters(source, 0.9), rng.choice(["a", "a", "b", "d"]), second)
        self.sources["c0"] = replace(self.sources[source], name="c0")
        if large:
            self.facts = ["c0"]
        # A fact table joined with itself again and again has no end; with a row for each key it has.
        if not large or (shape == "grouped" and rng.random() < 0.7):
            self.others = ["c0", "c0", *self.others]
        return cte

    def _block(self, joins: int) -> Block:
        rng = self.rng
        fact, swapped = rng.choice(self.facts), rng.random() < 0.12
        first = self._relation("r0", rng.choice(self.others) if swapped else fact, rng.random() < 0.15)
        visible, relations, made = ["r0"], {"r0": first}, []
        for number in range(1, joins + 1):
            source = fact if swapped and number == 1 else rng.choice(self.others)
            source = rng.choice(self.facts) if rng.random() < 0.04 else source
            relation = self._relation(f"r{number}", source, filtered=rng.random() < 0.6)
            join = self._join(relation, [relations[alias] for alias in visible])
            made.append(join)
            relations[relation.alias] = relation
            if join.kind not in LEFT_COLUMNS_ONLY:
                visible.append(relation.alias)
        hinted = [join.relation.alias for join in made if rng.random() < 0.85 and join.relation.source not in self.facts]
        hinted = ["r0"] if swapped or rng.random() < 0.08 else hinted
        hints = [Hint(rng.choices(list(STRATEGIES), list(STRATEGIES.values()))[0], alias) for alias in hinted]
        where = tuple((alias, each) for alias in visible for each in self._filters(relations[alias].source, 0.05))
        subqueries = (self._subquery(rng.choice(visible), relations),) if rng.random() < 0.15 else ()
        block = Block(first, tuple(made), (), where=where, subqueries=subqueries, hints=tuple(hints))
        return self._with_outputs(block, visible)

    def _relation(self, alias: str, source: str, filtered: bool) -> Relation:
        rng = self.rng
        if source == "c0":
            return Relation(alias, source)
        shape = rng.choices(list(SHAPES), list(SHAPES.values()))[0]
        # Most shapes end a key's way to its scan: good to have on fact tables, but not often.
        shape = "plain" if source in self.facts and rng.random() < 0.6 else shape
        second = rng.choice(self.others) if shape in ("unioned", "joined") else ""
        column = rng.choice(["a", "a", "b", "d"])
        filters = self._filters(source, 1.0) if filtered else ()
        return Relation(
            alias, source, shape, filters, column, second, rng.randint(1, 3) if shape == "numbered" else rng.randint(5, 200)
        )

    def _filters(self, source: str, chance: float) -> tuple[Filter, ...]:
        """Mostly on g or v, which tell Spark nothing of the keys; sometimes on a key, with values that the table has."""
        rng = self.rng
        if rng.random() > chance:
            return ()
        group = rng.randrange(10)
        choices = [
            Filter("g", f"{{}} = {group}"),
            Filter("g", f"{{}} in ({group}, {(group + 3) % 10})"),
            Filter("v", f"{{}} % {rng.randint(5, 9)} = {rng.randint(0, 4)}"),
            Filter("v", f"{{}} % {rng.randint(5, 9)} = {rng.randint(0, 4)}"),
            Filter("v", f"{{}} < {rng.randint(2, 20)}"),
            Filter("g", f"{{}} <= {rng.randint(0, 6)}"),
            self._key_filter(source),
        ]
        return tuple(rng.sample(choices, 1 if rng.random() < 0.92 else 2))

    def _key_filter(self, source: str) -> Filter:
        rng, table = self.rng, self.sources[source]
        position = rng.randrange(3)
        column = table.columns[position]
        values = [
            value for file in table.files for row in file.rows if (value := row[position]) is not None and value not in ODD_STRINGS
        ]
        if not values:
            return Filter(column.name, "{} is not null")
        drawn = rng.choices(values, k=2)
        first, other = (literal(value, column.type) for value in drawn)
        # NaN is the greatest to Spark, but no bounds of a page or of pyarrow's packs count it: Spark loses it to `>=` and `in`, the
        # layer off.
        at_least = [] if "NaN" in values else [Filter(column.name, f"{{}} >= {first}")]
        among = [] if "NaN" in drawn else [Filter(column.name, f"{{}} in ({first}, {other})")]
        # Where the lowest value is 0.0, Spark loses it to `<= -0.0`.
        at_most = [] if drawn[0] == "-0.0" else [Filter(column.name, f"{{}} <= {first}")]
        return rng.choice(
            [
                *at_least,
                *among,
                *at_most,
                Filter(column.name, "{} is null"),
                Filter(column.name, "{} is not null"),
            ]
        )

    def _join(self, relation: Relation, before: list[Relation]) -> Join:
        rng = self.rng
        kind = rng.choices(list(JOIN_KINDS), list(JOIN_KINDS.values()))[0]
        left = before[0] if rng.random() < 0.7 else rng.choice(before)
        columns = rng.sample(["a", "b", "d"], 2) if rng.random() < 0.27 else [rng.choice(["a", "a", "a", "b", "d"])]
        keys = tuple(self._key(left, relation, column) for column in columns)
        # A second comparison may hold between any two columns of numbers.
        both = (*self._types(left, "a"), *self._types(relation, "b"))
        if len(keys) == 1 and columns[0] == "a" and rng.random() < 0.03 and set(both) <= {"tinyint", "smallint", "int", "bigint"}:
            keys = (replace(keys[0], right="b"),)
        return Join(kind, relation, keys, self._filters(relation.source, 0.06))

    def _key(self, left: Relation, right: Relation, column: str) -> Key:
        rng = self.rng
        null_safe = rng.random() < 0.15
        if rng.random() > 0.2:
            return Key(left.alias, column, column, null_safe=null_safe)
        form = rng.choice(self._forms({*self._types(left, column), *self._types(right, column)}))
        sides = rng.choice([(form, "plain"), ("plain", form), (form, form)])
        return Key(left.alias, column, column, *sides, null_safe)

    def _types(self, relation: Relation, column: str) -> list[str]:
        """The types of a relation's column: a union has two."""
        return [self.sources[name].type_of(column) for name in (relation.source, relation.second) if name]

    def _forms(self, types: set[str]) -> list[str]:
        """What may be made of columns of these types without an error, with the layer and without."""
        if types <= set(BOUNDS) and types.isdisjoint(FORMS_OF_TYPE):
            if "bigint" in types:
                moved = ["tried long", *(() if self.ansi else ("wrapped long", "wrapped long"))]
                return ["wide", "narrow", "not null", *moved, *moved]
            moved = ["plus", "negated", "tried", *(() if self.ansi else ("wrapped", "wrapped", "wrapped"))]
            return ["wide", "narrow", "not null", "as decimal", "as decimal", "as double", *moved, *moved, *moved]
        if all(type_.startswith("decimal") for type_ in types):
            return ["decimal plus", "decimal plus", "decimal negated", "as double"]
        return list(FORMS_OF_TYPE.get(min(types), ("as double",))) if len(types) == 1 else ["as double"]

    def _subquery(self, alias: str, relations: dict[str, Relation]) -> Subquery:
        rng = self.rng
        kind = rng.choices(list(SUBQUERIES), list(SUBQUERIES.values()))[0]
        table = rng.choice([name for name in self.others if name != "c0"] or self.others)
        column = "g" if kind == "scalar" and rng.random() < 0.5 else rng.choice(["a", "a", "b", "d"])
        # Its value is pushed into the reader as a literal is, where Spark loses NaN.
        sources = (relations[alias].source, relations[alias].second)
        if kind == "scalar" and any(self._holds_nan(source, column) for source in sources):
            column = "g"
        otherwise = (
            rng.choice(self._filters(relations[alias].source, 1.0)) if kind in ("in", "exists") and rng.random() < 0.25 else None
        )
        return Subquery(kind, alias, column, table, column, self._filters(table, 0.8), otherwise)

    def _holds_nan(self, source: str, column: str) -> bool:
        table = self.sources.get(source)
        if table is None:
            return False
        position = next((i for i, each in enumerate(table.columns) if each.name == column), None)
        return position is not None and any(row[position] == "NaN" for file in table.files for row in file.rows)

    def _with_outputs(self, block: Block, visible: list[str]) -> Block:
        rng = self.rng
        form = rng.choices(["rows", "aggregate", "grouped", "windowed"], [40, 25, 25, 10])[0]
        if form == "rows":
            limit = rng.randint(1, 50) if rng.random() < 0.15 else None
            return replace(block, items=self._items(visible, aggregate=False), limit=limit)
        if form == "windowed":
            windows = tuple(
                Item(rng.choice(["rank", "total"]), rng.choice(visible), rng.choice(["a", "b", "g"]))
                for _ in range(rng.randint(1, 2))
            )
            return replace(block, items=(*self._items(visible, aggregate=False), *windows))
        group = (Item("column", rng.choice(visible), rng.choice(["g", "g", "a", "d"])),) if form == "grouped" else ()
        return replace(block, items=self._items(visible, aggregate=True), group=group)

    def _items(self, visible: list[str], aggregate: bool) -> tuple[Item, ...]:
        """Sums only of v: sums of keys may overflow."""
        rng = self.rng
        count = rng.randint(1, 4)
        if not aggregate:
            columns = [Item("column", rng.choice(visible), rng.choice(["v", "v", "a", "b", "d"])) for _ in range(count)]
            return (Item("column", "r0", "v"), *columns)
        functions = [rng.choice(["sum", "count", "distinct", "min", "max"]) for _ in range(count)]
        made = [Item(name, rng.choice(visible), "v" if name == "sum" else rng.choice(["a", "b", "d", "v"])) for name in functions]
        return (Item("sum", "r0", "v"), *made)
