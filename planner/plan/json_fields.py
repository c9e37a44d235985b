"""Reads fields of the JSON objects of a snapshot, and says in words what is wrong with one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.plan.errors import SnapshotError

Raw = Mapping[str, Any]


def read_field(raw: object, name: str, wanted: type, where: str) -> Any:
    """A field that must be there and be exactly of a type; `where` starts the text of the error."""
    value = raw.get(name) if isinstance(raw, dict) else None
    # The exact type: a bool is an int to isinstance.
    if type(value) is not wanted:
        raise SnapshotError(f"{where} has {name} = {value!r:.80}, it must be of type {wanted.__name__}")
    return value


def read_list(raw: Raw, name: str, where: str) -> list[Any]:
    """A field that must be a list."""
    value = raw.get(name)
    if not isinstance(value, list):
        raise SnapshotError(f"{where} has {name} = {value!r:.80}, it must be a list")
    return value


def read_ids(raw: Raw, name: str, where: str) -> tuple[int, ...]:
    """A field that must be a list of whole numbers."""
    values = read_list(raw, name, where)
    for value in values:
        if type(value) is not int:
            raise SnapshotError(f"{where} has {value!r:.80} among its {name}, ids must be whole numbers")
    return tuple(values)


def read_words(raw: Raw, name: str, where: str) -> tuple[str, ...]:
    """A list of words, empty where the field is absent."""
    values = read_list(raw, name, where) if name in raw else []
    for value in values:
        if type(value) is not str:
            raise SnapshotError(f"{where} has {value!r:.80} among its {name}, they must be texts")
    return tuple(values)


def read_count(raw: Raw, name: str, where: str) -> int | None:
    """A whole number or None; an absent field is None."""
    value = raw.get(name)
    if value is None:
        return None
    if type(value) is not int:
        raise SnapshotError(f"{where} has {name} = {value!r:.80}, it must be a whole number or null")
    return value


def check_present(raw: Raw, name: str, where: str) -> None:
    """A field whose null means something must not be left out by mistake."""
    if name not in raw:
        raise SnapshotError(f"{where} has no {name}; null must be written out")
