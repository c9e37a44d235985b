package org.apache.spark.sql.execution.rtfilter

import java.util.{Arrays, PrimitiveIterator}
import java.util.stream.IntStream
import org.apache.parquet.internal.column.columnindex.OffsetIndex
import org.apache.parquet.internal.filter2.columnindex.RowRanges

/** Rows of a row group in order, as stretches without gaps. */
final class RowSpans {
  private var firsts, lasts = new Array[Long](64)
  private var count = 0
  var rows = 0L

  def isEmpty: Boolean = count == 0

  /** A row beyond those that are there. */
  def add(row: Long): Unit = {
    if (count > 0 && lasts(count - 1) == row - 1) lasts(count - 1) = row
    else {
      if (count == firsts.length) { firsts = Arrays.copyOf(firsts, count * 2); lasts = Arrays.copyOf(lasts, count * 2) }
      firsts(count) = row
      lasts(count) = row
      count += 1
    }
    rows += 1
  }

  /** parquet-java 1.17 has no public way to make ranges but from pages: so these are the pages of an index of our own. */
  def toRanges(rowCount: Long): RowRanges = RowRanges.create(rowCount, IntStream.range(0, count).iterator(): PrimitiveIterator.OfInt, new OffsetIndex {
    override def getPageCount: Int = count
    override def getOffset(page: Int): Long = 0
    override def getCompressedPageSize(page: Int): Int = 0
    override def getFirstRowIndex(page: Int): Long = firsts(page)
    override def getLastRowIndex(page: Int, rows: Long): Long = lasts(page)
  })
}
