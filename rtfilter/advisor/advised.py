"""`rtfilter.advise`'s answer: what to build, as objects, text, a page, and by `apply` on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtfilter.advisor.apply import Applied, apply_items
from rtfilter.advisor.page import advice_page, advice_part
from rtfilter.advisor.text import advice_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rtfilter.advice.advise import Advice


@dataclass(frozen=True, slots=True)
class AdvisedItem:
    """One thing to build, or to drop.

    Attributes:
        rank: Its place, from 1 on: the one that saves most time is first.
        id: Twelve digits that stay the same while kind, table and columns do.
        kind: minmax, bloom, cmap, valueset, histogram, row_index, cluster_by, star_tree or drop.
        queries: The ids of the kinds of queries that it helps.
        gain_bytes, gain_ms: What the queries of the log would read less, and how much sooner they would end. None: not known.
        cost_bytes, build_s: Its bytes and the seconds that it takes to build. None: not known.
        confidence: How sure the gain is.
        command: A command line, or a line of Python, that does it.
    """

    rank: int
    id: str
    kind: str
    table: str
    columns: Sequence[str]
    queries: Sequence[str]
    gain_bytes: float | None
    gain_ms: float | None
    cost_bytes: int | None
    build_s: float | None
    confidence: str
    reason: str
    command: str


class AdvisedTables:
    """What would have paid for the queries of a log. Nothing is built before `apply`.

    Attributes:
        items: What to build, the best first.
        unserved: A dict for each kind of query that none of it helps: `query` (its id), `shape`, `calls`, `ms`, `reason`.
        notes: Rules of thumb, a dict each with `rule` and `text`.
    """

    def __init__(self, advice: Advice, paths: dict[str, str], spark: SparkSession | None) -> None:
        self._advice, self._paths, self._spark = advice, paths, spark
        names = [each.name for each in fields(AdvisedItem)]
        self.items = [AdvisedItem(**{name: item[name] for name in names}) for item in advice.items]
        self.unserved = advice.unserved
        self.notes = advice.notes

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `rtfilter advise --json` prints it."""
        return self._advice.to_dict()

    def apply(self, only: Sequence[int | str], *, to: str | None = None) -> list[Applied]:
        """Builds what is named by rank or id, in the order of `only`. Nothing is built if one of them can't be.

        Args:
            only: Ranks or ids of items.
            to: For `cluster_by`: where the sorted copy goes. It must not be there yet, or be an empty folder. Without it the copy
                is not written: the answer then holds the command. The table itself is never rewritten.

        Raises:
            AdviceError: an item is not there or can't be built yet, or `to` is not empty.
            IndexStateError, IndexDefinitionError, IndexStorageError: as `Index.create` and `Index.delete` do.
        """
        return apply_items(self._spark, self._advice.items, only, self._paths, to)

    def html(self) -> str:
        """A page that needs nothing beside it."""
        return advice_page(self._advice)

    def save(self, path: str | Path) -> None:
        """Writes the page."""
        Path(path).write_text(self.html(), encoding="utf-8")

    def __str__(self) -> str:
        return advice_text(self._advice)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return advice_part(self._advice)
