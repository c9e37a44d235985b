"""The tables of a case. All of them draw from one list of entities, so that keys of two tables meet, several at once too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random

from tests.spark.differential.cases import Column, DataFile, Row, Table, Value
from tests.spark.differential.values import GREGORIAN, ODD_FLOATS, extremes, fits, stranger

NAMES = ("a", "b", "d", "g", "v")
# What a file may store for a column of the schema: a narrower type of equal values, or a wider one of more bits.
STORED_AS = {
    "smallint": ("tinyint", "int"),
    "int": ("tinyint", "smallint"),
    "bigint": ("tinyint", "smallint", "int", "int", "int"),
    "tinyint": ("int",),
    "double": ("float",),
    "decimal(18,4)": ("decimal(9,2)", "decimal(12,3)"),
    "decimal(12,3)": ("decimal(9,2)",),
    "decimal(30,6)": ("decimal(22,2)", "decimal(18,4)"),
}
TINY = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True)
class Entities:
    """`keys[i]` are the values of a, b and d of entity i; a rises with i. `types` are those that each may have.

    Most dimensions draw from `favoured`, a stretch of entities: were each to draw from all, their joins would be empty.
    """

    keys: tuple[tuple[Value, Value, Value], ...]
    types: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    favoured: range


def generate_tables(rng: Random) -> tuple[Table, ...]:
    """One or two fact tables (`t0`, `t1`) and dimensions, five at most."""
    entities = _entities(rng)
    facts = 2 if rng.random() < 0.15 else 1
    tables = [_table(rng, entities, f"t{number}", fact=number < facts) for number in range(rng.randint(facts + 1, 5))]
    return tuple(tables)


def _entities(rng: Random) -> Entities:
    count = rng.randint(60, 400)
    a, a_types = _values(rng, count)
    b, b_types = _values(rng, count)
    shuffled = rng.random() < 0.5
    per_b, per_day = rng.randint(1, 3), rng.randint(1, 4)
    d, d_types = _moments(rng, count)
    keys = []
    for number in range(count):
        other = number * 7_919 % count if shuffled else number
        keys.append((a[number], b[other // per_b], d[number // per_day]))
    size = rng.randint(count // 10, count // 3)
    start = rng.randrange(count - size)
    return Entities(tuple(keys), (a_types, b_types, d_types), range(start, start + size))


def _values(rng: Random, count: int) -> tuple[Sequence[Value], tuple[str, ...]]:
    """Rising values of a kind, and the types that hold them."""
    kind = rng.choices(["whole", "text", "decimal", "float", "boolean"], [40, 22, 18, 16, 4])[0]
    if kind == "text":
        prefix = rng.choice(["k", "", "é", "a prefix that is rather long, longer than 64 bytes of a string in truth: "])
        return [f"{prefix}{number * 7:05}" for number in range(count)], rng.choice([("string",), ("string",), ("binary",)])
    if kind == "decimal":
        low = rng.choice([0, -count // 2, 10**6, -(10**7) + 1])
        quarters = [str(Decimal(low + number) / 4) for number in range(count)]
        narrow = ("decimal(9,2)", "decimal(18,4)", "decimal(12,3)")
        return quarters, rng.choice([narrow, narrow, ("decimal(18,4)", "decimal(22,2)", "decimal(30,6)"), ("decimal(38,2)",)])
    if kind == "float":
        low = rng.choice([0, -count // 2, 1_000])
        return [str((low + number) / 8) for number in range(count)], rng.choice([("double",), ("float", "double"), ("float",)])
    if kind == "boolean":
        return [int(number * 2 > count) for number in range(count)], ("boolean",)
    numbers, types = _whole_numbers(rng, count)
    if abs(numbers[0]) < 2**31 and abs(numbers[-1]) < 2**31 and rng.random() < 0.3:
        types = (*types, "decimal(12,1)", "decimal(20,0)", "double")
    return numbers, types


def _moments(rng: Random, count: int) -> tuple[Sequence[int], tuple[str, ...]]:
    """Rising days or timestamps."""
    if rng.random() < 0.6:
        first_day = rng.choice([18_262, 18_262, 18_262, GREGORIAN - 30_000, GREGORIAN - count // 2, 2_900_000])
        return range(first_day, first_day + count), ("date",)
    start = rng.choice([1_577_836_800_000_000, -count * 1_800_000_000])
    return [start + number * 3_600_000_001 for number in range(count)], (rng.choice(["timestamp", "timestamp_ntz"]),)


def _whole_numbers(rng: Random, count: int) -> tuple[list[int], tuple[str, ...]]:
    """Rising numbers, and the types that hold them."""
    low, step, types = rng.choice(
        [
            (rng.randint(-100, 0), 1, ("tinyint", *TINY) if count < 120 else TINY[1:]),
            (rng.randint(-30_000, 20_000), rng.randint(1, 20), ("smallint", "int", "bigint")),
            (rng.randint(-(10**6), 10**6), rng.randint(1, 1_000), ("int", "bigint")),
            (0, 1, ("smallint", "int", "int", "bigint")),
            (rng.randint(-(10**12), 10**12), 1_000_000_007, ("bigint",)),
            (2**31 - 1 - count, 1, ("int", "bigint")),
            (-(2**31), 1, ("int", "bigint")),
            (2**63 - 1 - count, 1, ("bigint",)),
        ]
    )
    return [low + number * step for number in range(count)], types


def _table(rng: Random, entities: Entities, name: str, fact: bool) -> Table:
    types = (*(rng.choice(each) for each in entities.types), "int", "bigint")
    rows = _rows(rng, entities, fact)
    _spoil(rng, rows, types, fact)
    columns = tuple(Column(each, type_) for each, type_ in zip(NAMES, types, strict=True))
    return _with_missing_column(rng, Table(name, columns, _files(rng, rows, columns, fact)))


def _rows(rng: Random, entities: Entities, fact: bool) -> list[list[Value]]:
    """Keys of entities, a group g of 0 to 9, and v, which numbers the rows."""
    count = 0 if rng.random() < 0.03 else rng.randint(300, 1_500) if fact else rng.randint(10, 60)
    places = _places(rng, count, len(entities.keys)) if fact else _few_places(rng, count, entities)
    by_place = rng.random() < 0.5
    return [
        [*entities.keys[place], place // 3 % 10 if by_place else rng.randrange(10), number] for number, place in enumerate(places)
    ]


def _places(rng: Random, count: int, entities: int) -> list[int]:
    """Which entity each row of a fact table belongs to."""
    pattern = rng.choice(["clustered"] * 5 + ["jittered", "jittered", "blocks", "blocks", "random", "skewed"])
    if pattern == "random":
        return [rng.randrange(entities) for _ in range(count)]
    if pattern == "skewed":
        return sorted(int(entities * rng.random() ** 3) for _ in range(count))
    places = [number * entities // count for number in range(count)]
    if pattern == "jittered":
        return [min(max(place + rng.randint(-3, 3), 0), entities - 1) for place in places]
    if pattern == "blocks":
        size = rng.randint(20, 120)
        blocks = [places[start : start + size] for start in range(0, count, size)]
        rng.shuffle(blocks)
        return [place for block in blocks for place in block]
    return places


def _few_places(rng: Random, count: int, entities: Entities) -> list[int]:
    """The entities of a dimension's rows: most of them once, some of them twice."""
    among = entities.favoured if rng.random() < 0.85 else range(len(entities.keys))
    places = rng.sample(among, min(count, len(among)))
    if rng.random() < 0.3:
        low = rng.choice(among)
        places = [min(low + number // 2, len(entities.keys) - 1) for number in range(min(count, 30))]
    if rng.random() < 0.3:
        places += places[: len(places) // 4]
    if rng.random() < 0.5:
        places.sort()
    return places


def _spoil(rng: Random, rows: list[list[Value]], types: Sequence[str], fact: bool) -> None:
    """Nulls strewn over the key columns or in a run (packs of nothing else), extremes, keys that no other table has."""
    if not rows:
        return
    for column in range(3):
        type_ = types[column]
        if rng.random() < (0.6 if type_ in ("float", "double") else 0.2):
            for _ in range(rng.randint(1, 3)):
                rng.choice(rows)[column] = rng.choice(extremes(type_))
        if rng.random() < 0.2:
            for _ in range(max(1, len(rows) // 50)):
                rng.choice(rows)[column] = stranger(rng, type_)
        if rng.random() < 0.4:
            share = rng.choice([0.02, 0.1, 0.4]) if fact else 0.04
            for row in rows:
                row[column] = None if rng.random() < share else row[column]
        if fact and rng.random() < 0.25:
            _fill_run(rng, rows, column, None)
        if fact and type_ in ("float", "double") and rng.random() < 0.5:
            # Packs whose bounds are of such values, or of none.
            for _ in range(rng.randint(1, 3)):
                _fill_run(rng, rows, column, rng.choice(ODD_FLOATS))


def _fill_run(rng: Random, rows: list[list[Value]], column: int, value: Value) -> None:
    start = rng.randrange(len(rows))
    for row in rows[start : start + rng.randint(50, 300)]:
        row[column] = value


def _files(rng: Random, rows: list[list[Value]], columns: tuple[Column, ...], fact: bool) -> tuple[DataFile, ...]:
    count = rng.randint(1, 6) if fact else rng.choice([1, 1, 1, 2])
    pack_rows = rng.choice([rng.randint(5, 20), rng.randint(20, 50), rng.randint(20, 100), rng.randint(20, 100)])
    cuts = sorted(rng.randint(0, len(rows)) for _ in range(count - 1)) if rng.random() < 0.3 else []
    cuts = cuts or [len(rows) * number // count for number in range(1, count)]
    parts = [rows[start:end] for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    return tuple(_file(rng, tuple(tuple(row) for row in part), columns, pack_rows) for part in parts)


def _file(rng: Random, rows: tuple[Row, ...], columns: tuple[Column, ...], pack_rows: int) -> DataFile:
    writer = rng.choices(["pyarrow", "duckdb", "spark"], [88, 10, 2])[0]
    if writer != "pyarrow":
        return DataFile(rows, writer, pack_rows)
    stored_as = []
    for position, column in enumerate(columns):
        if column.type in STORED_AS and rng.random() < 0.2:
            type_ = rng.choice(STORED_AS[column.type])
            if all(fits(row[position], type_) for row in rows):
                stored_as.append((column.name, type_))
    return DataFile(rows, writer, pack_rows, rng.random() > 0.08, rng.random() < 0.25, rng.random() < 0.7, None, tuple(stored_as))


def _with_missing_column(rng: Random, table: Table) -> Table:
    """In some tables the first file is from before a column was added; its rows have nulls there."""
    if len(table.files) < 2 or rng.random() > 0.12:
        return table
    missing = rng.randrange(4)
    first, *others = table.files
    rows = tuple((*row[:missing], None, *row[missing + 1 :]) for row in first.rows)
    older = replace(
        first, rows=rows, without=NAMES[missing], stored_as=tuple(each for each in first.stored_as if each[0] != NAMES[missing])
    )
    return replace(table, files=(older, *others))
