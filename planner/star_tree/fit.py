"""Whether a tree fits what an aggregate asks of its table, and what stands in place of each function then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.star_tree.facts import TreeFacts
from planner.star_tree.question import Question
from planner.star_tree.reasons import TreeReason, TreeRefusedError
from planner.star_tree.recipes import Recipe, recipe_of
from planner.star_tree.stored_names import source_of


@dataclass(frozen=True, slots=True)
class Fit:
    """A tree that answers.

    Attributes:
        recipes: One for each aggregate function of the query.
        told_apart: Dimensions whose values must be told apart in the rows that are read.
        used: All dimensions that the query reads, those of conditions too.
        stored: Other columns of the tree's rows that it reads.
    """

    recipes: tuple[Recipe, ...]
    told_apart: tuple[str, ...]
    used: tuple[str, ...]
    stored: tuple[str, ...]


def fit(question: Question, facts: TreeFacts, *, floats: bool) -> Fit:
    """Raises TreeRefusedError with the first check that fails."""
    in_conditions = {name for each in question.conditions for name in each.columns}
    _require_dimensions(sorted(question.told_apart | in_conditions), facts)
    recipes = tuple(recipe_of(each, question, facts, floats=floats) for each in question.aggregates)
    apart = question.told_apart | {name for recipe in recipes for name in recipe.told_apart}
    _require_dimensions(sorted(apart), facts)
    used = apart | in_conditions
    types = {column.name: column.type for column in question.relation.columns}
    stored = frozenset(name for recipe in recipes for name in recipe.stored)
    for name in sorted(used | {source_of(each) for each in stored if source_of(each)}):
        if types.get(name) != facts.types.get(name):
            raise TreeRefusedError(
                TreeReason.OTHER_TYPE, f"the query reads {name} as {types.get(name)}, the tree holds it as {facts.types.get(name)}."
            )
    in_order = [name for name in facts.dimensions if name in used]
    return Fit(recipes, tuple(name for name in in_order if name in apart), tuple(in_order), tuple(sorted(stored)))


def _require_dimensions(names: Sequence[str], facts: TreeFacts) -> None:
    lacking = tuple(name for name in names if name not in facts.dimensions)
    if lacking:
        raise TreeRefusedError(
            TreeReason.NO_DIMENSION,
            f"the query filters, groups or joins by {', '.join(lacking)}: no dimension of the tree.",
            lacking,
        )
