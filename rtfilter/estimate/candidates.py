"""Which joins of a logged query the layer could filter, and why it could not filter the others. The same rules as the planner's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.legality.joins import refuse_to_filter
from planner.plan.join_types import passes_key_down
from planner.plan.nodes import LEFT, RIGHT
from planner.plan.types import is_key_type
from rtfilter.advice.event_logs.queries import JoinFacts, QueryFacts, ScanFacts

SIDES = (LEFT, RIGHT)
PARQUET = "parquet"
# What rows may pass on their way from the scan to the join and stay the rows that they were.
_PASSED = (
    *("Filter", "Project", "Sort", "Exchange", "ShuffleQueryStage", "BroadcastQueryStage", "AQEShuffleRead", "WholeStageCodegen"),
    *("InputAdapter", "ColumnarToRow", "BroadcastExchange", "Union", "ReusedExchange", "AdaptiveSparkPlan", "TableCacheQueryStage"),
)
# These keep whole groups, which a filter may drop where the key is one of what they group by.
_GROUPED = ("HashAggregate", "SortAggregate", "ObjectHashAggregate")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A filter that the layer could have made: keys of the `build` side of a join would have filtered a scan of the other side.

    `share`: of the rows that came to the join those with a partner, at most; None where it can't be told. `is_shuffled`: whether
    the scan would have had to wait for the build side.
    """

    join: JoinFacts
    probe: int
    scan: int
    column: str
    type: str
    build_scan: int | None
    build_column: str
    share: float | None
    is_shuffled: bool

    @property
    def probe_rows(self) -> int | None:
        return self.join.sides[self.probe].rows

    @property
    def build_rows(self) -> int | None:
        return self.join.sides[1 - self.probe].rows


@dataclass(frozen=True, slots=True)
class Refused:
    """A join without a filter, and why."""

    join: JoinFacts
    reason: str


NOT_PARQUET = "the large side is not read from Parquet files by Spark's own reader"
NOT_PLAIN = "the key is computed, or is not a column of a table"
PARTITION = "the key is a column that folders stand for: Spark's dynamic partition pruning covers it"
KEY_TYPE = "the key is of a type that filters hold no values of"
IN_BETWEEN = "an operator between the join and the scan needs every row"
NO_ROWS = "the log does not say how many rows were read: the query failed, was killed, or read nothing"
KEEPS_ALL = "a join of this type keeps every row of the large side"


def candidates_of(query: QueryFacts) -> Iterator[Candidate | Refused]:
    """For each join its possible filters, one for each key and side, or why it has none."""
    for join in query.joins:
        found = [each for side in _probe_sides(join) for each in _of_side(query, join, side)]
        possible = [each for each in found if isinstance(each, Candidate)]
        yield from possible or found[:1]


def _probe_sides(join: JoinFacts) -> tuple[int, ...]:
    """A broadcast join filters the side that is not broadcast, a shuffled one either."""
    return (1 - join.build,) if join.is_broadcast and join.build is not None else (0, 1)


def _of_side(query: QueryFacts, join: JoinFacts, probe: int) -> Iterator[Candidate | Refused]:
    # A broadcast anti join may be NOT IN. Of either kind the filtered side would be the one that it returns.
    null_aware = join.type == "LeftAnti" and join.is_broadcast
    if refuse_to_filter(join.type, SIDES[probe], null_aware) is not None:
        yield Refused(join, KEEPS_ALL)
        return
    side, other = join.sides[probe], join.sides[1 - probe]
    reasons = []
    possible = False
    for key, build in zip(side.keys, other.keys, strict=False):
        if key.scan is None:
            reasons.append(NOT_PARQUET if side.has_other_scans and not side.scans else NOT_PLAIN)
            continue
        scan = query.scans[key.scan]
        type_ = dict(scan.columns).get(key.column)
        reason = _refuse(scan, type_, side.between)
        if reason is not None:
            reasons.append(reason)
            continue
        is_shuffled = not join.is_broadcast or "BroadcastExchange" in side.between or "Exchange" in side.between
        share = share_with_partner(join, probe)
        yield Candidate(join, probe, key.scan, key.column, str(type_), build.scan, build.column, share, is_shuffled)
        possible = True
    if not possible:
        yield Refused(join, reasons[0] if reasons else NOT_PLAIN)


def _refuse(scan: ScanFacts, type_: str | None, between: tuple[str, ...]) -> str | None:
    if scan.format != PARQUET:
        return NOT_PARQUET
    if type_ is None:
        return PARTITION
    if not is_key_type(type_):
        return KEY_TYPE
    if scan.rows is None:
        return NO_ROWS
    if not all(map(_passes, between)):
        return IN_BETWEEN
    return None


def _passes(operator: str) -> bool:
    """Whether a filter may be moved below an operator; of a join it is `Operator Type/side`."""
    name, _, rest = operator.partition(" ")
    if "/" in operator:
        type_, _, side = rest.rpartition("/")
        return passes_key_down(type_, SIDES[int(side)])
    return name in _PASSED or name in _GROUPED


def share_with_partner(join: JoinFacts, probe: int) -> float | None:
    """At most this share of the rows that came to the join had a partner; None where rows out of it say nothing of that."""
    came = join.sides[probe].rows
    if came is None or join.rows is None:
        return None
    if came == 0:
        return None
    preserved = {"LeftOuter": 0, "RightOuter": 1}.get(join.type)
    if join.type in ("Inner", "Cross") or (join.type == "LeftSemi" and probe == 0) or preserved == 1 - probe:
        return min(1.0, join.rows / came)
    return None
