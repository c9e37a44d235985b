"""Whether the rows of a mode are right: held against the judge's, with ties at a LIMIT, and against a published answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from itertools import zip_longest

from rtfilter.bench.engines.execution import Row
from rtfilter.bench.run.canonical_rows import holds_rows, same_result
from rtfilter.bench.suites.closing_limit import TopRows, top_rows
from rtfilter.bench.suites.suite import Query
from rtfilter.errors import BenchError

SHOWN_ROWS = 3


def difference(
    query: Query,
    rows: Sequence[Row],
    expected: Sequence[Row],
    columns: Sequence[str],
    all_expected: Callable[[], Sequence[Row]],
) -> str | None:
    """None when the rows are right, else a sentence that shows the first rows of both sides.

    `expected` are the judge's rows, with output columns of these names; `all_expected` runs the judge's query without its
    LIMIT, and is only called when the rows differ and a LIMIT may be why. When that fails (BenchError) the sentence says so.
    """
    if same_result(rows, expected):
        return None
    top, remark = top_rows(query.duckdb_sql, columns), ""
    if top is not None and len(rows) == len(expected):
        try:
            if explained_by_ties(rows, all_expected(), top):
                return None
        except BenchError as error:
            remark = f"; whether ties at the LIMIT are why could not be found out: {error}"
    return f"gives {shown(rows, expected)}, expected {shown(expected, rows)}{remark}"


def explained_by_ties(rows: Sequence[Row], all_rows: Sequence[Row], top: TopRows) -> bool:
    """Whether `rows` are as good a choice of the first `top.limit` of `all_rows` (in their order) as any other.

    They are when they are rows of the whole, and when their sort keys are those of the first ones: then every row that is
    ahead of the last key is among them, and only rows with that key were chosen freely.
    """

    def keys(of: Sequence[Row]) -> list[Row]:
        return [tuple(row[column] for column in top.columns) for row in of]

    first = all_rows[: top.limit]
    return len(rows) == len(first) and same_result(keys(rows), keys(first)) and holds_rows(all_rows, rows)


def shown(rows: Sequence[Row], other: Sequence[Row]) -> str:
    """The number of rows and the first ones that the other side lacks."""
    known = {repr(row) for row in other}
    odd = [row for row in rows if repr(row) not in known][:SHOWN_ROWS]
    return f"{len(rows)} rows" + (": " + "; ".join(map(str, odd)) if odd else "")


def answer_difference(rows: Sequence[Row], answer: str) -> str | None:
    """None when the rows are those of a published answer (a header line, `|` between values), else a sentence."""
    lines = [line.split("|") for line in answer.splitlines()[1:]]
    likes = [next((value for value in column if value is not None), None) for column in zip(*rows, strict=True)]
    published = [tuple(_typed(text, like) for text, like in zip_longest(line, likes, fillvalue="")) for line in lines]
    if same_result(rows, published):
        return None
    return f"gives {shown(rows, published)}, published are {shown(published, rows)}"


def _typed(text: str, like: object) -> object:
    """A value of the answer's text as the type of the values that it is compared with; no text is no value."""
    if not text and not isinstance(like, str):
        return None
    try:
        if isinstance(like, float):
            return float(text)
        if isinstance(like, (int, Decimal)):
            value = Decimal(text)
            # An average: the answers have it as a float, Spark as a decimal of fewer places.
            return float(value) if isinstance(like, Decimal) and _places(value) > _places(like) else value
        if isinstance(like, date):
            return date.fromisoformat(text)
    except (ValueError, InvalidOperation):
        return text
    return text


def _places(number: Decimal) -> int:
    return -int(number.as_tuple().exponent) if number.is_finite() else 0
