"""How large a subtree's result probably is, before it has run.

Plain guesses, each of them named here: a scan is Spark's size of its files times a guess for each of its conjuncts; an inner join
keeps of its larger side the share that is left of the smaller one; a stage that has finished is known exactly. Bytes are those of
the files for what has not run and those of the shuffle or the broadcast for what has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from planner.legality.joins import Direction
from planner.plan.join_types import join_type_name
from planner.plan.nodes import LEFT, RIGHT, Aggregate, Exchange, Filter, Join, QueryStage, Scan, Union
from planner.plan.tree import Plan
from planner.plan.widths import row_bytes

# The share of rows that a conjunct of each kind keeps.
CONJUNCT_KEEPS = {"eq": 0.05, "in": 0.1, "range": 0.33, "prefix": 0.1, "null": 0.1, "not_null": 1.0, "other": 0.5}
# Bytes that one value takes in a compressed Parquet file, and that a column takes in it beside its values, the headers of its pages
# and what the footer says of it; of a file so small that this is most of it, the least share that its values take. Guesses, like
# the shares above.
BYTES_PER_VALUE, BYTES_PER_COLUMN, LEAST_VALUES_SHARE = 2.5, 300.0, 0.1
# Nothing is estimated smaller than this share of it, however many conjuncts a query has.
LEAST_SHARE = 1e-6
ONE_ROW_BYTES = 1_000.0
# So many times the rows that were expected are another build side, of which the planner has to be asked; fewer than the least of
# them are read in no time.
TIMES_EXPECTED, LEAST_ROWS_THAT_HOLD = 2.0, 100_000

_LEFT_SIZED = ("LeftSemi", "LeftAnti", "ExistenceJoin", "LeftOuter")


@dataclass(frozen=True, slots=True)
class Size:
    """An estimated size. `kept` is the share of its rows that filters have left of what would be there without any (0 to 1)."""

    bytes: float
    rows: float
    kept: float

    def times(self, share: float) -> Size:
        share = max(share, LEAST_SHARE)
        return Size(self.bytes * share, self.rows * share, max(self.kept * share, LEAST_SHARE))

    @property
    def unfiltered_bytes(self) -> float:
        return self.bytes / self.kept


@dataclass(frozen=True, slots=True)
class Reduction:
    """A filter that will have dropped rows of a scan by `columns`.

    `share` is what conditions on its build side let one expect it to keep: build sides are reduced by that. `passed` is what other
    filters of the scan are expected to find: less, where keys are missing without any condition. `join` is the one whose result has
    no row less by it: the join that it serves, or, `across`, the one whose equality it came over.
    """

    scan: int
    join: int
    share: float
    passed: float
    columns: tuple[int, ...] = ()
    across: bool = False


def share_kept(conjuncts: Iterable[str]) -> float:
    """The share of rows that conjuncts keep together, taken as independent. A word that is not known counts as `other`."""
    share = 1.0
    for word in conjuncts:
        share *= CONJUNCT_KEEPS.get(word, CONJUNCT_KEEPS["other"])
    return max(share, LEAST_SHARE)


def share_left(scan: Scan, conjuncts: Iterable[str]) -> float:
    """The share of a scan's rows that its conditions, in words, leave: as an earlier query saw it, else a guess."""
    rows = rows_of_scan(scan)
    if scan.left is None or not rows:
        return share_kept(conjuncts)
    return min(max(scan.left / rows, LEAST_SHARE), 1.0)


def rows_of_scan(scan: Scan) -> float | None:
    """Rows of a scan's files: as the catalog knows them, else guessed from their size, None when neither is known."""
    if scan.rows is not None:
        return float(scan.rows)
    if scan.bytes is None:
        return None
    columns = scan.columns_total or max(len(scan.columns), 1)
    values = max(scan.bytes - columns * BYTES_PER_COLUMN, scan.bytes * LEAST_VALUES_SHARE)
    return values / (columns * BYTES_PER_VALUE)


