"""The matrix as the seed prints it: a row per selectivity, on/off in ms and their ratio per condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table

from rtfilter.bench.figures.matrix import CONDITIONS, Cell


def matrix_tables(cells: Sequence[Cell]) -> Iterator[Table]:
    """A table for each build side and degree of parallelism, in the order of the run."""
    for dop, build in dict.fromkeys((cell.dop, cell.build) for cell in cells):
        own = [cell for cell in cells if (cell.dop, cell.build) == (dop, build)]
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title=f"{build} build side, dop {dop}", title_justify="left")
        table.add_column("p", no_wrap=True)
        for condition in CONDITIONS:
            table.add_column(f"{condition.name}\non/off ms", justify="right", no_wrap=True)
            table.add_column("\noff/on", justify="right", no_wrap=True)
        table.add_column("packs\nread", justify="right", no_wrap=True)
        for selectivity in dict.fromkeys(cell.selectivity for cell in own):
            row = {cell.condition: cell for cell in own if cell.selectivity == selectivity}
            texts = [text for condition in CONDITIONS for text in _texts(row.get(condition.name))]
            table.add_row(f"{selectivity:g}", *texts, _packs(row.get(CONDITIONS[1].name)))
        yield table


def _texts(cell: Cell | None) -> tuple[str, str]:
    return ("-", "-") if cell is None else (f"{cell.on_ms:,.0f}/{cell.off_ms:,.0f}", f"{cell.ratio:.2f}")


def _packs(cell: Cell | None) -> str:
    if cell is None or not cell.packs_total or cell.packs_kept is None:
        return "-"
    return f"{cell.packs_kept:,} of {cell.packs_total:,}"
