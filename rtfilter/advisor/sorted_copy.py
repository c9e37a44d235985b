"""Writes a copy of a table in another order, for advice of kind `cluster_by`. The table itself stays as it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from rtfilter.errors import AdviceError, RtFilterError, first_line
from rtfilter.store.parquet.paths import is_remote, local_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rtfilter.store.index_actions.listing import ListedTable


def require_empty(spark: SparkSession | None, to: str) -> None:
    """Raises AdviceError unless nothing is at `to` yet, or an empty folder."""
    if is_remote(to):
        from rtfilter.index.index_places import file_access

        (found,) = file_access(spark, to).steps([{"op": "status", "path": to}])
        if not found.get("missing"):
            raise AdviceError(f"{to} is there already: name a path for the sorted copy where nothing is.")
        return
    local = local_path(to) or to
    if os.path.lexists(local) and not (os.path.isdir(local) and not os.listdir(local)):
        raise AdviceError(f"{to} is not empty: name a path for the sorted copy where nothing is.")


def write_sorted_copy(spark: SparkSession | None, table: str, columns: Sequence[str], to: str) -> None:
    """Writes the table's rows sorted by the columns, with its partition columns, compression and about its size of row groups.

    `table`: a path, or a name of the session's catalog.

    Raises:
        AdviceError: there is no session, or Spark could not write; then nothing is left at `to`.
    """
    if spark is None:
        raise AdviceError("a sorted copy is written by Spark: give advise a session.")
    from pyspark.sql.functions import col

    from rtfilter.index.tables import is_path, listed_table, partition_columns

    listed = listed_table(spark, table)
    partitions = sorted(partition_columns(listed))
    frame = spark.read.parquet(table) if is_path(table) else spark.table(table)
    partitions = [name for name in frame.columns if name in partitions]
    try:
        ordered = frame.sort(*(col("`" + name.replace("`", "``") + "`") for name in [*partitions, *columns]))
        writer = ordered.write.mode("append").options(**_as_written(listed))
        (writer.partitionBy(*partitions) if partitions else writer).parquet(to)
    except Exception as error:  # a filesystem's own refusal comes as it is, as no class of pyspark
        raise AdviceError(f"the sorted copy of {table} could not be written to {to}: {first_line(error)}") from error


def _as_written(table: ListedTable) -> dict[str, str]:
    """The compression of the table's first file, and the mean bytes of its row groups, as options of Spark's writer."""
    try:
        footer = pq.read_metadata(table.files[0].local)
        if not footer.num_row_groups:
            return {}
        groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
        size = sum(group.total_byte_size for group in groups) // len(groups)
        codec = groups[0].column(0).compression.lower()
    except (OSError, ValueError, RtFilterError, IndexError):
        return {}
    return {"parquet.block.size": str(max(size, 1)), "compression": "none" if codec == "uncompressed" else codec}
