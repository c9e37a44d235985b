"""What the planner raises."""

from __future__ import annotations


class SnapshotError(ValueError):
    """A plan snapshot that does not follow docs/protocol.md; the text names the node and what is wrong with it."""
