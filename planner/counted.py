"""Nouns with their numbers, for sentences. Knows nothing of the planner: every layer may use it."""

from __future__ import annotations


def counted(number: int | float, noun: str, plural: str = "") -> str:
    """`1 pack`, `2 packs`, `1,234 packs`; `plural` where it is not the noun with an s."""
    text = f"{number:,.0f}"
    return f"{text} {noun if text == '1' else plural or f'{noun}s'}"


def rejects(rejected: int, packs: int) -> str:
    """What a filter does to a scan's packs, as the verb of a sentence."""
    return "does not reject the only pack" if (rejected, packs) == (0, 1) else f"rejects {part_of(rejected, packs, 'pack')}"


def part_of(some: int, total: int, noun: str, plural: str = "") -> str:
    """`39 of 40 packs`, `none of 40 packs`, `all 40 packs`; `the only pack` where that is all, `0 of 1 pack` where it is none."""
    if some == total:
        return "the only " + noun if total == 1 else f"all {counted(total, noun, plural)}" if total else counted(0, noun, plural)
    if some == 0 and total > 1:
        return f"none of {counted(total, noun, plural)}"
    return f"{some:,} of {counted(total, noun, plural)}"
