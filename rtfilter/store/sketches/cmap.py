"""Character maps: which byte stands at which place in the strings of a pack, behind the prefix that all of them share.

After the character maps of knowledge-grid column stores (Infobright, StoneDB).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rtfilter.store.sketches.arrays import Bools, Bytes, ByteStrings, Int64s
from rtfilter.store.sketches.column_tests import ByteKeys, BytePart, BytePrefix, ByteSuffix, KeyCMap, Values
from rtfilter.store.sketches.columns import int64_column, string_column
from rtfilter.store.sketches.domain import BYTES, LONG, PackValues

PLACES = 64
ROW_BYTES = 256 // 8
MAP_BYTES = PLACES * ROW_BYTES
# Bit 63 of the lengths stands for this length and every longer one.
LONGEST = 63
LARGEST_PREFIX = 256
# So many keys are held against a pack before the next ones are: mostly one of the first fits.
_KEYS_AT_ONCE = 4096

FIELDS = {LONG: [], BYTES: [("prefix", pa.binary()), ("lengths", pa.int64()), ("seen", pa.binary(MAP_BYTES))]}


def build(values: PackValues) -> dict[str, Any]:
    """The row of one pack; without a value all are null."""
    assert values.strings is not None
    if not len(values.strings):
        return {"prefix": None, "lengths": None, "seen": None}
    found = key_cmap(values.strings)
    return {"prefix": found.prefix, "lengths": _signed(found.lengths), "seen": found.seen.tobytes()}


def key_cmap(strings: ByteStrings) -> KeyCMap:
    """The character map of one string or more."""
    prefix = _common_prefix(strings)
    lengths = strings.lengths - len(prefix)
    starts = strings.offsets[:-1] + len(prefix)
    seen = np.zeros((PLACES, 256), dtype=np.uint8)
    for place in range(min(PLACES, int(lengths.max()))):
        at = starts[lengths > place] + place
        seen[place][strings.blob[at]] = 1
    bits = sum(1 << length for length in np.unique(np.minimum(lengths, LONGEST)).tolist())
    return KeyCMap(prefix, bits, np.packbits(seen, axis=1, bitorder="little"))


def _common_prefix(strings: ByteStrings) -> bytes:
    first = strings[0]
    length = min(len(first), int(strings.lengths.min()), LARGEST_PREFIX)
    for place in range(length):
        if bool((strings.blob[strings.offsets[:-1] + place] != first[place]).any()):
            return first[:place]
    return first[:length]


def _signed(bits: int) -> int:
    return bits - 2**64 if bits >= 2**63 else bits


@dataclass(frozen=True, slots=True)
class CMaps:
    """One map per pack; `seen` has a row of 2,048 bytes each: 32 bytes (least significant bit first) for each of 64 places."""

    prefixes: ByteStrings
    lengths: Int64s
    seen: Bytes
    valid: Bools

    def might_hold(self, values: Values, at: Int64s) -> Bools:
        if isinstance(values, ByteKeys):
            hits = (self._holds_one_of(pack, values.keys) for pack in at.tolist())
        elif isinstance(values, BytePrefix):
            hits = (self._holds_beginning(pack, values.prefix) for pack in at.tolist())
        elif isinstance(values, ByteSuffix):
            hits = (_may_end_with(self._map(pack), values.suffix) for pack in at.tolist())
        elif isinstance(values, BytePart):
            hits = (_may_hold_part(self._map(pack), values.part) for pack in at.tolist())
        elif isinstance(values, KeyCMap):
            hits = (may_meet(self._map(pack), values) for pack in at.tolist())
        else:
            return np.ones(len(at), dtype=np.bool_)
        return np.fromiter(hits, dtype=np.bool_, count=len(at))

    def holds_only(self, values: Values, at: Int64s) -> Bools:
        """A map knows no whole string; what all of them begin with it knows for sure."""
        if not isinstance(values, BytePrefix):
            return np.zeros(len(at), dtype=np.bool_)
        begins = (self.prefixes[pack].startswith(values.prefix) for pack in at.tolist())
        return np.fromiter(begins, dtype=np.bool_, count=len(at))

    def _map(self, pack: int) -> KeyCMap:
        seen = self.seen[pack].reshape(PLACES, ROW_BYTES)
        return KeyCMap(self.prefixes[pack], int(self.lengths[pack]) & (2**64 - 1), seen)

    def _holds_one_of(self, pack: int, keys: ByteStrings) -> bool:
        map_ = self._map(pack)
        begin = bisect_left(keys, map_.prefix)
        end = len(keys) if not map_.prefix.strip(b"\xff") else bisect_left(keys, _next_prefix(map_.prefix))
        parts = ((first, min(first + _KEYS_AT_ONCE, end)) for first in range(begin, end, _KEYS_AT_ONCE))
        return any(_holds_one_between(map_, keys, first, last) for first, last in parts)

    def _holds_beginning(self, pack: int, beginning: bytes) -> bool:
        map_ = self._map(pack)
        shared = min(len(beginning), len(map_.prefix))
        if beginning[:shared] != map_.prefix[:shared]:
            return False
        rest = beginning[shared:]
        if map_.lengths >> min(len(rest), LONGEST) == 0:
            return False
        return all(map_.seen[place][byte >> 3] >> (byte & 7) & 1 for place, byte in enumerate(rest[:PLACES]))


def _holds_one_between(map_: KeyCMap, strings: ByteStrings, begin: int, end: int) -> bool:
    """Whether one of these strings, which all begin with the map's prefix, may be one of its."""
    starts = strings.offsets[begin:end] + len(map_.prefix)
    lengths = np.diff(strings.offsets[begin : end + 1]) - len(map_.prefix)
    known = np.unpackbits(np.frombuffer(map_.lengths.to_bytes(8, "little"), dtype=np.uint8), bitorder="little")
    open_keys = np.flatnonzero(known[np.minimum(lengths, LONGEST)])
    for place in range(PLACES):
        here = lengths[open_keys] > place
        if not here.any():
            break
        bytes_here = strings.blob[starts[open_keys[here]] + place]
        set_there = (map_.seen[place][bytes_here >> 3] >> (bytes_here & 7)) & 1
        stays = ~here
        stays[here] = set_there != 0
        open_keys = open_keys[stays]
    return bool(len(open_keys))


