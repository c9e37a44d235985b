"""How many packs of the whole table one call keeps, as far as the sampled packs tell."""

from __future__ import annotations

import numpy as np

from rtfilter.advice.trials.trial import Built, Question, Trial


def foreseen_packs(trial: Trial, asked: Question, built: Built) -> float:
    """Packs that one call keeps: those of the sample for sure, of the others the same share."""
    within = asked.bounded[trial.sample.at]
    seen, kept = int(np.count_nonzero(within)), int(np.count_nonzero(trial.kept(asked, built)))
    rest = int(np.count_nonzero(asked.bounded)) - seen
    return kept + rest * (kept / seen if seen else 1.0)
