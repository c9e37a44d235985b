"""What people read of an aggregate: `sum(price), count(1) by store`."""

from __future__ import annotations

from planner.star_tree.fragment import Fragment

# Of functions, and of what is grouped by.
MOST_CHARACTERS = 60


def aggregate_label(fragment: Fragment) -> str:
    """The functions of an aggregate and what it groups by, cut where it is long."""
    functions = _cut(", ".join(each.text for each in fragment.aggregates)) or "distinct values"
    # Spark gives the computed keys a name of its own, which begins with `_`, and numbers the sets of a ROLLUP.
    named = [each for each in fragment.grouping if each.name != "spark_grouping_id"]
    keys = [each.name if each.is_column and not each.name.startswith("_") else "an expression" for each in named]
    return f"{functions} by {_cut(', '.join(keys))}" if keys else functions


def is_computed(fragment: Fragment) -> bool:
    """Whether a function is of more than columns, so that literals of the query may stand in its text."""
    return any(not arg.is_column and arg.value != "1" for each in fragment.aggregates for arg in each.args) or any(
        each.condition is not None for each in fragment.aggregates
    )


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
