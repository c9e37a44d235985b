"""A filled filter by its figures, and the decision on it."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.inputs.machine import Machine
from planner.inputs.row_work import RowWork

# What the bridge holds for rows.
SET, BLOOM, RANGE = "set", "bloom", "range"
# What the host gets for packs: no key at all; all keys; ranges that hold them; nothing, for a composite filter.
EMPTY_FORM, SET_FORM, RANGES_FORM, NO_FORM = "empty", "set", "ranges", "none"
# The form that the Parquet reader gets.
PUSH_SET, PUSH_RANGE, PUSH_NONE = "set", "range", "none"


@dataclass(frozen=True, slots=True)
class FilterFigures:
    """A filled filter and what it would do to its scan alone.

    `kind` is what the bridge holds for rows, `form` what packs were judged by. `keys` is the number of distinct keys, exact for a
    set. `key_min` and `key_max` are those of whole-number key domains, None without keys and in other domains. `ahead` is what the
    planning said of the scan's rows. Packs and rows are those of files whose footers are known; `files_rejected` have no pack left.
    `value_span` is the global max - min + 1 of the column over the packs that have bounds; None if none has or it counts nothing.
    `packs_bounded`: packs of which footers tell bounds, or that all is null. `footer_problem`: what is the matter with the first of
    the `files_unknown` whose footer can't be used, empty where none was read in time. `column_problem`: the same of the first
    file in which only this column can't be understood.
    """

    id: str
    kind: str
    form: str
    ahead: RowWork
    keys: int
    key_min: int | None
    key_max: int | None
    build_rows: int
    packs_total: int
    packs_rejected: int
    rows_total: int
    rows_rejected: int
    value_span: int | None = None
    packs_bounded: int = 0
    files_unknown: int = 0
    footer_problem: str = ""
    column_problem: str = ""
    files_rejected: int = 0
    # Rows of packs of which every row surely passes.
    rows_sure: int = 0
    # Its column's type where the Parquet reader can test it: one column of whole numbers or dates, no nulls to keep. Else empty.
    tested_type: str = ""

    @property
    def key_span(self) -> int | None:
        """Max - min + 1 of the keys, None without keys and in domains that are not whole numbers."""
        return None if self.key_min is None or self.key_max is None else self.key_max - self.key_min + 1


@dataclass(frozen=True, slots=True)
class DecideSettings:
    """`cost`, `bloom_fpp` and `key_first` as in the options of these names; `machine` is what times are estimated with."""

    cost: str = "auto"
    machine: Machine = field(default_factory=Machine)
    bloom_fpp: float = 0.01
    key_first: str = "auto"


@dataclass(frozen=True, slots=True)
class FilterDecision:
    """What is done with a filled filter. `push` is the form that the Parquet reader gets, `rows` whether rows are tested above it.

    A filter is applied when it rejects packs, tests rows, or is what the reader decodes first (`key_first`). `reason` is about
    packs and the whole, `rows_reason` about the rows.
    `estimated_gain_ms` is what it saves from here on, less what sending and testing it take, and what a wait for it has saved;
    an applied filter has none below 0. `estimated_cost_ms` is what waiting and asking for verdicts took, whatever is decided.
    """

    id: str
    kind: str
    decision: str
    reason: str
    detail: str
    keys: int
    build_rows: int
    packs_total: int
    packs_kept: int
    rows_total: int
    rows_kept: int
    estimated_gain_ms: float
    estimated_cost_ms: float
    push: str
    dictionary: bool
    rows: bool
    rows_reason: str
    key_first: bool = False

    @property
    def applied(self) -> bool:
        return self.decision == "applied"

    def to_dict(self) -> dict[str, object]:
        """The form of the protocol."""
        return {name: getattr(self, name) for name in self.__slots__}
