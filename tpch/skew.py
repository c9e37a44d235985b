"""TPC-H with skew: dbgen's rows with foreign keys and values drawn anew from a Zipf law.

What hangs together in dbgen's data stays so: (l_partkey, l_suppkey) is a row of partsupp, prices follow from quantity and part,
an order's total from its lines, dates keep their distances within an order and so their sequence, flags and states follow from
the dates, a third of the customers has no order, brands belong to their manufacturer and phone numbers begin with their nation.

Everything streams in batches. In memory are some arrays with an entry per order, part, or partsupp row: about 1 GB at SF10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tpch.columns import CENTS, Int64s, cents, dates, days, money
from tpch.zipf import ZipfSampler, zipf_shares

BATCH_ROWS = 1 << 18
PACK_ROWS = 1 << 17
EPOCH = date(1970, 1, 1)
FIRST_ORDER_DAY = (date(1992, 1, 1) - EPOCH).days
LAST_ORDER_DAY = (date(1998, 8, 2) - EPOCH).days
CURRENT_DAY = (date(1995, 6, 17) - EPOCH).days
"""TPC-H's "current date": what was shipped, or received, by then is finished (TPC-H 4.2.2.12, 4.2.3)."""
CUSTOMERS_WITH_ORDERS_OF_3 = 2
SUPPLIERS_PER_PART = 4

Distribution = dict[str, Any]
Table = Any


@dataclass(frozen=True)
class Domain:
    """The values that a column takes, drawn by their positions."""

    sampler: ZipfSampler
    values: Any

    def draw(self, count: int) -> Any:
        return self.values.take(pa.array(self.sampler.draw(count)))


