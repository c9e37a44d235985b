"""A table with notes below it, as aligned text and as HTML: the common form of reports, explanations and reasons."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

CELL_STYLE = "padding:2px 10px;border-bottom:1px solid #ddd;white-space:nowrap"


def number_text(value: float | int | None) -> str:
    """A number for people: grouped by thousands, one decimal for what is no integer, empty when it is not known."""
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def share_text(kept: int | None, total: int | None) -> str:
    """`261 of 6,509`; empty when the total is not known."""
    if total is None:
        return ""
    return f"{number_text(kept) or '?'} of {number_text(total)}"


@dataclass(frozen=True)
class Column:
    """A heading, and whether its cells are numbers."""

    title: str
    numeric: bool = False


class ShownAsTable:
    """What prints as its table, at a Python prompt too, and is a table in a notebook."""

    def _table(self) -> Table:
        raise NotImplementedError

    def __str__(self) -> str:
        return self._table().text()

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()


@dataclass(frozen=True)
class Table:
    """A title, rows under columns, and sentences below them. Without rows the sentence in `empty` stands for them."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    empty: str = ""

    def text(self) -> str:
        """Aligned plain text; a terminal that is too narrow wraps its lines, nothing is cut."""
        return "\n".join([self.title, *(self._text_rows() if self.rows else [self.empty]), *self.notes])

    def _text_rows(self) -> list[str]:
        titles = [column.title for column in self.columns]
        widths = [max(len(row[i]) for row in [titles, *self.rows]) for i in range(len(titles))]
        aligned = [
            "  ".join(
                cell.rjust(width) if column.numeric else cell.ljust(width)
                for cell, width, column in zip(row, widths, self.columns, strict=True)
            ).rstrip()
            for row in [titles, *self.rows]
        ]
        return [aligned[0], "  ".join("-" * width for width in widths), *aligned[1:]]

    def html(self) -> str:
        """One self-contained `<div>`; every text in it is escaped."""
        body = self._html_rows() if self.rows else f"<p>{html.escape(self.empty)}</p>"
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        listed = f"<ul>{notes}</ul>" if notes else ""
        return f'<div class="rtfilter"><p><b>{html.escape(self.title)}</b></p>{body}{listed}</div>'

    def _html_rows(self) -> str:
        def cells(tag: str, texts: Sequence[str]) -> str:
            aligned = zip(texts, ("right" if column.numeric else "left" for column in self.columns), strict=True)
            return "".join(f'<{tag} style="{CELL_STYLE};text-align:{side}">{html.escape(text)}</{tag}>' for text, side in aligned)

        head = cells("th", [column.title for column in self.columns])
        rows = "".join(f"<tr>{cells('td', row)}</tr>" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
