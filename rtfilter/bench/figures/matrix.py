"""The micro-benchmark of the seed in full, as figures: selectivity x condition x build side x degree of parallelism."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rtfilter.bench.engines.modes import OFF, RTFILTER, RTFILTER_ROWS
from rtfilter.bench.run.interleaved import Measurement, Outcome
from rtfilter.errors import BenchError

SUITE = "imci-micro"
# The seed's form, whose build side is item; the same by another column of item, which Spark can't carry over to inventory; and the
# seed's second form, whose build side is inventory.
FAMILY_OF_BUILD: Mapping[str, str] = {"small": "p=", "attr": "attr p=", "large": "swapped p="}


@dataclass(frozen=True)
class Condition:
    """What holds in one column of the matrix: the modes with and without filters, and whether files are read from the disk."""

    name: str
    on_mode: str
    cold: bool
    off_mode: str = OFF


CONDITIONS = (
    Condition("I/O + pruning", RTFILTER, cold=True),
    Condition("memory + pruning", RTFILTER, cold=False),
    Condition("memory, no pruning", RTFILTER_ROWS, cold=False),
)


@dataclass(frozen=True)
class Cell:
    """One place of the matrix: medians in ms with and without filters, and the packs that were read with them."""

    dop: int
    build: str
    selectivity: float
    condition: str
    on_ms: float
    off_ms: float
    packs_total: int | None
    packs_kept: int | None

    @property
    def ratio(self) -> float:
        """How many times faster the query is with filters."""
        return self.off_ms / self.on_ms

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": round(self.ratio, 3)}


def modes_of(cold: bool) -> tuple[str, ...]:
    """The modes that run in turns with cold files, or with warm ones."""
    found = [mode for condition in CONDITIONS if condition.cold == cold for mode in (condition.off_mode, condition.on_mode)]
    return tuple(dict.fromkeys(found))


def query_ids(builds: Sequence[str], selectivities: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """The queries of the matrix in the suite's order; all selectivities when none is named."""
    families = tuple(FAMILY_OF_BUILD[build] for build in builds)
    known = tuple(known)
    exist = sorted({each[len(family) :] for each in known for family in families if each.startswith(family)}, reverse=True)
    for selectivity in selectivities:
        if selectivity not in exist:
            raise BenchError(f"there is no selectivity {selectivity!r}. Those that exist: {', '.join(exist)}.")
    return tuple(
        query_id
        for query_id in known
        if any(
            query_id.startswith(family) and (not selectivities or query_id[len(family) :] in selectivities) for family in families
        )
    )


def build_of(query_id: str) -> str:
    """Which side builds in a query of the matrix."""
    return next(build for build, family in FAMILY_OF_BUILD.items() if query_id.startswith(family))


def cells_of(dop: int, cold: bool, outcome: Outcome) -> tuple[Cell, ...]:
    """The cells that one query's runs in turns fill; a mode that failed leaves its cells out."""
    by_mode = {measured.mode: measured for measured in outcome.measurements}
    return tuple(
        _cell(dop, condition, by_mode)
        for condition in CONDITIONS
        if condition.cold == cold and {condition.on_mode, condition.off_mode} <= set(by_mode)
    )


def _cell(dop: int, condition: Condition, by_mode: Mapping[str, Measurement]) -> Cell:
    on, off = by_mode[condition.on_mode], by_mode[condition.off_mode]
    assert on.query.selectivity is not None, "every query of the matrix has a selectivity"
    packs_total, packs_kept = on.last.packs_total, on.last.packs_kept
    return Cell(
        dop, build_of(on.query.id), on.query.selectivity, condition.name, on.median_ms, off.median_ms, packs_total, packs_kept
    )