class SkewedTables:
    """Writes all eight tables of one Zipf exponent from dbgen's in `source`; `say` takes a line per table."""

    def __init__(self, source: Path, z: float, say: Callable[[str], None]) -> None:
        self._source = source
        self._z = z
        self._say = say
        self._samplers: list[ZipfSampler] = []

    def write(self, directory: Path) -> list[Distribution]:
        """Writes `TABLE.parquet` for each table; answers how often the ranks of each skewed column were drawn."""
        changes: dict[str, Callable[[Table], Table]] = {
            "nation": lambda rows: rows,
            "region": lambda rows: rows,
            "customer": self._accounts("c", {"c_mktsegment": self._categories("customer", "c_mktsegment")}),
            "supplier": self._accounts("s", {}),
            "part": self._parts(),
            "partsupp": self._partsupps(),
        }
        for table, change in changes.items():
            self._rewrite(table, change, directory)
        # An order's total and state follow from its lines, whose dates follow from the order's: lines lie in between.
        orders = _Orders.drawn(self._rows_of("orders"), self._sampler("o_orderdate", LAST_ORDER_DAY - FIRST_ORDER_DAY + 1))
        self._collect_old_days(orders)
        self._rewrite("lineitem", self._lines(orders), directory)
        self._rewrite("orders", self._orders(orders), directory)
        return [_distribution(sampler) for sampler in self._samplers]

    def _sampler(self, column: str, size: int) -> ZipfSampler:
        sampler = ZipfSampler(column, size, self._z)
        self._samplers.append(sampler)
        return sampler

    def _file(self, table: str) -> pq.ParquetFile:
        return pq.ParquetFile(self._source / f"{table}.parquet")

    def _rows_of(self, table: str) -> int:
        return int(self._file(table).metadata.num_rows)

    def _column(self, table: str, column: str) -> Any:
        return pq.read_table(self._source / f"{table}.parquet", columns=[column])[column]

    def _batches(self, table: str, columns: list[str] | None = None) -> Iterator[Table]:
        for batch in self._file(table).iter_batches(batch_size=BATCH_ROWS, columns=columns):
            yield pa.Table.from_batches([batch])

    def _rewrite(self, table: str, change: Callable[[Table], Table], directory: Path) -> None:
        self._say(f"writes {table} with zipf {self._z:g}")
        schema = self._file(table).schema_arrow
        with pq.ParquetWriter(
            directory / f"{table}.parquet", schema, compression="snappy", store_decimal_as_integer=True
        ) as writer:
            for rows in self._batches(table):
                writer.write_table(change(rows).cast(schema), row_group_size=PACK_ROWS)

    def _categories(self, table: str, column: str) -> Domain:
        """The distinct values of a column as it is."""
        found = [pc.unique(rows[column]) for rows in self._batches(table, [column])]
        values = pc.unique(pa.concat_arrays(found)).sort()
        return Domain(self._sampler(column, len(values)), values)

    def _range(self, column: str, low: int, high: int) -> Domain:
        """Whole numbers from `low` to `high`."""
        return Domain(self._sampler(column, high - low + 1), pa.array(np.arange(low, high + 1)))

    def _accounts(self, prefix: str, categories: dict[str, Domain]) -> Callable[[Table], Table]:
        """Customers or suppliers: nation with phone number, balance."""
        nations = self._range(f"{prefix}_nationkey", 0, 24)
        balances = self._range(f"{prefix}_acctbal", -999_99, 9999_99)

        def change(rows: Table) -> Table:
            nation = nations.draw(rows.num_rows)
            code = pc.cast(pc.add(nation, 10), pa.string())
            phone = pc.binary_join_element_wise(code, pc.utf8_slice_codeunits(rows[f"{prefix}_phone"], 2), "")
            balance = money(np.asarray(balances.draw(rows.num_rows)))
            new = {f"{prefix}_nationkey": nation, f"{prefix}_phone": phone, f"{prefix}_acctbal": balance}
            return _with(rows, {**new, **{column: domain.draw(rows.num_rows) for column, domain in categories.items()}})

        return change

    def _parts(self) -> Callable[[Table], Table]:
        domains = {column: self._categories("part", column) for column in ("p_brand", "p_type", "p_size", "p_container")}

        def change(rows: Table) -> Table:
            drawn = {column: domain.draw(rows.num_rows) for column, domain in domains.items()}
            # Brand#MN is the Nth brand of Manufacturer#M.
            maker = pc.binary_join_element_wise("Manufacturer#", pc.utf8_slice_codeunits(drawn["p_brand"], 6, 7), "")
            return _with(rows, {**drawn, "p_mfgr": maker})

        return change

    def _partsupps(self) -> Callable[[Table], Table]:
        available, cost = self._range("ps_availqty", 1, 9999), self._range("ps_supplycost", 1_00, 1000_00)

        def change(rows: Table) -> Table:
            supply_cost = money(np.asarray(cost.draw(rows.num_rows)))
            return _with(rows, {"ps_availqty": available.draw(rows.num_rows), "ps_supplycost": supply_cost})

        return change

    def _collect_old_days(self, orders: _Orders) -> None:
        for rows in self._batches("orders", ["o_orderkey", "o_orderdate"]):
            place = order_places(np.asarray(rows["o_orderkey"]))
            orders.shift_days[place] = orders.new_days[place] - days(rows["o_orderdate"])

    def _lines(self, orders: _Orders) -> Callable[[Table], Table]:
        retail_cents = cents(self._column("part", "p_retailprice"))
        suppliers = np.asarray(self._column("partsupp", "ps_suppkey")).astype(np.int32)
        parts = self._sampler("l_partkey", len(retail_cents))
        which_supplier = self._sampler("l_suppkey (of the part's 4)", SUPPLIERS_PER_PART)
        quantities, discounts = self._range("l_quantity", 1, 50), self._range("l_discount", 0, 10)
        taxes = self._range("l_tax", 0, 8)
        categories = {column: self._categories("lineitem", column) for column in ("l_shipinstruct", "l_shipmode")}
        returned = np.random.default_rng(1)

        def change(rows: Table) -> Table:
            count = rows.num_rows
            place = order_places(np.asarray(rows["l_orderkey"]))
            part = parts.draw(count)
            quantity, discount, tax = (np.asarray(domain.draw(count)) for domain in (quantities, discounts, taxes))
            price_cents = quantity * retail_cents[part]
            shift = orders.shift_days[place]
            ship, commit, receipt = (days(rows[f"l_{name}date"]) + shift for name in ("ship", "commit", "receipt"))
            shipped, received = ship <= CURRENT_DAY, receipt <= CURRENT_DAY
            orders.add_lines(place, price_cents * (100 - discount) // 100 * (100 + tax) // 100, shipped)
            flag = np.where(received, np.where(returned.random(count) < 0.5, "R", "A"), "N")
            new = {
                "l_partkey": part + 1,
                "l_suppkey": suppliers[SUPPLIERS_PER_PART * part + which_supplier.draw(count)].astype(np.int64),
                "l_quantity": money(quantity * CENTS),
                "l_extendedprice": money(price_cents),
                "l_discount": money(discount),
                "l_tax": money(tax),
                "l_returnflag": flag,
                "l_linestatus": np.where(shipped, "F", "O"),
                "l_shipdate": dates(ship),
                "l_commitdate": dates(commit),
                "l_receiptdate": dates(receipt),
            }
            return _with(rows, {**new, **{column: domain.draw(count) for column, domain in categories.items()}})

        return change

    def _orders(self, orders: _Orders) -> Callable[[Table], Table]:
        customers = self._rows_of("customer")
        # dbgen gives no order to any customer whose key is a multiple of three (TPC-H 4.2.3).
        with_orders = customers - customers // 3
        buyers = self._sampler("o_custkey", with_orders)
        priorities = self._categories("orders", "o_orderpriority")

        def change(rows: Table) -> Table:
            place = order_places(np.asarray(rows["o_orderkey"]))
            position = buyers.draw(rows.num_rows)
            # Positions 0, 1, 2, 3, … are the keys 1, 2, 4, 5, …
            customer = 3 * (position // CUSTOMERS_WITH_ORDERS_OF_3) + position % CUSTOMERS_WITH_ORDERS_OF_3 + 1
            shipped = orders.shipped_lines[place]
            state = np.where(shipped == orders.lines[place], "F", np.where(shipped == 0, "O", "P"))
            new = {
                "o_custkey": customer,
                "o_orderdate": dates(orders.new_days[place].astype(np.int64)),
                "o_totalprice": money(orders.total_cents[place]),
                "o_orderstatus": state,
                "o_orderpriority": priorities.draw(rows.num_rows),
            }
            return _with(rows, new)

        return change


@dataclass(frozen=True)
class _Orders:
    """What lines and orders tell each other, an entry per order in the order of their keys."""

    new_days: npt.NDArray[np.int32]
    shift_days: npt.NDArray[np.int32]
    total_cents: Int64s
    lines: npt.NDArray[np.int16]
    shipped_lines: npt.NDArray[np.int16]

    @classmethod
    def drawn(cls, count: int, sampler: ZipfSampler) -> _Orders:
        # The last group of eight keys may not be full, so there may be some more places than orders.
        places = count + 8
        new_days = (FIRST_ORDER_DAY + sampler.draw(places)).astype(np.int32)
        none = np.zeros(places, dtype=np.int16)
        return cls(new_days, np.zeros(places, dtype=np.int32), np.zeros(places, dtype=np.int64), none, none.copy())

    def add_lines(self, place: Int64s, charged_cents: Int64s, shipped: npt.NDArray[np.bool_]) -> None:
        # Sums over the stretch of places that this batch has: lines come in the order of their orders.
        first, size = int(place.min()), int(place.max() - place.min()) + 1
        here = slice(first, first + size)
        # Weights are summed as doubles, exact below 2^53: an order of seven lines stays far below that many cents.
        self.total_cents[here] += np.bincount(place - first, weights=charged_cents, minlength=size).astype(np.int64)
        self.lines[here] += np.bincount(place - first, minlength=size).astype(np.int16)
        self.shipped_lines[here] += np.bincount(place - first, weights=shipped, minlength=size).astype(np.int16)


def order_places(order_keys: Int64s) -> Int64s:
    """Dense numbers of orders: of each 32 keys dbgen uses the first eight (TPC-H 4.2.3)."""
    return (order_keys >> 5 << 3) | (order_keys & 7)


def _with(rows: Table, columns: dict[str, Any]) -> Table:
    for name, values in columns.items():
        rows = rows.set_column(
            rows.schema.get_field_index(name), name, pa.array(values) if isinstance(values, np.ndarray) else values
        )
    return rows


def _distribution(sampler: ZipfSampler) -> Distribution:
    """Share of the rows at the ranks 1, 2, 5, 10, 20, …: as drawn, most frequent first, and as the law has it."""
    shares = np.sort(sampler.counts)[::-1] / max(int(sampler.counts.sum()), 1)
    law = zipf_shares(sampler.size, sampler.z)
    round_ranks = {step * 10**power for power in range(10) for step in (1, 2, 5)}
    ranks = sorted(rank for rank in {*round_ranks, sampler.size} if rank <= sampler.size)
    points = [[rank, float(shares[rank - 1]), float(law[rank - 1])] for rank in ranks]
    return {"column": sampler.name, "values": sampler.size, "points": points}
