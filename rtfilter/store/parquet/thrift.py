"""Thrift's compact protocol, in which Parquet footers are written.

A struct is, per field, a byte with the distance to the last field's number and the kind, then the value; numbers are varints,
strings have a length ahead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

STOP, TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12


class Reader:
    """A place in a text of the compact protocol, which goes on with what is read or skipped."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def fields(self) -> Iterator[tuple[int, int]]:
        """Number and kind of each field of a struct; the caller reads or skips its value before it goes on."""
        number = 0
        while (head := self.byte()) != STOP:
            delta = head >> 4
            if delta:
                number += delta
            else:
                raw = self.varint()
                number = raw >> 1 ^ -(raw & 1)
            yield number, head & 0x0F

    def elements(self) -> Iterator[int]:
        """The kind of each element of a list; the caller reads or skips it before it goes on."""
        head = self.byte()
        count = self.varint() if head >> 4 == 15 else head >> 4
        for _ in range(count):
            yield head & 0x0F

    def skip(self, kind: int) -> None:
        if kind in (TRUE, FALSE):
            return
        if kind == BYTE:
            self.at += 1
        elif kind < DOUBLE:
            self.varint()
        elif kind == DOUBLE:
            self.at += 8
        elif kind == BINARY:
            length = self.varint()
            self.at += length
        elif kind in (LIST, SET):
            for element in self.elements():
                # A truth value alone in a list takes a byte.
                self.skip(BYTE if element in (TRUE, FALSE) else element)
        elif kind == STRUCT:
            for _, field in self.fields():
                self.skip(field)
        else:
            raise ValueError(f"a footer has no values of kind {kind}")
        if self.at > len(self.data):
            raise IndexError("the footer ends within a value")


def struct(fields: Iterable[tuple[int, int, bytes]]) -> bytes:
    """A struct of fields, each as number, kind and the bytes of its value, in rising numbers."""
    written, last = b"", 0
    for number, kind, value in fields:
        written += bytes([number - last << 4 | kind]) + value
        last = number
    return written + bytes([STOP])
