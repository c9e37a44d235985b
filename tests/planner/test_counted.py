"""Nouns with their numbers."""

from __future__ import annotations

import pytest

from planner.counted import counted, part_of


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 packs"), (1, "1 pack"), (1.0, "1 pack"), (2, "2 packs"), (6509, "6,509 packs"), (1.4, "1 pack")]
)
def test_a_number_and_its_noun_agree(number: float, text: str) -> None:
    assert counted(number, "pack") == text


def test_a_plural_of_its_own_is_used() -> None:
    assert (counted(1, "index", "indexes"), counted(2, "index", "indexes")) == ("1 index", "2 indexes")


@pytest.mark.parametrize(
    ("some", "total", "text"),
    [
        (3, 40, "3 of 40 packs"),
        (0, 40, "none of 40 packs"),
        (40, 40, "all 40 packs"),
        (1, 1, "the only pack"),
        (0, 1, "0 of 1 pack"),
        (0, 0, "0 packs"),
        (1_261, 6_509, "1,261 of 6,509 packs"),
    ],
)
def test_a_part_of_a_total_is_said_as_people_say_it(some: int, total: int, text: str) -> None:
    assert part_of(some, total, "pack") == text
