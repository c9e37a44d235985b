"""The answer to a plan, in the form of docs/protocol.md: placeholders, and a candidate for whatever was considered."""

from __future__ import annotations

from dataclasses import dataclass

from planner.inputs.filter_history import Traits
from planner.inputs.row_work import RowWork

# What `Candidate.strategy` says of joins.
BROADCAST_JOIN, SHUFFLED_HASH_JOIN, SORT_MERGE_JOIN = "broadcast", "shuffled_hash", "sort_merge"


_NOT_ALWAYS_TOLD = ("traits", "shift", "keep_splits")


@dataclass(frozen=True, slots=True)
class PlacedShift:
    """`key = sign · column + by`; of a column's values below `low` and above `high` nothing is known, None for no such end."""

    sign: int
    by: int
    low: int | None
    high: int | None

    def to_dict(self) -> dict[str, int | None]:
        """The form of the protocol."""
        return {"sign": self.sign, "by": self.by, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A filter to come: keys `keys` of node `join` will filter `columns` (expression ids) of node `scan`.

    `source` is the node that materialises the build side; with `gate` the stage of the scan has to wait for it. The filter is not
    filled from more than `max_build_rows` rows. Until a stage of the build side turns out to have more than `holds_rows` rows,
    what was planned holds. `traits`: what a later query finds it by. `shift`: how the key is
    made of the column, None where it is the column. `keep_splits`: the scan keeps Spark's own splits and the order of its rows.
    """

    id: str
    join: int
    keys: tuple[int, ...]
    build_side: str
    source: int
    gate: bool
    scan: int
    columns: tuple[int, ...]
    label: str
    kinds: tuple[str, ...]
    max_keys: int
    bloom_fpp: float
    bloom_max_bytes: int
    max_build_rows: int
    holds_rows: int
    ahead: RowWork
    keep_nulls: bool
    keep_splits: bool
    traits: Traits
    shift: PlacedShift | None

    def to_dict(self) -> dict[str, object]:
        """The form of the protocol, without the traits: the host adds them with what it knows of the table's indexes."""
        fields: dict[str, object] = {name: getattr(self, name) for name in self.__slots__ if name not in _NOT_ALWAYS_TOLD}
        return {
            **fields,
            "keys": list(self.keys),
            "columns": list(self.columns),
            "kinds": ",".join(self.kinds),
            "ahead": self.ahead.to_dict(),
            **({"keep_splits": True} if self.keep_splits else {}),
            **({} if self.shift is None else {"shift": self.shift.to_dict()}),
        }


@dataclass(frozen=True, slots=True)
class Candidate:
    """One key pair of one join and one scan that it could filter, or several key pairs as a tuple, and what became of it.

    `pairs` are the numbers of the key pairs; `scan` is None where no scan was reached. `key_id` is the same at every re-plan;
    copies of one join share it. `estimated_gain_ms` is what a placed filter is expected to bring net of its costs, None where that
    is known only when the keys are there. `index_reasons`: codes of what is the matter with indexes of the scan's table; `detail`
    has the sentences. `minor`: a report has a line for it only if it was applied.
    """

    key_id: str
    join: int
    pairs: tuple[int, ...]
    scan: int | None
    placeholder: str | None
    gate: bool
    build: str
    probe: str
    join_type: str
    strategy: str
    decision: str
    reason: str
    detail: str
    estimated_gain_ms: float | None = None
    index_reasons: tuple[str, ...] = ()
    minor: bool = False

    def to_dict(self) -> dict[str, object]:
        """The form of the protocol; `index_reasons` is absent where there are none, `minor` where it is false."""
        fields: dict[str, object] = {name: getattr(self, name) for name in self.__slots__ if name not in ("index_reasons", "minor")}
        codes = {"index_reasons": list(self.index_reasons)} if self.index_reasons else {}
        return {**fields, "pairs": list(self.pairs), **codes, **({"minor": True} if self.minor else {})}


@dataclass(frozen=True, slots=True)
class FilterPlan:
    """The answer to a plan; `warnings` are sentences about hints that mean nothing.

    `unsettled`: the scans for which other sizes may bring another answer (planner/placement/replans.py). A re-plan that is the
    same but for stages that have run, these scans among them, would be answered alike if no build side has a stage of over
    `holds_rows` rows.
    """

    placeholders: tuple[Placeholder, ...]
    candidates: tuple[Candidate, ...]
    unsettled: tuple[int, ...]
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """The form of the protocol; `warnings` is absent where there are none."""
        return {
            "placeholders": [placeholder.to_dict() for placeholder in self.placeholders],
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "unsettled": list(self.unsettled),
            **({"warnings": list(self.warnings)} if self.warnings else {}),
        }
