"""The footer of a table's file as pyarrow reads it, where need be without what of it pyarrow can't decode.

pyarrow makes an Arrow schema of all columns, and fails at the first that it has no type for, or that contradicts what the writer
stored for Arrow under `ARROW:schema`. Spark knows nothing of that entry, and reads columns one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from rtfilter.store.parquet.footer_digest import END_BYTES, SignedFooterError, parsed_footer
from rtfilter.store.parquet.thrift import Reader, struct

# Arrow's own errors; of some of them pyarrow makes OSErrors.
_FAILURES = (pa.ArrowException, OSError)
# A key and the beginning of its value, as thrift writes them in the list at the end of a footer.
_ARROW_SCHEMA = b"\x18\x0cARROW:schema\x18"
_SET_ASIDE = b"ARROW-schema"
# Field numbers of parquet.thrift: FileMetaData, SchemaElement.
_SCHEMA = 2
_NAME, _CHILDREN = 4, 5
# Converted type, scale, precision and logical type: without them a column is what is stored, and always has an Arrow type.
_ANNOTATIONS = frozenset({6, 7, 8, 10})


@dataclass(frozen=True, slots=True)
class TableFooter:
    """`metadata`: pyarrow's. `lost`: the asked columns, as the file names them, that it says nothing true of, and why.

    Where pyarrow could not decode the whole footer, columns that were not asked for have lost their types.
    """

    metadata: Any
    lost: Mapping[str, str] = field(default_factory=dict)


def table_footer(tail: bytes, columns: Iterable[str] | None) -> TableFooter:
    """The footer of a table's file for these top-level columns, in whatever case; None: all. `tail`: footer, 4-byte length, magic.

    Raises:
        SignedFooterError: its columns may be encrypted.
        pa.ArrowException: it can't be understood.
        OSError: the same; pyarrow raises this too.
    """
    try:
        return TableFooter(parsed_footer(tail))
    except _FAILURES:
        footer, wanted = tail[:-END_BYTES], None if columns is None else {name.lower() for name in columns}
        for each in dict.fromkeys((_without_arrow_schema(footer), footer)):
            try:
                found = _decoded(each, wanted)
            except SignedFooterError:
                raise
            except (IndexError, ValueError, OSError):
                continue
            # Else what was set aside is not the entry, but a bound of text that looks like it.
            if each == footer or _SET_ASIDE in (found.metadata.metadata or {}):
                return found
        raise


def undecodable(error: Exception) -> str:
    """Why nothing is known of a column that pyarrow failed at."""
    return f"pyarrow {pa.__version__} can't decode it: {error}"


def _without_arrow_schema(footer: bytes) -> bytes:
    at = footer.rfind(_ARROW_SCHEMA)
    return footer if at < 0 else footer[: at + 2] + _SET_ASIDE + footer[at + 2 + len(_SET_ASIDE) :]


def _decoded(footer: bytes, wanted: Collection[str] | None) -> TableFooter:
    try:
        return TableFooter(_parsed(footer))
    except _FAILURES:
        schema = _Schema.of(footer)
    asked = sorted(name for name in schema.names if wanted is None or name.lower() in wanted)
    lost = {}
    for name in asked:
        try:
            _parsed(schema.footer_for({name}))
        except _FAILURES as error:
            lost[name] = undecodable(error)
    return TableFooter(_parsed(schema.footer_for(set(asked) - lost.keys())), lost)


def _parsed(footer: bytes) -> Any:
    return parsed_footer(footer + len(footer).to_bytes(4, "little") + b"PAR1")


@dataclass(frozen=True, slots=True)
class _Element:
    """One node of a schema: its fields by number, kind and bytes."""

    fields: tuple[tuple[int, int, bytes], ...]

    def _of(self, wanted: int) -> bytes | None:
        return next((value for number, _, value in self.fields if number == wanted), None)

    @property
    def name(self) -> str:
        reader = Reader(self._of(_NAME) or b"\0")
        length = reader.varint()
        return reader.data[reader.at : reader.at + length].decode()

    @property
    def children(self) -> int:
        stored = self._of(_CHILDREN)
        return 0 if stored is None else Reader(stored).varint() >> 1

    @property
    def plain(self) -> _Element:
        return _Element(tuple(each for each in self.fields if each[0] not in _ANNOTATIONS))


@dataclass(frozen=True, slots=True)
class _Schema:
    """The schema of a footer, cut out of it: what is before its elements, these, and what follows. `owners`: for each element but
    the root the name of the top-level column that it belongs to."""

    before: bytes
    elements: Sequence[_Element]
    after: bytes
    owners: Sequence[str]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.owners)

    @classmethod
    def of(cls, footer: bytes) -> _Schema:
        reader = Reader(footer)
        for number, kind in reader.fields():
            if number == _SCHEMA:
                begin = reader.at
                elements: list[_Element] = []
                for _ in reader.elements():
                    begin = begin if elements else reader.at
                    elements.append(_Element(tuple(_fields(reader))))
                return cls(footer[:begin], elements, footer[reader.at :], tuple(_owners(elements)))
            reader.skip(kind)
        raise ValueError("a footer without a schema")

    def footer_for(self, columns: Collection[str]) -> bytes:
        """The footer in which only these top-level columns say more of their values than how they are stored."""
        root, *others = self.elements
        kept = [each if owner in columns else each.plain for each, owner in zip(others, self.owners, strict=True)]
        return self.before + b"".join(struct(each.fields) for each in (root, *kept)) + self.after


def _fields(reader: Reader) -> Iterator[tuple[int, int, bytes]]:
    for number, kind in reader.fields():
        begin = reader.at
        reader.skip(kind)
        yield number, kind, reader.data[begin : reader.at]


def _owners(elements: Sequence[_Element]) -> Iterator[str]:
    """Elements stand in the order of the tree, parents first."""
    owner, pending = "", 0
    for each in elements[1:]:
        if pending == 0:
            owner, pending = each.name, 1
        pending += each.children - 1
        yield owner
