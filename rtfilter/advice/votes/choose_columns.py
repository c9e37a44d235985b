"""Strategy `estimate`, all queries: the set of columns whose indexes together leave the least to scan."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.votes.scan_cost import Alternative, Vote

# Each larger set must better the cost by this share of what all queries cost without any index.
MIN_GAIN = 0.05
ROUNDS_WITHOUT_GAIN = 2
# Of the highest weight, from which on a column may be the one to sort by.
SORTED_SHARE = 0.7
# Above it not all sets are tried: a set grows by one column at a time, and then columns are swapped while that helps.
MOST_ENUMERATED = 20
_CHUNK = 1 << 16
# Votes times sets that are priced at once, and columns that a number has bits for.
_CELLS, _MOST_BITS = 1 << 15, 62
# Costs that differ by less, as a share of the whole, are the same; then the first set by name wins.
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class WeightedVote:
    """A vote of a fingerprint, and how many calls it stands for."""

    vote: Vote
    weight: float


@dataclass(frozen=True, slots=True)
class Round:
    """The best set of at most `k` columns and the cost that it leaves."""

    k: int
    columns: tuple[str, ...]
    cost: float
    accepted: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """Columns to index and the one to sort by, with the saved cost that each is given and the rounds that led there.

    `before`: cost with the indexes that exist. `bare`: cost without any. `is_greedy`: not all sets were tried.
    """

    indexed: tuple[str, ...]
    sorted_by: str | None
    weights: dict[str, float]
    rounds: tuple[Round, ...]
    before: float
    bare: float
    is_greedy: bool


def choose_columns(votes: Sequence[WeightedVote], table: TableStatistics, min_gain: float = MIN_GAIN) -> Choice:
    """The best set of columns: larger sets as long as each betters the cost by `min_gain` of the whole."""
    bare = math.fsum(each.weight * each.vote.bare_cost for each in votes)
    before = cost_with(frozenset(), votes)
    rounds: list[Round] = []
    best: Round | None = None
    without_gain, is_greedy, last = 0, False, frozenset[str]()
    alternatives = [other.columns for each in votes for other in each.vote.alternatives]
    for k in range(1, len(frozenset[str]().union(*alternatives)) + 1):
        columns = sorted(frozenset[str]().union(*(each for each in alternatives if len(each) <= k)))
        is_greedy |= len(columns) > MOST_ENUMERATED
        best_set = _best_set(columns, min(k, len(columns)), votes, bare, last)
        last, cost = best_set, cost_with(best_set, votes)
        gains = cost < before if best is None else bare > 0 and (best.cost - cost) / bare > min_gain
        rounds.append(Round(k, tuple(sorted(best_set)), cost, gains))
        if gains:
            best, without_gain = rounds[-1], 0
        else:
            without_gain += 1
            if without_gain >= ROUNDS_WITHOUT_GAIN:
                break
    weights = _weights(votes, frozenset(best.columns if best else ()))
    sorted_by = _sorted_column(weights, table)
    indexed = tuple(sorted(column for column in weights if column != sorted_by))
    return Choice(indexed, sorted_by, weights, tuple(rounds), before, bare, is_greedy)


def cheapest(vote: Vote, columns: frozenset[str]) -> Alternative:
    """The alternative that counts when these columns have indexes."""
    return min(
        (other for other in vote.alternatives if other.columns <= columns),
        key=lambda other: (other.cost, len(other.columns), sorted(other.columns)),
    )


def cost_with(columns: frozenset[str], votes: Sequence[WeightedVote]) -> float:
    """What all queries cost with indexes on these columns; fsum, so that no order matters."""
    return math.fsum(each.weight * cheapest(each.vote, columns).cost for each in votes)


def _best_set(columns: list[str], k: int, votes: Sequence[WeightedVote], scale: float, last: frozenset[str]) -> frozenset[str]:
    if not k:
        return frozenset()
    masks = _Masks(columns, votes, scale)
    if len(columns) <= MOST_ENUMERATED:
        return masks.names(min(_best_of_chunks(masks, k))[2])
    return masks.names(_grown(masks, k, last))


class _Masks:
    """Votes with sets of columns as bits, to price many sets at once."""

    def __init__(self, columns: list[str], votes: Sequence[WeightedVote], scale: float) -> None:
        self.columns, self.scale = columns, scale or 1.0
        self.bits = {column: 1 << i for i, column in enumerate(columns)}
        # Alternatives with other columns are out of reach of any set of these.
        self.votes = [
            [
                (sum(self.bits[column] for column in other.columns), each.weight * other.cost)
                for other in each.vote.alternatives
                if other.columns <= self.bits.keys()
            ]
            for each in votes
        ]
        # The same as arrays, an alternative of each vote in a row; of one that has fewer the last one stands again.
        if len(columns) <= _MOST_BITS:
            rows = max((len(vote) for vote in self.votes), default=0)
            padded = [[*vote, *[vote[-1]] * (rows - len(vote))] for vote in self.votes]
            self._masks = np.array([[mask for mask, _ in vote] for vote in padded], dtype=np.int64).reshape(-1, rows).T
            self._costs = np.array([[cost for _, cost in vote] for vote in padded], dtype=np.float64).reshape(-1, rows).T

    def costs(self, sets: list[int]) -> list[float]:
        """The cost of each set, rounded so that equal ones are equal."""
        if len(self.columns) > _MOST_BITS:
            found = [math.fsum(min(cost for mask, cost in vote if mask & each == mask) for vote in self.votes) for each in sets]
            return [round(cost / self.scale, _DIGITS) for cost in found]
        masks = np.array(sets, dtype=np.int64)[:, None]
        total = np.zeros(len(sets))
        step = max(1, _CELLS // max(1, len(sets)))
        for begin in range(0, len(self.votes), step):
            best = np.full((len(sets), len(self._costs[0, begin : begin + step])), np.inf)
            for mask, cost in zip(self._masks[:, begin : begin + step], self._costs[:, begin : begin + step], strict=True):
                np.minimum(best, np.where((masks & mask) == mask, cost, np.inf), out=best)
            total += best.sum(axis=1)
        rounded: list[float] = np.round(total / self.scale, _DIGITS).tolist()
        return rounded

    def names(self, mask: int) -> frozenset[str]:
        return frozenset(column for column, bit in self.bits.items() if mask & bit)


def subsets(n: int, k: int) -> Iterator[int]:
    """All sets of `k` out of `n` as bits, in the order of their members."""
    return (sum(1 << i for i in each) for each in combinations(range(n), k))


def _best_of_chunks(masks: _Masks, k: int) -> Iterator[tuple[float, int, int]]:
    sets, number = subsets(len(masks.columns), k), 0
    while chunk := list(islice(sets, _CHUNK)):
        costs = masks.costs(chunk)
        first = min(range(len(chunk)), key=lambda i: (costs[i], i))
        yield costs[first], number + first, chunk[first]
        number += len(chunk)


def _grown(masks: _Masks, k: int, last: frozenset[str]) -> int:
    """A set of `k` columns: grown from the last one and from none, the better of the two, then columns swapped while that helps."""
    found = [_grow(masks, sum(masks.bits[column] for column in last if column in masks.bits), k), _grow(masks, 0, k)]
    costs = masks.costs(found)
    return _swapped(masks, found[costs.index(min(costs))])


def _grow(masks: _Masks, start: int, k: int) -> int:
    """Adds what saves most for each column added: single columns, or all that an alternative lacks."""
    current = start
    wholes = sorted({mask for vote in masks.votes for mask, _ in vote})
    while current.bit_count() < k:
        room = k - current.bit_count()
        tried = [current | bit for bit in masks.bits.values() if not current & bit]
        tried += [current | whole for whole in wholes if 1 < (whole & ~current).bit_count() <= room]
        before, *costs = masks.costs([current, *tried])
        added = [each.bit_count() - current.bit_count() for each in tried]
        current = tried[min(range(len(tried)), key=lambda i: ((costs[i] - before) / added[i], i))]
    return current


def _swapped(masks: _Masks, current: int) -> int:
    (cost,) = masks.costs([current])
    while True:
        inside = [bit for bit in masks.bits.values() if current & bit]
        outside = [bit for bit in masks.bits.values() if not current & bit]
        tried = [current ^ old ^ new for old in inside for new in outside]
        costs = masks.costs(tried)
        best = min(range(len(tried)), key=lambda i: (costs[i], i), default=None)
        if best is None or costs[best] >= cost:
            return current
        current, cost = tried[best], costs[best]


def _weights(votes: Sequence[WeightedVote], chosen: frozenset[str]) -> dict[str, float]:
    """What each query saves, in equal parts for the columns of its cheapest alternative; the heaviest first."""
    shares: dict[str, list[float]] = {}
    for each in votes:
        winner = cheapest(each.vote, chosen)
        for column in winner.columns:
            saved = each.weight * (each.vote.bare_cost - winner.cost) / len(winner.columns)
            shares.setdefault(column, []).append(saved)
    weights = {column: math.fsum(saved) for column, saved in shares.items()}
    return dict(
        sorted(((column, weight) for column, weight in weights.items() if weight > 0), key=lambda item: (-item[1], item[0]))
    )


def _sorted_column(weights: dict[str, float], table: TableStatistics) -> str | None:
    """Of the single-valued columns with nearly the highest weight the one with the most values."""
    found = []
    for name, weight in weights.items():
        column = table.column(name)
        if column is not None and column.is_single_valued and weight >= SORTED_SHARE * max(weights.values()):
            found.append((-(column.cardinality or 0), name))
    return min(found)[1] if found else None
