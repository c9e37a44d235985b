package org.apache.spark.sql.execution.rtfilter

import java.util.{Arrays, PrimitiveIterator}
import org.apache.parquet.VersionParser.ParsedVersion
import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.column.page.PageReadStore
import org.apache.spark.sql.execution.datasources.parquet.VectorizedColumnReader
import org.apache.spark.sql.execution.vectorized.{OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types.{DataType, IntegerType}

/**
 * The rows of a row group whose key passes, found in the key's own column chunk by Spark's column reader.
 *
 * Checked on 4.3: `VectorizedColumnReader.readBatch` is visible in its own package only, and a jar of `spark.jars` has another loader: hence the reflection. Where a
 * chunk has a dictionary, the vector holds numbers of its entries; each entry is tested once.
 */
final class KeyColumn(val descriptor: ColumnDescriptor, kind: DataType, test: ColumnTest, version: ParsedVersion) {
  private val nullable = descriptor.getMaxDefinitionLevel > 0

  def matching(pages: PageReadStore): RowSpans = {
    val reader = new VectorizedColumnReader(descriptor, !nullable, pages, null, "CORRECTED", "UTC", "CORRECTED", "UTC", version)
    val (values, levels) = (new OnHeapColumnVector(KeyColumn.Batch, kind), new OnHeapColumnVector(KeyColumn.Batch, IntegerType))
    try {
      val found = new RowSpans
      val numbers: Option[PrimitiveIterator.OfLong] = if (pages.getRowIndexes.isPresent) Some(pages.getRowIndexes.get) else None
      val entries = new EntryTests
      var (at, left) = (0L, pages.getRowCount)
      while (left > 0) {
        val count = math.min(left, KeyColumn.Batch).toInt
        values.reset()
        levels.reset()
        KeyColumn.readBatch.invoke(reader, Int.box(count), values, null, levels)
        val passes: Int => Boolean = if (values.hasDictionary) entries.passes(values, _) else row => test.first(values, row, row + 1) == row
        numbers match {
          case None =>
            var row = 0
            if (values.hasDictionary) while (row < count) { if (passes(row)) found.add(at + row); row += 1 }
            else while (row < count) { row = test.first(values, row, count); if (row < count) found.add(at + row); row += 1 }
          case Some(rows) =>
            var row = 0
            while (row < count) { val number = rows.nextLong(); if (passes(row)) found.add(number); row += 1 }
        }
        at += count
        left -= count
      }
      found
    } finally { values.close(); levels.close() }
  }

  /** By the number of a dictionary's entry whether it passes: 0 is not known yet. */
  private final class EntryTests {
    private var known = new Array[Byte](1024)

    def passes(values: WritableColumnVector, row: Int): Boolean = !values.isNullAt(row) && {
      val entry = values.getDictionaryIds.getDictId(row)
      if (entry >= known.length) known = Arrays.copyOf(known, math.max(entry + 1, known.length * 2))
      if (known(entry) == 0) known(entry) = if (test.first(values, row, row + 1) == row) 1 else 2
      known(entry) == 1
    }
  }
}

object KeyColumn {
  private final val Batch = 4096
  private lazy val readBatch = {
    val vector = classOf[WritableColumnVector]
    val method = classOf[VectorizedColumnReader].getDeclaredMethod("readBatch", classOf[Int], vector, vector, vector)
    method.setAccessible(true)
    method
  }
}
