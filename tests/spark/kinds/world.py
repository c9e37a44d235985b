"""The tables of some cases in a row: a fact table `f` and two small ones, `d` and `e`, all with the same columns.

Queries name columns by letters; what a column is really called differs from world to world, and so do types, layout and writers.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from tests.spark.differential.values import arrow_type
from tests.spark.kinds.files import FileForm, draw_form
from tests.spark.kinds.names import Decoy, Naming, draw_naming, quoted
from tests.spark.kinds.table_events import Event, draw_life

# Columns that entities differ in; the fact table is more or less clustered by all of them.
KEYS = ("k", "l", "s", "c", "u", "m", "dt", "ts", "x")
# A key with nulls, a random one, a group, the number of the row, a number that may be zero, a text that may be no number.
OTHERS = ("kn", "r", "g", "v", "z", "t")
COLUMNS = (*KEYS, *OTHERS)
LONG_PREFIX = "a prefix that is rather long, longer than 64 bytes of a string in truth: "


@dataclass(frozen=True)
class DataFile:
    """Rows of a table, by letters of columns, and how they are written."""

    name: str
    rows: Mapping[str, Sequence[Any]] = field(repr=False)
    form: FileForm

    @property
    def count(self) -> int:
        return len(self.rows["v"])


@dataclass(frozen=True)
class Table:
    """`types` are Spark's, by letter. `extra` are files that are there only after an event."""

    name: str
    types: Mapping[str, str]
    files: tuple[DataFile, ...]
    extra: tuple[DataFile, ...] = ()


@dataclass(frozen=True)
class World:
    """`by_ddl`: the tables are a database's, else views of paths. `life`: what becomes of `f` and its index, by case."""

    number: int
    tables: tuple[Table, ...]
    naming: Naming
    by_ddl: bool
    own_store: bool
    life: tuple[Event, ...]

    def table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)

    def column(self, alias: str, letter: str) -> str:
        """A column as SQL has it."""
        return f"{alias}.{self.naming.sql(letter)}"

    @property
    def indexed(self) -> list[str]:
        """Letters that some index of the world's life covers."""
        return sorted({letter for event in self.life for _, letter in event.sketches})

    def letter_of(self, name: str) -> str | None:
        """The letter of a column by its real name; None of a decoy."""
        return next((letter for letter in COLUMNS if self.naming.real(letter) == name and not self.naming.is_field(letter)), None)

    def values(self, name: str, letter: str) -> list[Any]:
        return [value for file in self.table(name).files for value in file.rows[letter]]

    def type_of(self, name: str, letter: str) -> str:
        return self.table(name).types[letter]


def draw_world(number: int) -> World:
    """The world of a number, always the same."""
    rng = Random(f"world {number}")
    by_ddl = rng.random() < 0.4
    types = _types(rng, by_ddl)
    entities = _Entities(rng, types)
    naming = draw_naming(rng)
    near = rng.randrange(entities.count)
    tables = (
        _fact(rng, entities, types),
        *(_dimension(rng, name, entities, _other_types(rng, types), near) for name in ("d", "e")),
    )
    return World(number, tables, naming, by_ddl, own_store=rng.random() < 0.4, life=draw_life(rng, types, naming))


def _types(rng: Random, by_ddl: bool) -> dict[str, str]:
    text = rng.choice(["string", "char(8)", "char(9)", "varchar(9)"]) if by_ddl else "string"
    collated = rng.choice(["string collate UTF8_LCASE", "string collate UNICODE_CI", "string"])
    decimal = rng.choice(["decimal(9,2)", "decimal(18,4)", "decimal(30,6)", "decimal(22,2)"])
    timestamp = rng.choice(["timestamp", "timestamp", "timestamp_ntz"])
    types = {"k": rng.choice(["int", "int", "bigint", "smallint"]), "l": "bigint", "s": "string", "c": text, "u": collated}
    types |= {"m": decimal, "dt": "date", "ts": timestamp, "x": rng.choice(["double", "double", "float"])}
    return types | {"kn": "int", "r": "int", "g": "int", "v": "bigint", "z": "int", "t": "string"}


def _other_types(rng: Random, types: Mapping[str, str]) -> dict[str, str]:
    """Those of a small table: keys may have wider or narrower ones."""
    return {
        **types,
        "k": rng.choice([*[types["k"]] * 5, "int", "bigint", "bigint", "double"]),
        "m": rng.choice([types["m"], types["m"], types["m"], "decimal(18,4)"]),
    }


