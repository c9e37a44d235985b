"""What an RTFILTER hint says about a table: cost and kinds for the filters of its scan, in place of the session's."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from planner.inputs.settings import KINDS, PlanSettings
from planner.reasons import COST_NEVER, HINT_NEVER, Refusal

HINT = "RTFILTER"
COSTS = ("auto", "always", "never")
NEVER = "never"
_CALL = re.compile(r"kinds\((.*)\)", re.IGNORECASE)
_OF_STORED = re.compile(r"(use|skip)\((.*)\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TableHint:
    """A hint above a scan, as written: its words, the names that the table goes by below it, all names that the query has.

    Names are dotted, as `catalog.schema.table` or an alias.
    """

    words: tuple[str, ...]
    names: tuple[str, ...] = ()
    known: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As a user would type it."""
        return f"{HINT}({', '.join(self.words)})"


@dataclass(frozen=True, slots=True)
class Directive:
    """What the hints of one scan come to; None: what the session says."""

    cost: str | None = None
    kinds: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """Which indexes and star-trees of a table may be used: names in lower case. `use` is empty where none is asked for."""

    use: frozenset[str] = frozenset()
    skip: frozenset[str] = frozenset()
    skips_all: bool = False

    def skips(self, name: str) -> bool:
        """Whether a hint says not to use what has this name."""
        return self.skips_all or name.lower() in self.skip or bool(self.use and name.lower() not in self.use)


def stored_of(hints: Iterable[TableHint]) -> Stored:
    """What `use(NAME)` and `skip(NAME)` say; `skip()` means all."""
    use: set[str] = set()
    skip: set[str] = set()
    skips_all = False
    for hint in hints:
        for call in filter(None, (_OF_STORED.fullmatch(word.strip()) for word in hint.words)):
            names = {name for part in call.group(2).split(",") if (name := part.strip().lower())}
            if call.group(1).lower() == "use":
                use |= names
            else:
                skip |= names
                skips_all = skips_all or not names
    return Stored(frozenset(use), frozenset(skip), skips_all)


def stored_warnings(hints: Iterable[TableHint], table: str, names: Iterable[str], *, only_near: bool = False) -> tuple[str, ...]:
    """A sentence for every name in `use` or `skip` that is none of these: the star-trees and indexes of a table.

    A row index goes by `INDEX.COLUMNS`. `only_near`: names that resemble none may be those of another table.
    """
    known = {name.lower(): name for name in names}
    found: dict[str, None] = {}
    for hint in hints:
        stored = stored_of([hint])
        for name in sorted(stored.use | stored.skip):
            close = difflib.get_close_matches(name, known, n=1)
            if name in known or name.partition(".")[0] in known or (only_near and not close):
                continue
            nearest = f" Did you mean {known[close[0]]!r}?" if close else ""
            effect = "nothing else of it is used" if name in stored.use else "nothing changes for it"
            found[f"The hint {hint.text} names {name!r}, which is no star-tree and no index of {table}, so {effect}.{nearest}"] = (
                None
            )
    return tuple(found)


def directive_of(hints: Sequence[TableHint], table: str) -> Directive:
    """What hold for a scan of `table`. A hint that names the table counts more than one that names none, an inner one more than an
    outer one; of two costs in one hint the last counts.

    A word that is no cost and no kind is the name of a table: a hint with such words is for those tables alone, so that a misspelt
    name never spreads a hint over all of them.
    """
    found = Directive()
    for named in (False, True):
        for hint in reversed(hints):
            words = _words(hint)
            tables = [word for word in words if word not in COSTS and word not in KINDS]
            if bool(tables) != named or (named and not any(_is_name_of(word, (*hint.names, table)) for word in tables)):
                continue
            costs = [word for word in words if word in COSTS]
            kinds = tuple(kind for kind in KINDS if kind in words)
            found = Directive(costs[-1] if costs else found.cost, kinds or found.kinds)
    return found


def settings_for(settings: PlanSettings, hints: Sequence[TableHint], table: str) -> PlanSettings:
    """The session's settings, with what the hints of a scan say in their place."""
    if not hints:
        return settings
    directive = directive_of(hints, table)
    return replace(settings, cost=directive.cost or settings.cost, kinds=directive.kinds or settings.kinds)


def refuse_by_cost(settings: PlanSettings, hints: Sequence[TableHint], table: str) -> Refusal | None:
    """Why no filter is built for a scan at all, whatever it would save."""
    if settings_for(settings, hints, table).cost != NEVER:
        return None
    if directive_of(hints, table).cost is None:
        return Refusal(COST_NEVER, "rtfilter.cost is never: no filter is built.")
    return Refusal(HINT_NEVER, f"The hint {HINT}(never) is on {table}: no filter is built for its scan.")


def hint_warnings(hints: Iterable[TableHint], tables: Iterable[str]) -> tuple[str, ...]:
    """A sentence for every hint with a word that means nothing here; `tables` are the names that reports give to the scans."""
    names = tuple(tables)
    sentences = (_warning(hint, names) for hint in dict.fromkeys(replace(hint, names=()) for hint in hints))
    return tuple(dict.fromkeys(sentence for sentence in sentences if sentence))


def _warning(hint: TableHint, tables: tuple[str, ...]) -> str | None:
    words = _words(hint)
    if not words and any(_OF_STORED.fullmatch(word.strip()) for word in hint.words):
        return None
    if not words:
        return f"The hint {HINT} says nothing. It takes {_choices()}, and tables that it is for: {HINT}(never, some_table)."
    names = (*hint.known, *tables)
    unknown = [word for word in words if word not in COSTS and word not in KINDS and not _is_name_of(word, names)]
    if not unknown:
        return None
    close = difflib.get_close_matches(unknown[0], [*COSTS, *KINDS, *(_parts(name)[-1] for name in names)], n=1)
    nearest = f" Did you mean {close[0]!r}?" if close else ""
    return (
        f"The hint {hint.text} has the word {unknown[0]!r}, which is neither {_choices()} nor a table of the query, "
        f"so nothing changes for it.{nearest}"
    )


def _choices() -> str:
    return ", ".join((*COSTS, *KINDS))


def _words(hint: TableHint) -> tuple[str, ...]:
    """Its words in lower case, `kinds(range, set)` taken apart; what is said of indexes and star-trees is not among them."""
    parts: list[str] = []
    for word in hint.words:
        if _OF_STORED.fullmatch(word.strip()):
            continue
        call = _CALL.fullmatch(word.strip())
        parts += (call.group(1) if call else word).split(",")
    return tuple(word for part in parts if (word := part.strip().lower()))


def _is_name_of(word: str, names: Iterable[str]) -> bool:
    """Whether a word is one of the names or the last parts of one, as in Spark's own hints."""
    wanted = _parts(word)
    return any(_parts(name)[-len(wanted) :] == wanted for name in names)


def _parts(name: str) -> list[str]:
    return name.replace("`", "").lower().split(".")
