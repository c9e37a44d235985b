"""A table with notes below it, as aligned text and as HTML: the common form of reports, explanations and reasons."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

# Characters in a line of text.
MOST_WIDE = 120
GAP, INDENT = "  ", "    "
# No column is made narrower than this.
LEAST_WIDE = 8
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
        """Aligned plain text of 120 columns at most. What is longer goes on in the next line, nothing is cut."""
        shown = self._text_rows() if self.rows else _wrapped(self.empty)
        return "\n".join([*_wrapped(self.title), *shown, *(line for note in self.notes for line in _wrapped(note))])

    def _text_rows(self) -> list[str]:
        titles = [column.title for column in self.columns]
        widths = _fitting([max(len(row[i]) for row in [titles, *self.rows]) for i in range(len(titles))])
        head, *body = [self._text_row(row, widths) for row in [titles, *self.rows]]
        return [*head, GAP.join("-" * width for width in widths), *(line for row in body for line in row)]

    def _text_row(self, row: Sequence[str], widths: Sequence[int]) -> list[str]:
        """The lines of one row: as many as its highest cell has."""
        cells = [_lines(cell, width) for cell, width in zip(row, widths, strict=True)]
        return [
            GAP.join(
                part.rjust(width) if column.numeric else part.ljust(width)
                for lines, width, column in zip(cells, widths, self.columns, strict=True)
                for part in [lines[number] if number < len(lines) else ""]
            ).rstrip()
            for number in range(max(map(len, cells)))
        ]

    def html(self) -> str:
        """One self-contained `<div>`; every text in it is escaped."""
        empty = f"<p>{html.escape(self.empty)}</p>" if self.empty else ""
        body = self._html_rows() if self.rows else empty
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


def _fitting(widths: Sequence[int]) -> list[int]:
    """Widths of columns that fit in a line together: the widest ones lose what is too much."""
    found, room = list(widths), MOST_WIDE - len(GAP) * (len(widths) - 1)
    while sum(found) > room and max(found) > LEAST_WIDE:
        found[found.index(max(found))] -= 1
    return found


def _lines(text: str, width: int) -> list[str]:
    """A cell's text in lines of that width, broken between words where that is possible."""
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def _wrapped(text: str) -> list[str]:
    """A sentence in lines that fit; all but the first are indented."""
    return [
        line
        for part in text.splitlines()
        for line in textwrap.wrap(part, MOST_WIDE, subsequent_indent=INDENT, break_on_hyphens=False)
    ]
