"""Merges segments: the rows of files that are still there, end to end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.index_files.catalog import Catalog, IndexedFile
from rtfilter.store.index_files.data_files import OpenedFile, open_data_file
from rtfilter.store.index_files.segments import FILES_SCHEMA, PACKS_SCHEMA, SegmentWriter
from rtfilter.store.index_files.snapshot import Segment, Snapshot, domain_of_column
from rtfilter.store.index_files.storage import IndexStorage
from rtfilter.store.sketches.arrays import Bools
from rtfilter.store.sketches.rows import sketch_schema


def merge_segments(
    storage: IndexStorage, snapshot: Snapshot, chosen: Sequence[Segment], catalog: Catalog, files: Sequence[FileIdentity]
) -> Segment | None:
    """One segment with what the chosen ones know of these files; None when that is nothing.

    Raises:
        IndexStorageError: a file of the index can't be read or written.
    """
    # A file without packs has nothing to merge, and shares its first pack's number with the next one.
    live = {found.first_pack: found for file in files if (found := catalog.find(file)) is not None and found.packs}
    with SegmentWriter(storage, snapshot.definition) as writer:
        first = 0
        for segment in snapshot.segments:
            if segment in chosen:
                here = [live[at] for at in sorted(live) if first <= at < first + segment.packs.rows]
                _add_segment(storage, snapshot, segment, first, here, writer)
            first += segment.packs.rows
        if writer.packs:
            return writer.finish()
        writer.discard()
        return None


def _add_segment(
    storage: IndexStorage, snapshot: Snapshot, segment: Segment, first: int, files: Sequence[IndexedFile], writer: SegmentWriter
) -> None:
    keep = np.zeros(segment.packs.rows, dtype=np.bool_)
    rows, packs = [], writer.packs
    for file in files:
        keep[file.first_pack - first : file.first_pack - first + file.packs] = True
        values = (file.path, file.size_bytes, file.mtime_ms, file.digest, packs, file.packs)
        rows.append(dict(zip(FILES_SCHEMA.names, values, strict=True)))
        packs += file.packs
    pack_file = open_data_file(storage, segment.packs, PACKS_SCHEMA)
    sketches = []
    for sketch, file_ in zip(snapshot.definition.sketches, segment.sketches, strict=True):
        schema = sketch_schema(sketch, domain_of_column(snapshot.definition, sketch.column))
        sketches.append(_kept(open_data_file(storage, file_, schema), keep, schema))
    packs_kept = pa.Table.from_batches(_kept(pack_file, keep, PACKS_SCHEMA), PACKS_SCHEMA).combine_chunks().to_batches()
    batch = packs_kept[0] if packs_kept else pa.RecordBatch.from_pylist([], PACKS_SCHEMA)
    writer.add_batches(pa.RecordBatch.from_pylist(rows, FILES_SCHEMA), batch, sketches)


def _kept(file: OpenedFile, keep: Bools, schema: Any) -> Iterator[Any]:
    """The kept rows, a row group at a time."""
    begin = 0
    for group, end in enumerate(file.ends.tolist()):
        mask = pa.array(keep[begin:end])
        for batch in file.read(group).combine_chunks().to_batches():
            yield pa.RecordBatch.from_arrays(
                [column.cast(field.type) for column, field in zip(batch.filter(mask).columns, schema, strict=True)], schema=schema
            )
        begin = end
