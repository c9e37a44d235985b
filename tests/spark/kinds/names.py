"""What columns are called: plainly, with dots and cases that others have too, with blanks and signs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

# Letters of columns that may be called otherwise.
RENAMED = ("k", "k", "s", "r", "m", "dt")
ODD = ("key col", "k`ey", "ключ", "k'ey", "k-y", "select", "ä.ö", 'k"y', "k%20y")


@dataclass(frozen=True)
class Decoy:
    """A column that a careless reader takes for another one: `name`, and the path of struct fields below it."""

    name: str
    path: tuple[str, ...]
    first: bool
    constant: bool


@dataclass(frozen=True)
class Naming:
    """Real names by letter; letters that are not there are called by their letter. `fields`: letters that are a struct's field."""

    style: str = "plain"
    names: Mapping[str, str] = field(default_factory=dict)
    decoys: Mapping[str, Decoy] = field(default_factory=dict)
    fields: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    case_sensitive: bool = False

    def real(self, letter: str) -> str:
        return self.names.get(letter, letter)

    def is_field(self, letter: str) -> bool:
        return letter in self.fields

    def sql(self, letter: str) -> str:
        if letter in self.fields:
            return ".".join(map(quoted, self.fields[letter]))
        return quoted(self.real(letter)) if letter in self.names else letter


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def draw_naming(rng: Random) -> Naming:
    """Most worlds have plain names."""
    style = rng.choices(["plain", "dotted", "deep", "field", "cased", "odd"], [50, 14, 6, 6, 10, 14])[0]
    letter, first, constant = rng.choice(RENAMED), rng.random() < 0.5, rng.random() < 0.7
    if style == "dotted":
        return Naming(style, {letter: "a.b"}, {letter: Decoy("a", ("b",), first, constant)})
    if style == "deep":
        name, path = rng.choice([("a.b.c", ("b", "c")), ("a.b.c", ("b.c",)), ("a", ("b",))])
        decoy = Decoy("a" if name != "a" else "a.b", path if name != "a" else (), first, constant)
        return Naming(style, {letter: name}, {letter: decoy})
    if style == "field":
        return Naming(style, {}, {letter: Decoy("a.b", (), first, constant)}, {letter: ("a", "b")})
    if style == "cased":
        return Naming(style, {letter: "key"}, {letter: Decoy("KEY", (), first, constant)}, case_sensitive=True)
    return Naming(style, {letter: rng.choice(ODD)}) if style == "odd" else Naming()
