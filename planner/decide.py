"""The decision after the fill: with the keys and every pack's verdict known, is a filter applied, and in which form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner.cost import estimated_gain_ms
from planner.reasons import APPLIED, COST_NEVER, FOOTERS_NOT_KNOWN, REJECTS_NO_PACK, TOO_MANY_KEYS, Refusal

# Reading a pack's dictionary costs a read, and a test per entry: not worth it for more keys than this.
MOST_KEYS_FOR_DICTIONARY = 64


@dataclass(frozen=True, slots=True)
class FilterFigures:
    """A filled filter and what it would do to its scan alone.

    `keys` is the number of distinct keys; where `complete` is false, of keys with repeats. `key_min` and `key_max` are None without
    keys. Packs and rows are those of files whose footers are known. `value_span` is the global max - min + 1 of the column over
    the packs that have bounds, None when none has.
    """

    id: str
    kinds: tuple[str, ...]
    complete: bool
    keys: int
    key_min: int | None
    key_max: int | None
    build_rows: int
    packs_total: int
    packs_rejected: int
    rows_total: int
    rows_rejected: int
    value_span: int | None = None
    files_unknown: int = 0


@dataclass(frozen=True, slots=True)
class DecideSettings:
    """`cost` as in the option of that name; `cores` that share the scan."""

    cost: str = "auto"
    cores: int = 1


@dataclass(frozen=True, slots=True)
class FilterDecision:
    """What is done with a filled filter. `push` is the form that the Parquet reader gets."""

    id: str
    kind: str
    decision: str
    reason: str
    detail: str
    keys: int
    build_rows: int
    packs_total: int
    packs_kept: int
    rows_total: int
    rows_kept: int
    estimated_gain_ms: float
    push: str
    dictionary: bool

    @property
    def applied(self) -> bool:
        return self.decision == "applied"

    def to_dict(self) -> dict[str, object]:
        """The form of the protocol."""
        return {name: getattr(self, name) for name in self.__slots__}


def choose_kind(kinds: Iterable[str], complete: bool) -> str | None:
    """`set` if all keys are there and sets are allowed, else `range`; None when neither can be used."""
    allowed = tuple(kinds)
    if complete and "set" in allowed:
        return "set"
    return "range" if "range" in allowed else None


def decide_filters(filters: Sequence[FilterFigures], settings: DecideSettings) -> tuple[FilterDecision, ...]:
    """One decision per filter of a scan, in their order.

    Each is judged by the packs that it rejects alone; the verdicts of the applied ones intersect.
    """
    return tuple(_decide(figures, settings) for figures in filters)


def _decide(figures: FilterFigures, settings: DecideSettings) -> FilterDecision:
    kind = choose_kind(figures.kinds, figures.complete)
    outcome = _judge(figures, kind, settings)
    push = _push_form(figures, kind)
    return FilterDecision(
        id=figures.id,
        kind=kind or "set",
        decision="applied" if outcome.reason == APPLIED else "skipped",
        reason=outcome.reason,
        detail=outcome.detail,
        keys=figures.keys,
        build_rows=figures.build_rows,
        packs_total=figures.packs_total,
        packs_kept=figures.packs_total - figures.packs_rejected,
        rows_total=figures.rows_total,
        rows_kept=figures.rows_total - figures.rows_rejected,
        estimated_gain_ms=estimated_gain_ms(figures.rows_rejected, settings.cores),
        push=push,
        dictionary=outcome.reason == APPLIED and worth_testing_dictionaries(figures),
    )


def _judge(figures: FilterFigures, kind: str | None, settings: DecideSettings) -> Refusal:
    if settings.cost == "never":
        return Refusal(COST_NEVER, "rtfilter.cost is never: no filter is applied.")
    if kind is None:
        return Refusal(TOO_MANY_KEYS, "There are more keys than rtfilter.set.maxKeys, and rtfilter.kinds has no range.")
    if figures.packs_total == 0 and figures.files_unknown > 0:
        return Refusal(FOOTERS_NOT_KNOWN, f"None of {figures.files_unknown} files has a footer that could be read in time.")
    if figures.packs_rejected == 0 and settings.cost != "always":
        why = "no pack has bounds for the column" if figures.value_span is None else "every pack may hold one of the keys"
        return Refusal(REJECTS_NO_PACK, f"It rejects none of {figures.packs_total} packs: {why}.")
    return Refusal(APPLIED, f"It rejects {figures.packs_rejected} of {figures.packs_total} packs.")


def _push_form(figures: FilterFigures, kind: str | None) -> str:
    """A set without gaps is the same as its range, which is cheaper to test."""
    if kind != "set":
        return "range"
    if figures.key_min is None or figures.key_max is None:
        return "set"
    return "range" if figures.key_max - figures.key_min + 1 == figures.keys else "set"


def worth_testing_dictionaries(figures: FilterFigures) -> bool:
    """Whether the Parquet reader should test the dictionaries of kept packs.

    Only with few keys, and where a kept pack probably holds none of them: with d the rows of a pack (an upper bound of its distinct
    values), D the span of the column's values and k keys, taken as independent and uniform,
    P(none) = (1 - d/D)^k, and the test is worth it above one half.
    """
    few = figures.complete and 0 < figures.keys <= MOST_KEYS_FOR_DICTIONARY
    if not few or not figures.value_span or figures.packs_total == 0:
        return False
    rows_per_pack = figures.rows_total / figures.packs_total
    held = min(rows_per_pack / figures.value_span, 1.0)
    return bool((1.0 - held) ** figures.keys > 0.5)
