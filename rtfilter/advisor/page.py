"""The page of an advice: one file with everything in it, for a screen of any width, light or dark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

from planner.counted import counted
from rtfilter.advisor.text import NOT_INDEXES, UNITS_OF_VOTES, back_test_text, saved_text, size_text

if TYPE_CHECKING:
    from rtfilter.advice.advise import Advice


def advice_page(advice: Advice) -> str:
    """The whole page."""
    return _environment().get_template("advice.html.j2").render(_content(advice))


def advice_part(advice: Advice) -> str:
    """What a notebook shows: the page's content without its head."""
    return _environment().get_template("advice_part.html.j2").render(_content(advice))


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("rtfilter.advisor", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(counted=counted, size=size_text, saved=saved_text, share=_share, back_test_text=back_test_text)
    return environment


def _share(share: float | None) -> str:
    return "not tried" if share is None else f"{share:.1%}"


def _content(advice: Advice) -> dict[str, object]:
    return {
        **advice.to_dict(),
        "coverage": advice.coverage,
        "chosen": advice.chosen,
        "unit_of_votes": UNITS_OF_VOTES[advice.strategy],
        "not_indexes": NOT_INDEXES,
    }
