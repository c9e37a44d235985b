"""Index folders that are damaged, or made by somebody who means harm: each kind changes the folder of a good index.

Nothing here does harm: what lies outside of the folder and is pointed at is only a file that must stay as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, MinMax, ValueSet
from tests.index.tables import create_index, write_spread

SKETCHES = (MinMax("a"), Bloom("a"), ValueSet("a", 64), Histogram("a"), MinMax("s"), CMap("s"))
PACKS = 10
LATEST = 2
# Beside the table: what a folder may point at.
OUTSIDE = "outside"

Snapshot = dict[str, Any]
Damage = Callable[["IndexFolder"], object]


@dataclass(frozen=True)
class IndexFolder:
    """The folder of an index, and what one does to it."""

    path: Path

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def outside(self) -> Path:
        return self.path.parents[2] / OUTSIDE

    def entry(self, number: int = LATEST) -> Path:
        return self.log / f"{number:020d}.json"

    def change_entry(self, change: Callable[[dict[str, Any]], object]) -> None:
        entry = json.loads(self.entry().read_text())
        change(entry)
        self.entry().write_text(json.dumps(entry))

    def change(self, change: Callable[[Snapshot], object]) -> None:
        self.change_entry(lambda entry: change(entry["snapshot"]))

    def segment(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.entry().read_text())["snapshot"]["segments"][0]
        return found

    def file(self, role: str | int) -> Path:
        """`files`, `packs`, or a sketch by its number."""
        segment = self.segment()
        return self.path / str((segment[role] if isinstance(role, str) else segment["sketches"][role])["name"])

    def replace(self, role: str | int, table: Any, **options: Any) -> None:
        """Another Parquet file in the place of one, with a log entry that fits it."""
        path = self.file(role)
        pq.write_table(table, path, **{"use_dictionary": False, "compression": "zstd", **options})
        self.fit(role, path)

    def fit(self, role: str | int, path: Path, rows: int | None = None) -> None:
        def fit(snapshot: Snapshot) -> None:
            segment = snapshot["segments"][0]
            file = segment[role] if isinstance(role, str) else segment["sketches"][role]
            file["bytes"] = path.stat().st_size
            if rows is not None:
                file["rows"] = rows

        self.change(fit)


def make_table(folder: Path) -> IndexFolder:
    """A table of two files whose packs only an index tells apart, with a good index: pack n alone has the keys 1000 n + 1 to 8."""
    folder.mkdir(parents=True)
    write_spread(folder / "t", "p0.parquet", 0)
    # Of another highest value, so that footers differ.
    write_spread(folder / "t", "p1.parquet", 5, highest=10**6 + 1)
    create_index(folder / "t", sketches=SKETCHES)
    (folder / OUTSIDE).mkdir()
    (folder / OUTSIDE / "marker").write_text("as it was")
    return IndexFolder(folder / "t" / "_rtfilter" / "i")


KINDS: dict[str, Damage] = {}


def kind(damage: Damage) -> Damage:
    KINDS[damage.__name__] = damage
    return damage


def kinds(name: str, damages: Mapping[str, Damage]) -> None:
    KINDS.update({f"{name}_{each}": damage for each, damage in damages.items()})


def segments_with(change: Callable[[list[dict[str, Any]]], object]) -> Damage:
    return lambda index: index.change(lambda snapshot: change(snapshot["segments"]))


def first_segment_with(change: Callable[[dict[str, Any]], object]) -> Damage:
    return segments_with(lambda segments: change(segments[0]))


def all_rows(rows: Any) -> Damage:
    return first_segment_with(lambda segment: [each.update(rows=rows) for each in (segment["packs"], *segment["sketches"])])


def column(table: Any, name: str, values: Iterable[Any], type_: Any = None) -> Any:
    at = table.schema.get_field_index(name)
    return table.set_column(at, name, pa.array(values, type_ or table.schema.field(name).type))