def _may_end_with(map_: KeyCMap, suffix: bytes) -> bool:
    """Whether some known length leaves a place for the suffix at the end of a string."""
    ends = (len(map_.prefix) + length for length in _lengths(map_))
    return bool(map_.lengths >> LONGEST & 1) or any(_may_stand_at(map_, suffix, end - len(suffix)) for end in ends)


def _may_hold_part(map_: KeyCMap, part: bytes) -> bool:
    """Whether the part could stand somewhere; of strings that go on past the map's end nothing is known."""
    if map_.lengths >> LONGEST & 1:
        return True
    longest = len(map_.prefix) + max(_lengths(map_), default=0)
    return any(_may_stand_at(map_, part, start) for start in range(longest - len(part) + 1))


def _may_stand_at(map_: KeyCMap, part: bytes, start: int) -> bool:
    """Whether each byte of the part was seen at its place, the first one at byte `start` of a string."""
    if start < 0:
        return False
    shared = len(map_.prefix)
    for place, byte in enumerate(part, start=start - shared):
        if place < 0:
            if map_.prefix[place + shared] != byte:
                return False
        elif place < PLACES and not map_.seen[place][byte >> 3] >> (byte & 7) & 1:
            return False
    return True


def _next_prefix(prefix: bytes) -> bytes:
    """The lowest byte string above all that begin with `prefix`, which has a byte below 255."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1])


def may_meet(one: KeyCMap, other: KeyCMap) -> bool:
    """Whether two sets of strings, known by their maps, may have one in common.

    A string of both goes on past a place only if a byte was seen there in both: up to the first place without one, some length
    must be known to both.
    """
    if len(one.prefix) > len(other.prefix):
        one, other = other, one
    if not other.prefix.startswith(one.prefix):
        return False
    shift = len(other.prefix) - len(one.prefix)
    if not all(one.seen[place][byte >> 3] >> (byte & 7) & 1 for place, byte in enumerate(other.prefix[len(one.prefix) :][:PLACES])):
        return False
    overlap = max(0, PLACES - shift)
    both = (one.seen[shift:PLACES] & other.seen[:overlap]).any(axis=1)
    blocked = np.flatnonzero(~both)
    # Lengths behind the longer prefix; past the maps' end nothing is known, and nothing blocks.
    longest = int(blocked[0]) if len(blocked) else None
    return any(_knows_length(one, length + shift) for length in _lengths(other) if longest is None or length <= longest)


def _lengths(map_: KeyCMap) -> list[int]:
    return [length for length in range(LONGEST + 1) if map_.lengths >> length & 1]


def _knows_length(map_: KeyCMap, length: int) -> bool:
    return bool(map_.lengths >> min(length, LONGEST) & 1)


def load(batches: Sequence[Any], domain: str) -> CMaps:
    """Maps out of record batches of a sketch file."""
    if domain != BYTES:
        raise ValueError("a character map of numbers")
    table = pa.Table.from_batches(batches)
    prefixes, has_prefix = string_column(table["prefix"])
    lengths, has_lengths = int64_column(table["lengths"])
    if table.schema.field("seen").type != pa.binary(MAP_BYTES):
        raise ValueError(f"character maps of type {table.schema.field('seen').type}")
    empty = b"\0" * MAP_BYTES
    rows = table["seen"].to_pylist()
    seen = np.frombuffer(b"".join(empty if row is None else row for row in rows), dtype=np.uint8).reshape(-1, MAP_BYTES)
    has_map = np.array([row is not None for row in rows], dtype=np.bool_)
    return CMaps(prefixes, lengths, seen, has_prefix & has_lengths & has_map)