@dataclass(slots=True)
class Estimates:
    """Sizes of the subtrees of one plan, with the filters that are placed so far. A size is None where nothing is known."""

    plan: Plan
    _reductions: list[Reduction] = field(default_factory=list)
    _sizes: dict[int, Size | None] = field(default_factory=dict)
    # Of subtrees without a reduced scan: the same whatever they are a part of.
    _unreduced: dict[int, Size | None] = field(default_factory=dict)
    # The same plan's without any placed filter, made when it is asked for.
    _bare: Estimates | None = None

    def copy(self) -> Estimates:
        """The same sizes, for filters that are only tried."""
        return Estimates(self.plan, list(self._reductions), dict(self._sizes), dict(self._unreduced), self._without_reductions())

    def reduce(self, reduction: Reduction) -> None:
        """From here on a scan counts as reduced, wherever the join that does it is not part of the estimate anyway."""
        self._reductions.append(reduction)
        for sizes in (self._sizes, self._unreduced):
            for above in [node for node in sizes if self.plan.is_below(reduction.scan, node)]:
                del sizes[above]

    def size_of(self, node: int) -> Size | None:
        """The size of what a node puts out."""
        if node not in self._sizes:
            self._sizes[node] = self._estimate(node, node)
        return self._sizes[node]

    def bare_size_of(self, node: int) -> Size | None:
        """The size of what a node puts out without the placed filters."""
        return self._without_reductions().size_of(node)

    def rows_without_filters(self, node: int) -> float | None:
        """The rows that a node would put out without the filters below it, be they placed or at work already.

        Too many where the join of one that is at work is itself below the node.
        """
        bare = self.bare_size_of(node)
        at_work = math.prod(below.passed for below in self.plan.subtree(node) if isinstance(below, Scan))
        return None if bare is None else bare.rows / max(at_work, LEAST_SHARE)

    def _without_reductions(self) -> Estimates:
        if self._bare is None:
            self._bare = Estimates(self.plan)
        return self._bare

    def _estimate(self, at: int, top: int) -> Size | None:
        """The size at a node, as part of an estimate of node `top`."""
        if at in self._unreduced:
            return self._unreduced[at]
        size = self._compute(at, top)
        if not any(self.plan.is_below(reduction.scan, at) for reduction in self._reductions):
            self._unreduced[at] = size
        return size

    def _compute(self, at: int, top: int) -> Size | None:
        node = self.plan.nodes[at]
        if isinstance(node, Scan):
            return self._scan(node, top, node.filters)
        if isinstance(node, Filter):
            child = self.plan.below_wrappers(node.children[0])
            # Spark hands a filter's conjuncts to the scan below it: they must not count twice.
            if isinstance(child, Scan):
                return self._scan(child, top, min(node.conjuncts, child.filters, key=share_kept))
            below = self._estimate(child.id, top)
            return None if below is None else below.times(share_kept(node.conjuncts))
        if isinstance(node, QueryStage):
            return self._stage(node, top)
        if isinstance(node, Join):
            return self._join(node, top)
        sizes = [self._estimate(child, top) for child in node.children]
        if isinstance(node, Aggregate) and not node.grouping:
            return Size(ONE_ROW_BYTES, 1.0, 1.0)
        if isinstance(node, Union):
            return _together(sizes)
        return sizes[0] if len(sizes) == 1 else None

    def _scan(self, scan: Scan, top: int, conjuncts: Iterable[str]) -> Size | None:
        rows = rows_of_scan(scan)
        if rows is None or scan.bytes is None:
            return None
        size = Size(float(scan.bytes), rows, 1.0).times(share_left(scan, conjuncts))
        if scan.passed < 1.0:
            size = size.times(scan.passed)
        # A join inside the estimate takes its share by itself.
        counted = [each for each in self._reductions if each.scan == scan.id and not self.plan.is_below(each.join, top)]
        return size.times(_share_of_all(counted, lambda each: each.share)) if counted else size

    def rows_found(self, scan: int) -> float | None:
        """The rows that another filter of a scan finds: what its conditions and the placed filters leave."""
        above = self.plan.nodes[self.plan.parents[scan]]
        size = self.size_of(above.id if isinstance(above, Filter) else scan)
        mine = [each for each in self._reductions if each.scan == scan]
        if size is None or not mine:
            return None if size is None else size.rows
        return size.rows * _share_of_all(mine, lambda each: each.passed) / _share_of_all(mine, lambda each: each.share)

    def share_of_equal(self, scan: int, columns: tuple[int, ...], across: bool) -> float:
        """What placed filters keep of a scan whose keys are among those of a filter of these columns, or the other way round.

        So it is with two filters of the same columns of which one came over an equality.
        """
        placed = (each for each in self._reductions if each.scan == scan and each.columns == columns)
        return min((each.passed for each in placed if each.across or across), default=1.0)

    def _stage(self, stage: QueryStage, top: int) -> Size | None:
        below = self._estimate(stage.children[0], top)
        if not stage.materialized or stage.bytes is None:
            return below
        if below is None or stage.rows is None:
            rows = 0.0 if stage.rows is None else float(stage.rows)
            return Size(float(stage.bytes), rows, 1.0 if below is None else below.kept)
        unfiltered_rows = below.rows / below.kept
        share = stage.rows / unfiltered_rows if unfiltered_rows > 0 else 1.0
        return Size(self._bytes_of(stage, stage.bytes), float(stage.rows), min(max(share, LEAST_SHARE), 1.0))

    def _bytes_of(self, stage: QueryStage, told: int) -> float:
        """Of a broadcast Spark tells the memory of its hash table, 64 MiB for one row: its rows are hardly larger than these."""
        if not stage.broadcast or stage.rows is None:
            return float(told)
        return min(float(told), float(stage.rows * row_bytes(self.plan, stage)))

    def _join(self, join: Join, top: int) -> Size | None:
        left, right = self._estimate(join.left, top), self._estimate(join.right, top)
        if left is None or right is None:
            return left or right
        name = join_type_name(join.join_type)
        if name in _LEFT_SIZED or name == "RightOuter":
            main, added = (right, left) if name == "RightOuter" else (left, right)
            return main.times(added.kept) if name == "LeftSemi" else main
        if name not in ("Inner", "Cross"):
            return _together([left, right])
        larger, smaller = (left, right) if left.unfiltered_bytes >= right.unfiltered_bytes else (right, left)
        return larger.times(smaller.kept) if join.left_keys else larger

    def side_of(self, join: Join, side: str) -> Size | None:
        return self.size_of(join.left if side == LEFT else join.right)

    def smaller_side(self, join: Join) -> str:
        """The side that is estimated smaller; the right one where nothing is known or both are equal."""
        left, right = self.side_of(join, LEFT), self.side_of(join, RIGHT)
        if left is None or right is None:
            return RIGHT if left is None else LEFT
        return LEFT if left.bytes < right.bytes else RIGHT


