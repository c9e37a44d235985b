"""What is known of a table's indexes while a query is planned: which there are and what they could judge."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rtfilter.store.index_use import unusable_sentence
from rtfilter.store.packindex.reader import STORE_FOLDER
from rtfilter.store.packindex.shelf import IndexShelf, ShelvedIndex, store_places
from rtfilter.store.packindex.snapshot import Drift
from rtfilter.store.paths import absolute


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """An index of a table before anything is asked of it. `reason` (a code of index_use.py) and `detail`: why it can't be used.

    `covers`: which of the columns asked about it can judge. `remark`: what there is to say of one that is used all the same.
    """

    name: str
    covers: frozenset[str]
    reason: str = ""
    detail: str = ""
    remark: str = ""


def facts_of_indexes(
    shelf: IndexShelf, roots: Sequence[str], leaves: Iterable[tuple[str, str]], case_sensitive: bool = False, location: str = ""
) -> tuple[IndexFacts, ...]:
    """The indexes of a table with these roots (Hadoop's texts), and which of these columns (name, type) each can judge.

    `location` is `rtfilter.store.location`. It may hold indexes of many tables; of one that can't be read nobody knows which.
    """
    own = [absolute(root) for root in roots]
    wanted = tuple(leaves)
    found = shelf.shelved(store_places((), location) if location else [os.path.join(root, STORE_FOLDER) for root in own])
    usable = [_facts(each, wanted, case_sensitive) for each in found if each.index is not None and each.index.root in own]
    unusable = [_facts(each, wanted, case_sensitive) for each in found if each.index is None and not location]
    return (*usable, *unusable)


def _facts(shelved: ShelvedIndex, wanted: Sequence[tuple[str, str]], case_sensitive: bool) -> IndexFacts:
    index = shelved.index
    if index is None:
        return IndexFacts(
            shelved.name, frozenset(), shelved.reason, unusable_sentence(shelved.name, shelved.reason, shelved.problem)
        )
    covers = frozenset(name for name, type_ in wanted if index.column(name, type_, case_sensitive) is not None)
    return IndexFacts(shelved.name, covers, remark=_drift_sentence(shelved.name, index.snapshot.drift))


def _drift_sentence(name: str, drift: Drift) -> str:
    """What the last quick refresh has found."""
    if not drift.appended and not drift.changed:
        return ""
    return f"Index {name} lacked {drift.appended} new and {drift.changed} changed files when it was last looked at; refresh it."
