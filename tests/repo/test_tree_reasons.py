"""Every reason of a star-tree has a query that makes it, and a line for users."""

from __future__ import annotations

from planner.star_tree.reasons import TreeReason
from tests.repo.reason_codes import ROOT
from tests.spark.star_tree.refusals import ROWS


def test_every_reason_has_its_row() -> None:
    assert {row.reason for row in ROWS} == set(TreeReason)
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_every_reason_is_explained_to_users() -> None:
    told = (ROOT / "docs" / "star-trees.md").read_text(encoding="utf-8")
    assert not [reason for reason in TreeReason if f"`{reason}`" not in told]