def rows_that_hold(estimates: Estimates, source: int) -> int:
    """The most rows of a stage of a build side with which what was planned for it holds: twice what was expected of the largest."""
    plan = estimates.plan
    parts = [node.id for node in plan.nodes[source : plan.ends[source]] if isinstance(node, Exchange | QueryStage)]
    expected = [size.rows for part in parts if (size := estimates.size_of(part)) is not None]
    return round(max(TIMES_EXPECTED * max(expected, default=0.0), LEAST_ROWS_THAT_HOLD))


def estimates_of(plan: Plan) -> Estimates:
    """The estimates of a plan without any filter."""
    return Estimates(plan)


def smaller_builds_first(estimates: Estimates, directions: Sequence[tuple[Direction, ...]]) -> tuple[tuple[Direction, ...], ...]:
    """The directions of each join, the better one first: the side that is estimated smaller builds.

    Of two only one is taken, for each would make the other wait.
    """
    return tuple(
        of_join if len(of_join) < 2 or estimates.smaller_side(of_join[0].join) != of_join[0].probe_side else of_join[::-1]
        for of_join in directions
    )


def _share_of_all(reductions: Iterable[Reduction], share_of: Callable[[Reduction], float]) -> float:
    """What filters of one scan keep together, taken as independent; but of one that came over an equality and those of its columns
    the keys are the same, or the ones are among the others."""
    own: dict[tuple[int, ...], float] = {}
    across: dict[tuple[int, ...], float] = {}
    for each in reductions:
        if each.across:
            across[each.columns] = min(across.get(each.columns, 1.0), share_of(each))
        else:
            own[each.columns] = own.get(each.columns, 1.0) * share_of(each)
    kept = math.prod(min(own.get(columns, 1.0), across.get(columns, 1.0)) for columns in own.keys() | across.keys())
    return max(kept, LEAST_SHARE)


def _together(sizes: list[Size | None]) -> Size | None:
    known = [size for size in sizes if size is not None]
    if not known or len(known) < len(sizes):
        return None
    total = Size(sum(size.bytes for size in known), sum(size.rows for size in known), 1.0)
    unfiltered = sum(size.unfiltered_bytes for size in known)
    return replace(total, kept=max(total.bytes / unfiltered, LEAST_SHARE) if unfiltered > 0 else 1.0)
