"""What the session says about planning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from planner.inputs.filter_history import Recall
from planner.inputs.machine import Machine
from planner.inputs.row_work import RowWork

# The bridge reads counts as Java ints.
LARGEST_INT = 2**31 - 1
RANGE, SET, BLOOM = "range", "set", "bloom"
# In the order in which the bridge reads them.
KINDS = (RANGE, SET, BLOOM)
# Kinds that can hold tuples: a range of tuples says next to nothing about their parts.
TUPLE_KINDS = (SET, BLOOM)
# By `Candidate.key_id`, which is the same at every re-plan of a query: the work of rows when their scan was to wait, or None.
Waited: TypeAlias = Callable[[str], RowWork | None]


def nobody_waited(key_id: str) -> None:
    """Where no earlier plan is known."""
    return


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """`decision` starts every placeholder's id; the others are the options and Spark settings of their names.

    `machine` is what times are estimated with. `recall` says what a filter did in earlier queries, None where
    nothing is remembered. `waited`: what rows had before them, as long as their scan waited, in an earlier plan of the same query.
    `placed_before`: by `Candidate.key_id`, whether an earlier plan of the same query had the filter.
    `goes_on`: what is made of the rows is not all in the plan, which is that of a cached frame or an RDD.
    """

    decision: str
    kinds: tuple[str, ...] = KINDS
    cost: str = "auto"
    max_keys: int = 1_000_000
    bloom_fpp: float = 0.01
    bloom_max_bytes: int = 64 << 20
    job_from_rows: int = 65_536
    gate_enabled: bool = True
    packs_enabled: bool = True
    adaptive: bool = True
    field_id_read: bool = False
    goes_on: bool = False
    machine: Machine = field(default_factory=Machine)
    recall: Recall | None = None
    waited: Waited = nobody_waited
    placed_before: Callable[[str], bool] = lambda key_id: False

    @property
    def always(self) -> bool:
        """Whether filters are wanted whatever they cost."""
        return self.cost == "always"

    @property
    def means(self) -> tuple[object, ...]:
        """What filters may be made of: with other means another one may win."""
        return self.kinds, self.packs_enabled, self.max_keys, self.bloom_max_bytes
