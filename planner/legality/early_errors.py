"""A scan that waits makes its build side run first. That must not raise an error that the query would not have had without it."""

from __future__ import annotations

from planner.plan.expressions import raises_past_its_type_only
from planner.plan.nodes import PlanNode
from planner.plan.proposals import Proposal
from planner.plan.tree import Plan
from planner.reasons import MAY_RAISE, Refusal


def refuse_early_error(plan: Plan, proposal: Proposal) -> Refusal | None:
    """Why a scan must not wait for a build side: where the probe side is empty Spark may never run the build side.

    Checked on 4.3: adaptive execution drops an inner join as soon as one side has ended without a row.
    """
    below = plan.raising_below(proposal.source) if proposal.gate else iter(())
    raising = next((node for node in below if not _only_moves(node)), None)
    if raising is None:
        return None
    what = (
        f"{raising.op} in the build side can raise an error, and Spark does not run it if the probe side ends first without a row."
    )
    return Refusal(MAY_RAISE, what)


def _only_moves(node: PlanNode) -> bool:
    """Whether a node can fail only by adding a number to a column past the end of its type, as keys such as k + 1 do."""
    return not node.may_raise and all(raises_past_its_type_only(expr) for expr in (*node.moved, *node.expressions()))
