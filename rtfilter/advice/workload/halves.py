"""A log cut in two, to judge on one half what the other one advises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from rtfilter.advice.workload.fingerprints import Calls, Exact, Fingerprint, Workload, digest_of
from rtfilter.advice.workload.literals import Sample

# A log of fewer lines has no halves.
LEAST_LINES = 20
# Neither half may be less of the log than this.
LEAST_SHARE = Fraction(1, 5)


@dataclass(frozen=True, slots=True)
class Halves:
    """`by`: "time", or "digest" of the literals where lines have no times or are all of one day."""

    by: str
    first: Workload
    second: Workload


def halves(workload: Workload) -> Halves | None:
    """The first and the second half; None for a log that is too short. They do not depend on the order of the log."""
    if sum(calls.lines for calls in workload.values()) < LEAST_LINES:
        return None
    by_time = _by_time(workload)
    if by_time is not None:
        return by_time
    shares = {fingerprint: _even(calls) for fingerprint, calls in workload.items()}
    first = {each: _part(calls, shares[each], _samples(calls, 0)) for each, calls in workload.items() if shares[each] > 0}
    second = {each: _part(calls, 1 - shares[each], _samples(calls, 1)) for each, calls in workload.items() if shares[each] < 1}
    return _checked("digest", first, second)


def _by_time(workload: Workload) -> Halves | None:
    days: Counter[int] = Counter()
    for calls in workload.values():
        days.update(calls.days)
    total = sum(days.values())
    if len(days) < 2 or total != sum(calls.weight for calls in workload.values()):
        return None
    begun: Exact = 0
    # The first half ends with the day on which half of all calls have come, but not with the last one.
    ordered = sorted(days)
    cut = ordered[0]
    for cut in ordered[:-1]:
        begun += days[cut]
        if begun * 2 >= total:
            break
    first, second = dict[Fingerprint, Calls](), dict[Fingerprint, Calls]()
    for fingerprint, calls in workload.items():
        share = Fraction(sum(weight for day, weight in calls.days.items() if day <= cut)) / Fraction(calls.weight or 1)
        if share > 0:
            first[fingerprint] = _part(calls, share, calls.samples)
        if share < 1:
            second[fingerprint] = _part(calls, 1 - share, calls.samples)
    return _checked("time", first, second)


def _checked(by: str, first: Workload, second: Workload) -> Halves | None:
    weights = [sum((calls.weight for calls in half.values()), Fraction(0)) for half in (first, second)]
    return Halves(by, first, second) if min(weights) >= LEAST_SHARE * sum(weights) > 0 else None


def _bit(sample: Sample) -> int:
    return digest_of(sample)[0] & 1


def _samples(calls: Calls, bit: int) -> dict[Sample, Exact]:
    return {sample: weight for sample, weight in calls.samples.items() if _bit(sample) == bit}


def _even(calls: Calls) -> Fraction:
    """The share of calls whose literals have an even digest; half of them where literals are not known."""
    total = sum(calls.samples.values())
    return Fraction(sum(_samples(calls, 0).values())) / Fraction(total) if total else Fraction(1, 2)


def _part(calls: Calls, share: Fraction, samples: Mapping[Sample, Exact]) -> Calls:
    """A share of the calls."""
    entries: Counter[int | None] = Counter()
    for each, weight in calls.entries.items():
        entries[each] = weight * share  # type: ignore[assignment]
    return replace(
        calls,
        weight=calls.weight * share,
        ms=calls.ms * share,
        timed=calls.timed * share,
        entries=entries,
        samples=dict(samples),
    )
