"""What the rows of a scan have before them on the way up to a join, read from the plan between the two."""

from __future__ import annotations

from planner.cost.sizes import Estimates, share_kept, share_left
from planner.inputs.row_work import RowWork
from planner.plan.join_types import join_type_name
from planner.plan.nodes import BROADCAST_EXCHANGE, Aggregate, Exchange, Filter, Join, QueryStage, Scan, Sort, Window
from planner.plan.tree import Plan
from planner.plan.types import INTEGRAL_WIDTH
from planner.plan.widths import WORD_BYTES, row_bytes, value_bytes

# What an aggregate leaves of its rows: a guess, of which only what comes after it depends.
AGGREGATE_KEEPS = 0.5
# Nothing is joined with more rows than this for each that is read: a bound for plans of very many joins, far above any real one.
MOST_JOINED = 1e9


def work_of_rows(estimates: Estimates, scan: int, join: int) -> RowWork:
    """The work of an average row of `scan` on its way to `join`, which is above it.

    Behind the first exchange that other places of the query share nothing is counted: equal scans below equal exchanges must get
    equal filters, and each place goes on in its own way.
    """
    plan = estimates.plan
    at = plan.scan(scan)
    share = tested = _share_tested(plan, at)
    shuffle_bytes = sorts = groups = broadcasts = broadcast_bytes = 0.0
    # By a row of keys, and by one whole number.
    probes, own = {False: 0.0, True: 0.0}, {False: 0.0, True: 0.0}
    below = scan
    for node in plan.ancestors(scan):
        if isinstance(node, Exchange) and node.kind == BROADCAST_EXCHANGE:
            broadcasts += share
            broadcast_bytes += share * row_bytes(plan, node)
        elif isinstance(node, Exchange):
            shuffle_bytes += share * row_bytes(plan, node)
        elif isinstance(node, Sort):
            sorts += share
        elif isinstance(node, Window):
            groups += share
        elif isinstance(node, Aggregate):
            groups += share
            share *= AGGREGATE_KEEPS
        elif isinstance(node, Join) and node.id != join:
            probes[_by_a_long(node)] += share
            share = min(share * _share_joined(estimates, node, below), MOST_JOINED)
        elif isinstance(node, Join):
            own[_by_a_long(node)] = share
        elif isinstance(node, Filter) and node.id != plan.parents[scan]:
            share *= share_kept(node.conjuncts)
        if node.id == join or (isinstance(node, Exchange | QueryStage) and node.same is not None):
            break
        below = node.id
    return RowWork(
        scan_bytes=float(sum(value_bytes(column.type) for column in at.columns)),
        tested=tested,
        shuffle_bytes=shuffle_bytes,
        sorts=sorts,
        probes=probes[True],
        row_probes=probes[False],
        own_probes=own[True],
        own_row_probes=own[False],
        groups=groups,
        broadcasts=broadcasts,
        broadcast_bytes=broadcast_bytes,
    )


def _by_a_long(join: Join) -> bool:
    """Whether rows are looked up by one whole number: Spark's hash joins make one of integral keys that fit into eight bytes
    (HashJoin.rewriteKeyExpr, checked on 4.3), and a sort-merge join compares keys, which takes as little."""
    left = WORD_BYTES
    for key in join.left_keys:
        if key.type not in INTEGRAL_WIDTH:
            return join.build_side is None
        left -= INTEGRAL_WIDTH[key.type]
    return left >= 0 or join.build_side is None


def _share_tested(plan: Plan, scan: Scan) -> float:
    """What is left of a scan's rows by its own conditions; Spark tells them twice, at the scan and in the filter above it."""
    above = plan.nodes[plan.parents[scan.id]]
    conjuncts = min(above.conjuncts, scan.filters, key=share_kept) if isinstance(above, Filter) else scan.filters
    return share_left(scan, conjuncts)


def _share_joined(estimates: Estimates, join: Join, below: int) -> float:
    """How many rows of another join on the way there are for each row that comes from child `below`.

    Of a table with foreign keys to this one there are many: a supplier that is dropped here spares all that its line items have
    before them from that join on.
    """
    name = join_type_name(join.join_type)
    if name not in ("Inner", "LeftSemi") or not join.left_keys:
        return 1.0
    other, mine = estimates.size_of(join.right if below == join.left else join.left), estimates.bare_size_of(below)
    if other is None:
        return 1.0
    if name == "LeftSemi" or mine is None or mine.rows <= 0 or mine.unfiltered_bytes >= other.unfiltered_bytes:
        return other.kept
    return max(other.rows * mine.kept / mine.rows, other.kept)
