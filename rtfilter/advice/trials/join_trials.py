"""What indexes on a join key add to what runtime filters on it reject: by filters that the log has measured, with drawn keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from rtfilter.advice.trials.trial import Built, Question, Trial


@dataclass(slots=True, eq=False)
class TriedJoin:
    """The filters on one key. `parts`: what share of the packs that they left was left by filters of as many keys as each of these
    questions asks for. Together they may be less than all: of the rest nothing is known, so nothing is saved there."""

    column: str
    parts: tuple[tuple[float, tuple[Question, ...]], ...]
    _ratios: dict[Built, float] = field(default_factory=dict)

    def ratio(self, trial: Trial, built: Built) -> float:
        """What filters would leave with these sketches, as a share of what they leave with those that are there."""
        mine, there = (frozenset(each for each in one if each.column == self.column) for one in (built, trial.existing))
        if mine not in self._ratios:
            changes = (
                part * (1.0 - trial.joined_share(asked, mine) / before)
                for part, asked in self.parts
                if (before := trial.joined_share(asked, there))
            )
            self._ratios[mine] = 1.0 - math.fsum(changes)
        return self._ratios[mine]


def tried_joins(
    joined_by: Mapping[str, Mapping[int, float]], trial: Trial, distinct: Mapping[str, float | None]
) -> tuple[TriedJoin, ...]:
    """The joins of some queries whose filters an index could help.

    Args:
        joined_by: By key, of the packs that filters left what part was left by filters of so many keys.
        distinct: By column how many values the table has.
    """
    found = []
    for column, by_keys in sorted(joined_by.items()):
        asked = ((part, trial.joined(column, keys, distinct.get(column))) for keys, part in sorted(by_keys.items()))
        known = tuple((part, questions) for part, questions in asked if questions)
        found += [TriedJoin(column, known)] if known else []
    return tuple(found)
