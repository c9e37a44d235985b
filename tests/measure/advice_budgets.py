"""What advice saves of what indexes on every filter column save, at budgets of 1, 5 and 10 % of a table's bytes. No test.

python tests/measure/advice_budgets.py [queries] NAME=PATH...

Queries ask for values and ranges of columns as rows drawn from the tables have them, a few of them often. Savings are judged by
packs, without Spark: sketches of all packs, the conditions of the queries, and the bytes of the columns that they read. Beside
`estimate` stand `freq`, `parser`, and advice by data type as OpenSearch's Flint gives it (bool: value set; whole numbers: min/max;
strings, dates and times: bloom). Advice by `estimate` comes from a sample.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from rtfilter.advice.advise import Settings, advise, budget_bytes
from rtfilter.advice.logs.lines import Reading
from rtfilter.advice.logs.read import LogReader
from rtfilter.advice.packs.askings import Asking, askings
from rtfilter.advice.sampled.costs import sketch_bytes
from rtfilter.advice.sampled.table_packs import table_packs
from rtfilter.advice.statistics.collect import collect
from rtfilter.advice.statistics.tables import TableStatistics, parse_statistics
from rtfilter.advice.trials.trial import NOTHING, Trial, try_table
from rtfilter.advice.tried.tried_table import TriedTable
from rtfilter.advice.workload.fingerprints import in_order
from rtfilter.advice.workload.predicates import leaves
from rtfilter.store.sketches.kinds import Bloom, MinMax, Sketch, ValueSet

BUDGETS = ("1%", "5%", "10%")
SAMPLED = 64
EVERY_PACK = 1_000_000
_TIMES = ("date", "timestamp", "timestamp_ntz")
_OF_TYPE: dict[str, type[Sketch]] = {"boolean": ValueSet, "string": Bloom, **dict.fromkeys(_TIMES, Bloom)}


def main(count: int, paths: dict[str, str]) -> None:
    known = parse_statistics({"tables": {name: collect(name, path) for name, path in paths.items()}}, "measured")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "q.jsonl"
        log.write_text("\n".join(line for name in known for line in statements(known[name], count)), encoding="utf-8")
        reading = LogReader(known).read([log], [])
    print(f"{reading.queries} queries of {len(reading.workload)} kinds on {', '.join(known)}")
    whole = {name: Judge(asked, known[name]) for name, asked in askings(in_order(reading.workload), known).items()}
    everything = {name: judge.everything() for name, judge in whole.items()}
    told("every filter column", "", whole, everything, everything)
    for budget in BUDGETS:
        for strategy in ("estimate", "freq", "parser"):
            told(strategy, budget, whole, advised(reading, known, strategy, budget, whole), everything)
        told("by data type", budget, whole, {name: judge.by_type(budget) for name, judge in whole.items()}, everything)


def statements(table: TableStatistics, count: int) -> Iterable[str]:
    """Lines of a log: conditions with the values of drawn rows, on columns of which some are asked for much more than others."""
    random = np.random.default_rng(23)
    names = sorted(column.name for column in table.columns.values())
    types = table_packs(table.name, table.path or "", names).types
    columns = random.permutation(sorted(name for name in types if (table.columns[name.lower()].cardinality or 0) > 1))
    rows = drawn(table, list(columns), 4 * count)
    for i in range(count):
        picked = [columns[min(len(columns) - 1, int(random.zipf(1.5)) - 1)] for _ in range(1 + i % 2)]
        conditions = [condition(name, types[name], rows, i, random) for name in dict.fromkeys(picked)]
        read = ", ".join(f"`{name}`" for name in columns[:3])
        text = f"select {read} from {table.name} where {' and '.join(conditions)}"
        yield f'{{"sql": {json.dumps(text)}, "weight": {1 + int(100 / (1 + i))}}}'


def drawn(table: TableStatistics, columns: list[str], count: int) -> list[dict[str, object]]:
    random = np.random.default_rng(29)
    found = pq.read_table(table.path, columns=columns)
    picked = found.take(random.integers(0, len(found), count)).to_pylist()
    return [row for row in picked if None not in row.values()] or picked


def condition(name: str, type_: str, rows: list[dict[str, object]], i: int, random: np.random.Generator) -> str:
    values = [literal(rows[(4 * i + step) % len(rows)][name]) for step in range(3)]
    form = int(random.integers(0, 10))
    if form < 5:
        return f"`{name}` = {values[0]}"
    if form < 8 or type_ not in ("int", "bigint"):
        return f"`{name}` in ({', '.join(values)})"
    return f"`{name}` between {values[0]} and {values[0]} + {int(random.integers(1, 100))}"


def literal(value: object) -> str:
    if isinstance(value, int | float):
        return str(value)
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


class Judge:
    """One table: what any set of sketches saves of its queries' reading, by all of its packs."""

    def __init__(self, asked: list[Asking], table: TableStatistics) -> None:
        self.table = table
        names = sorted({name for each in asked for leaf in leaves(each.use.predicate) for name in leaf.columns})
        self.trial: Trial = try_table(table.name, table.path or "", names, EVERY_PACK)
        self.tried = TriedTable(asked, table, self.trial)

    def everything(self) -> frozenset[Sketch]:
        return frozenset(self.tried.possible())

    def by_type(self, budget: str) -> frozenset[Sketch]:
        left, found = budget_bytes(budget, self.table.bytes), set[Sketch]()
        for name, type_ in sorted(self.trial.sample.table.types.items()):
            sketch: Sketch = _OF_TYPE.get(type_, MinMax)(name)
            if self.bytes([sketch]) <= left:
                left -= self.bytes([sketch])
                found.add(sketch)
        return frozenset(found)

    def bytes(self, sketches: Iterable[Sketch]) -> int:
        return sum(sketch_bytes(self.trial.sample, sketch) for sketch in sketches)

    def saved(self, sketches: frozenset[Sketch]) -> float:
        return self.tried.gain(sketches, NOTHING).bytes


