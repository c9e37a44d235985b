"""Makes a case on which the results disagree as small as it gets, one cut at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pprint import pformat
from typing import TypeAlias

from tests.spark.differential.cases import Block, Case, DataFile, Join, Relation, Table
from tests.spark.differential.run import InvalidCaseError
from tests.spark.differential.sql import DUCKDB, SPARK, render

Cuts: TypeAlias = Iterator[Case]
LONGEST_S = 120.0


def shrink(case: Case, disagrees: Callable[[Case], bool], longest_s: float = LONGEST_S) -> Case:
    """The smallest case found within `longest_s` seconds: each cut that still disagrees is kept, until none does."""
    deadline = time.monotonic() + longest_s
    changed = True
    while changed:
        changed = False
        for cuts in (_query_cuts, _file_cuts, _row_cuts, _column_cuts, _plainer):
            smaller: Case | None = case
            while smaller is not None and time.monotonic() < deadline:
                smaller = next((cut for cut in cuts(case) if time.monotonic() < deadline and _still(cut, disagrees)), None)
                if smaller is not None:
                    case, changed = smaller, True
    return case


def _still(case: Case, disagrees: Callable[[Case], bool]) -> bool:
    try:
        return disagrees(case)
    except InvalidCaseError:
        return False


def report(case: Case, detail: str) -> str:
    """What somebody needs to see it again: seed, both texts, what differs, and the case as a literal."""
    literal = pformat(case, width=132, compact=True)
    return (
        f"shrunk from seed {case.seed}: {detail}\nSpark:  {render(case, SPARK)}\nDuckDB: {render(case, DUCKDB)}\n"
        f"conf:   {dict(case.conf)}\n{literal}"
    )


def _with_block(case: Case, number: int, block: Block) -> Case:
    blocks = case.query.blocks
    return replace(case, query=replace(case.query, blocks=(*blocks[:number], block, *blocks[number + 1 :])))


def _query_cuts(case: Case) -> Cuts:
    """Arms of the union, joins, predicates, outputs, shapes, entries of the conf; at last tables that nothing names."""
    blocks = case.query.blocks
    if len(blocks) > 1:
        for number in range(len(blocks)):
            yield replace(case, query=replace(case.query, blocks=blocks[:number] + blocks[number + 1 :]))
    for number, block in enumerate(blocks):
        yield from (_with_block(case, number, smaller) for smaller in _block_cuts(block))
    for number, cte in enumerate(case.query.ctes):
        for smaller in _relation_cuts(cte):
            ctes = (*case.query.ctes[:number], smaller, *case.query.ctes[number + 1 :])
            yield replace(case, query=replace(case.query, ctes=ctes))
    for entry in case.conf:
        yield replace(case, conf=tuple(each for each in case.conf if each != entry))
    named = set(case.query.sources())
    for cte in case.query.ctes:
        if cte.alias not in named:
            yield replace(case, query=replace(case.query, ctes=()))
    if any(table.name not in named for table in case.tables):
        yield replace(case, tables=tuple(table for table in case.tables if table.name in named))


def _block_cuts(block: Block) -> Iterator[Block]:
    for number in reversed(range(len(block.joins))):
        yield _without_join(block, number)
    for join_number, join in enumerate(block.joins):
        for smaller in _join_cuts(join):
            yield replace(block, joins=(*block.joins[:join_number], smaller, *block.joins[join_number + 1 :]))
    yield from (replace(block, first=smaller) for smaller in _relation_cuts(block.first))
    yield from (replace(block, where=tuple(w for w in block.where if w != each)) for each in block.where)
    for subquery in block.subqueries:
        yield replace(block, subqueries=tuple(each for each in block.subqueries if each != subquery))
        if subquery.filters:
            yield replace(block, subqueries=(replace(subquery, filters=()),))
        if subquery.otherwise is not None:
            yield replace(block, subqueries=(replace(subquery, otherwise=None),))
    if block.limit is not None:
        yield replace(block, limit=None)
    if block.group:
        yield replace(block, group=())
    if len(block.items) > 1:
        yield from (replace(block, items=block.items[:number] + block.items[number + 1 :]) for number in range(len(block.items)))
    yield from (replace(block, hints=tuple(hint for hint in block.hints if hint != each)) for each in block.hints)


def _without_join(block: Block, number: int) -> Block:
    """Without one join and all that names its relation; a later join that hangs on it hangs on the first relation instead."""
    gone = block.joins[number].relation.alias
    later = tuple(
        replace(join, keys=tuple(replace(key, left_alias="r0") if key.left_alias == gone else key for key in join.keys))
        for join in block.joins[number + 1 :]
    )
    items = tuple(item for item in block.items if item.alias != gone)
    return replace(
        block,
        joins=block.joins[:number] + later,
        items=items or tuple(replace(item, alias="r0") for item in block.items),
        group=tuple(item for item in block.group if item.alias != gone),
        where=tuple(each for each in block.where if each[0] != gone),
        subqueries=tuple(subquery for subquery in block.subqueries if subquery.alias != gone),
        hints=tuple(hint for hint in block.hints if hint.alias != gone),
    )


def _join_cuts(join: Join) -> Iterator[Join]:
    if len(join.keys) > 1:
        yield from (replace(join, keys=join.keys[:number] + join.keys[number + 1 :]) for number in range(len(join.keys)))
    for number, key in enumerate(join.keys):
        if (key.left_form, key.right_form) != ("plain", "plain"):
            yield replace(
                join, keys=(*join.keys[:number], replace(key, left_form="plain", right_form="plain"), *join.keys[number + 1 :])
            )
        if key.null_safe:
            yield replace(join, keys=(*join.keys[:number], replace(key, null_safe=False), *join.keys[number + 1 :]))
    if join.filters:
        yield replace(join, filters=())
    yield from (replace(join, relation=smaller) for smaller in _relation_cuts(join.relation))


def _relation_cuts(relation: Relation) -> Iterator[Relation]:
    if relation.shape != "plain":
        yield replace(relation, shape="plain", second="")
    yield from (replace(relation, filters=tuple(f for f in relation.filters if f != each)) for each in relation.filters)


def _with_table(case: Case, table: Table) -> Case:
    return replace(case, tables=tuple(table if each.name == table.name else each for each in case.tables))


def _file_cuts(case: Case) -> Cuts:
    for table in case.tables:
        if len(table.files) > 1:
            for number in range(len(table.files)):
                yield _with_table(case, replace(table, files=table.files[:number] + table.files[number + 1 :]))


def _row_cuts(case: Case) -> Cuts:
    """Ever smaller stretches of rows, the largest file first."""
    for table in sorted(case.tables, key=lambda each: -each.rows):
        for number, file in enumerate(table.files):
            size = len(file.rows) // 2
            while size:
                for start in range(0, len(file.rows), size):
                    rows = file.rows[:start] + file.rows[start + size :]
                    yield _with_file(case, table, number, replace(file, rows=rows))
                # Beyond eighths a cut is a gamble; single rows are worth it when few are left.
                size = size // 2 if size > len(file.rows) // 8 or len(file.rows) <= 24 else 0


def _with_file(case: Case, table: Table, number: int, file: DataFile) -> Case:
    return _with_table(case, replace(table, files=(*table.files[:number], file, *table.files[number + 1 :])))


def _column_cuts(case: Case) -> Cuts:
    for table in case.tables:
        for position, column in enumerate(table.columns):
            if len(table.columns) == 1:
                continue
            files = tuple(
                replace(
                    file,
                    rows=tuple(row[:position] + row[position + 1 :] for row in file.rows),
                    without=None if file.without == column.name else file.without,
                    stored_as=tuple(each for each in file.stored_as if each[0] != column.name),
                )
                for file in table.files
            )
            columns = table.columns[:position] + table.columns[position + 1 :]
            yield _with_table(case, replace(table, columns=columns, files=files))


def _plainer(case: Case) -> Cuts:
    """Files as pyarrow writes them, with nothing special about them."""
    for table in case.tables:
        for number, file in enumerate(table.files):
            plain = DataFile(file.rows, pack_rows=file.pack_rows, without=file.without)
            if plain != file:
                yield _with_file(case, table, number, plain)
