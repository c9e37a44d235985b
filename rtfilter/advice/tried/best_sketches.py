"""The sketches that save the most within a budget. Where it is tight smaller Bloom filters are tried, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rtfilter.advice.packs.by_formulas import LEAST_GAIN
from rtfilter.advice.sampled.costs import sketch_bytes
from rtfilter.advice.sampled.pack_sample import PackSample
from rtfilter.advice.tried.tried_table import TriedGain, TriedTable
from rtfilter.store.sketches.kinds import Bloom, Sketch

# What a sketch is worth, by what it saves and its bytes.
Worth = Callable[[float, int], float]
WAYS: tuple[Worth, ...] = (lambda gain, cost: gain / cost, lambda gain, cost: gain)
# Where the budget is tight a byte has a price as well: that of the best sketch over all of it, times these.
PRICES = (0.25, 0.5, 1.0, 2.0)


def best_sketches(tried: TriedTable, most_bytes: float) -> list[tuple[Sketch, TriedGain]]:
    """Sketches that together save the most, of some ways of choosing; each with what it saves beside those before it."""
    costs = {sketch: cost_of(sketch, tried.trial.sample) for sketch in tried.candidates()}
    found = [_grown(tried, costs, most_bytes, worth) for worth in WAYS]
    if any(_leaves_out(chosen, tried, costs, most_bytes) for chosen in found):
        for sketch in [each for each in costs if isinstance(each, Bloom)]:
            smaller = tried.trial.smaller_blooms(sketch)
            costs |= {each: cost_of(each, tried.trial.sample) for each in smaller}
        ways = [*WAYS, *_with_prices(tried, costs, most_bytes)]
        found += [_enlarged(_grown(tried, costs, most_bytes, worth), tried, costs, most_bytes) for worth in ways]
    gains = [_with_gains(tried, _without_idle(tried, chosen)) for chosen in found]
    return max(gains, key=lambda each: (round(math.fsum(gain.bytes for _, gain in each), 3), -sum(costs[one] for one, _ in each)))


def _with_prices(tried: TriedTable, costs: Mapping[Sketch, int], most_bytes: float) -> list[Worth]:
    """What is saved less the price of the bytes: neither the cheapest sketches come first, nor those that save the most."""
    gains = [tried.gain([sketch], tried.trial.existing).bytes for sketch, cost in costs.items() if cost <= most_bytes]
    prices = [factor * max(gains, default=0.0) / max(1.0, most_bytes) for factor in PRICES]
    return [partial(_less_price, price) for price in prices]


def _less_price(price: float, gain: float, cost: int) -> float:
    return gain - price * cost


def cost_of(sketch: Sketch, sample: PackSample) -> int:
    return max(1, sketch_bytes(sample, sketch))


def _grown(tried: TriedTable, costs: Mapping[Sketch, int], most_bytes: float, worth: Worth) -> list[Sketch]:
    """Sketches one after the other, that of the greatest worth first, while one is left that surely saves something."""
    built = tried.trial.existing
    left, candidates = most_bytes, list(costs)
    chosen: list[Sketch] = []
    while candidates:
        gains = [(tried.gain([sketch], built), sketch) for sketch in candidates if costs[sketch] <= left]
        sure = [each for each in gains if pays(*each, tried)]
        # What saves nothing now may do so with others only in an OR; it is not looked at again, which saves most of the time.
        candidates = [sketch for gain, sketch in gains if gain.bytes > 0]
        if not sure:
            break
        _, best = min(sure, key=lambda each: (-round(worth(each[0].bytes, costs[each[1]]), 6), *_named(each[1])))
        candidates = [each for each in candidates if not _is_instead(each, best)]
        chosen.append(best)
        left -= costs[best]
        built = built | {best}
    return chosen


def _named(sketch: Sketch) -> tuple[str, str, float]:
    return sketch.column, sketch.kind, sketch.fpp if isinstance(sketch, Bloom) else 0.0


def _is_instead(one: Sketch, other: Sketch) -> bool:
    """Whether a column needs only one of the two."""
    return (one.column, one.kind) == (other.column, other.kind)


def _leaves_out(chosen: Sequence[Sketch], tried: TriedTable, costs: Mapping[Sketch, int], most_bytes: float) -> bool:
    """Whether a Bloom filter would pay beside these, but does not fit."""
    built, left = tried.trial.existing | frozenset(chosen), most_bytes - sum(costs[each] for each in chosen)
    others = (each for each in costs if isinstance(each, Bloom) and each not in chosen and costs[each] > left)
    return any(pays(tried.gain([each], built), each, tried) for each in others)


def _enlarged(chosen: list[Sketch], tried: TriedTable, costs: Mapping[Sketch, int], most_bytes: float) -> list[Sketch]:
    """With larger filters in place of small ones, as far as what is left of the budget goes."""
    there = tried.trial.existing
    while True:
        left = most_bytes - sum(costs[each] for each in chosen)
        saved = tried.gain(chosen, there).bytes
        options = []
        for place, small in enumerate(chosen):
            for large in costs:
                if _is_instead(large, small) and 0 < costs[large] - costs[small] <= left:
                    instead = [*chosen[:place], large, *chosen[place + 1 :]]
                    options.append((saved - tried.gain(instead, there).bytes, place, _named(large), instead))
        best = min(options, key=lambda each: (round(each[0], 3), each[1], each[2]), default=None)
        if best is None or best[0] >= 0:
            return chosen
        chosen = best[3]


def pays(gain: TriedGain, sketch: Sketch, tried: TriedTable) -> bool:
    """Whether even the least that it may save is worth a line, and takes more time away than refreshing takes."""
    upkeep = tried.upkeep_ms(sketch)
    is_worth = gain.ms is None or upkeep is None or gain.ms * gain.low > upkeep
    return gain.bytes * gain.low > LEAST_GAIN * tried.read_today and is_worth


def _without_idle(tried: TriedTable, chosen: list[Sketch]) -> list[Sketch]:
    """Without those that save nothing any more beside those that came after them."""
    kept = list(chosen)
    for sketch in chosen:
        others = [each for each in kept if each != sketch]
        if tried.gain([sketch], tried.trial.existing | frozenset(others)).bytes <= LEAST_GAIN * tried.read_today:
            kept = others
    return kept


def _with_gains(tried: TriedTable, chosen: list[Sketch]) -> list[tuple[Sketch, TriedGain]]:
    there = tried.trial.existing
    return [(sketch, tried.gain([sketch], there | frozenset(chosen[:place]))) for place, sketch in enumerate(chosen)]
