"""The figures of the house are met (tests/repo/house_figures.py)."""

from __future__ import annotations

from tests.repo.house_figures import Figure, figures
from tests.repo.placing_walk import placing_walk


def test_every_figure_is_met() -> None:
    missed = [str(figure) for figure in figures() if not figure.is_met]
    assert not missed, "\n".join(missed)


def test_the_walk_follows_the_question() -> None:
    stops = placing_walk().stops
    assert stops[0] == "planner/questions.py" and stops[-1].startswith("planner/placement/")
    assert {"planner/legality/lineage.py", "planner/cost/forecast.py", "planner/placement/gates.py"} <= set(stops)


def test_a_figure_above_its_limit_is_marked() -> None:
    assert str(Figure("pages", 3, 2)).startswith("! pages") and not Figure("pages", 3, 2).is_met
    assert str(Figure("pages", 2, 2)).startswith("  pages") and Figure("pages", 2, 2).is_met