class _Entities:
    """What the keys of entity number i are; all rise with i."""

    def __init__(self, rng: Random, types: Mapping[str, str]) -> None:
        self.count = rng.randint(60, 250)
        self._low, self._step = rng.choice([(-self.count // 2, 1), (0, 1), (-5_000, 37), (100, 100), (-(2**14), 100)])
        self._prefix = rng.choice(["k", "", "é", LONG_PREFIX, LONG_PREFIX])
        self._width = rng.choice([0, 7])
        self._low_day = rng.choice([18_262, 18_262, -30_000, -100])
        self._days = rng.choice([1, 1, 3])
        self._odd = rng.choice([(), ("nan", "-0.0", "inf"), ("-0.0", "0.0"), ("nan",)])

    def keys(self, rng: Random, i: int) -> dict[str, Any]:
        k = self._low + i * self._step
        name = f"Näme{i:05}"
        x = float(rng.choice(self._odd)) if self._odd and rng.random() < 0.06 else (i - self.count // 2) / 8
        return {
            "k": k,
            "l": k * 1_000_000_007 + 5,
            "s": f"{self._prefix}{i * 7:05}",
            "c": f"c{i:0{self._width}}",
            "u": "".join(rng.choice([each.upper(), each.lower()]) for each in name),
            "m": Decimal(i - self.count // 2) / 4,
            "dt": date(1970, 1, 1) + timedelta(days=self._low_day + i // self._days),
            "ts": datetime(2019, 12, 30) + timedelta(microseconds=i * 3_600_000_001),
            "x": x,
        }

    def row(self, rng: Random, i: int, number: int, wrong: Mapping[str, float]) -> dict[str, Any]:
        keys = self.keys(rng, i)
        return keys | {
            "kn": None if rng.random() < 0.3 else keys["k"],
            "r": self._low + rng.randrange(self.count) * self._step,
            "g": rng.randrange(10),
            "v": number,
            "z": 0 if rng.random() < wrong["z"] else rng.randint(1, 9),
            "t": "x" if rng.random() < wrong["t"] else str(number),
        }


def _rows(rng: Random, entities: _Entities, places: Sequence[int], first: int = 0) -> dict[str, list[Any]]:
    wrong = {"z": rng.choice([0, 2 / max(len(places), 1)]), "t": rng.choice([0, 2 / max(len(places), 1)])}
    rows = [entities.row(rng, place, first + number, wrong) for number, place in enumerate(places)]
    return {letter: [row[letter] for row in rows] for letter in COLUMNS}


def _fact(rng: Random, entities: _Entities, types: Mapping[str, str]) -> Table:
    count, pack_rows = rng.randint(200, 700), rng.choice([20, 25, 40])
    places = [number * entities.count // count for number in range(count)]
    if rng.random() < 0.3:
        places = [min(max(place + rng.randint(-3, 3), 0), entities.count - 1) for place in places]
    rows, files = _rows(rng, entities, places), rng.randint(2, 5)
    cuts = [count * number // files for number in range(files + 1)]
    parts = [{name: values[start:end] for name, values in rows.items()} for start, end in itertools.pairwise(cuts)]
    more = [_rows(rng, entities, [rng.randrange(entities.count) for _ in range(60)], 10_000 * number) for number in (1, 2, 3)]
    made = [DataFile(f"part-{number:03}.parquet", part, draw_form(rng, pack_rows)) for number, part in enumerate([*parts, *more])]
    return Table("f", types, tuple(made[:files]), tuple(made[files:]))


def _dimension(rng: Random, name: str, entities: _Entities, types: Mapping[str, str], near: int) -> Table:
    """Rows of a stretch of entities, mostly one that other small tables have too."""
    size = rng.randint(8, 40)
    most = max(0, entities.count - 2 * size)
    start = min(max(near - size, 0), most) if rng.random() < 0.7 else rng.randint(0, most)
    places = [start + rng.randrange(min(2 * size, entities.count - start)) for _ in range(size)]
    return Table(name, types, (DataFile("part-000.parquet", _rows(rng, entities, places), draw_form(rng, 25)),))


def arrow_rows(table: Table, file: DataFile, naming: Naming, rng: Random) -> pa.Table:
    """The rows of a file under their real names, decoys among them."""
    columns: dict[str, pa.Array] = {}
    for letter in COLUMNS:
        array = _array(file.rows[letter], table.types[letter], padded=rng.random() < 0.5)
        decoy = naming.decoys.get(letter)
        if decoy is not None and decoy.first:
            columns[decoy.name] = _decoy_array(decoy, array, rng)
        if not naming.is_field(letter):
            columns[naming.real(letter)] = array
        if decoy is not None and not decoy.first:
            columns[decoy.name] = _decoy_array(decoy, array, rng)
    for letter, (struct, name) in naming.fields.items():
        columns[struct] = pa.StructArray.from_arrays([_array(file.rows[letter], table.types[letter], padded=False)], [name])
    return pa.table(columns)


def _decoy_array(decoy: Decoy, array: pa.Array, rng: Random) -> pa.Array:
    """Other values of the same column: mostly ones that no key has, else those of other rows."""
    order = list(range(len(array)))
    rng.shuffle(order)
    made = array.take(pa.array(order[:1] * len(order) if decoy.constant else order, pa.int64()))
    for name in reversed(decoy.path):
        made = pa.StructArray.from_arrays([made], [name])
    return made


def _array(values: Sequence[Any], type_: str, padded: bool) -> pa.Array:
    if type_.startswith(("char", "varchar", "string")):
        width = int(type_.removeprefix("char(").removesuffix(")")) if type_.startswith("char") and padded else 0
        return pa.array([value if value is None else value.ljust(width) for value in values], pa.string())
    if type_ in ("float", "double"):
        values = [value if value is None else float(value) for value in values]
    return pa.array(values, arrow_type(type_))


def ddl(table: Table, naming: Naming, file: pa.Table) -> str:
    """The columns of a table as Spark declares them, in the order of its files."""
    real = {naming.real(letter): table.types[letter] for letter in COLUMNS if not naming.is_field(letter)}
    return ", ".join(
        f"{quoted(each.name)} {real.get(each.name) or _sql_type(each.type, table.types, naming)}" for each in file.schema
    )


def _sql_type(type_: pa.DataType, types: Mapping[str, str], naming: Naming) -> str:
    if pa.types.is_struct(type_):
        return f"struct<{', '.join(f'{quoted(each.name)}: {_sql_type(each.type, types, naming)}' for each in type_)}>"
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_):
        return "timestamp" if type_.tz else "timestamp_ntz"
    simple = {"int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "date32[day]": "date"}
    return simple.get(str(type_), str(type_))