def advised(
    reading: Reading, known: dict[str, TableStatistics], strategy: str, budget: str, whole: dict[str, Judge]
) -> dict[str, frozenset[Sketch]]:
    settings = Settings(strategy, budget=budget, top=1_000, sample_packs=SAMPLED)
    found: dict[str, set[Sketch]] = {name: set() for name in whole}
    for item in advise(reading, known, settings, at_hand=list(known)).items:
        judge, (column, *_) = whole[item["table"]], item["columns"]
        mine = [each for each in judge.tried.possible() if (each.kind.replace("_", ""), each.column) == (item["kind"], column)]
        if "fpp" in item:
            # The filter of that size that all packs have; one that is no smaller than the next larger one is that one.
            sizes = (Bloom(column), *judge.trial.smaller_blooms(Bloom(column)))
            mine = [max((each for each in sizes if each.fpp <= item["fpp"]), key=lambda each: each.fpp)]
        found[item["table"]] |= set(mine)
    return {name: frozenset(sketches) for name, sketches in found.items()}


def told(
    name: str, budget: str, whole: dict[str, Judge], chosen: dict[str, frozenset[Sketch]], everything: dict[str, frozenset[Sketch]]
) -> None:
    saved, most = (math.fsum(judge.saved(each[table]) for table, judge in whole.items()) for each in (chosen, everything))
    size, largest = (sum(judge.bytes(each[table]) for table, judge in whole.items()) for each in (chosen, everything))
    read = math.fsum(judge.tried.read_today for judge in whole.values())
    print(
        f"{name:20} {budget:4} {sum(map(len, chosen.values())):3} indexes, {size / 1e6:7.2f} MB ({size / max(1, largest):5.1%}), "
        f"saves {saved / 1e6:9.1f} MB of {read / 1e6:9.1f} ({saved / most if most else 0:6.1%} of what all save)"
    )


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:] if each.isdigit()]
    main(numbers[0] if numbers else 80, dict(each.split("=", 1) for each in sys.argv[1:] if "=" in each))
