package org.apache.spark.sql.execution.rtfilter

import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.internal.column.columnindex.OffsetIndex
import org.apache.parquet.internal.filter2.columnindex.{ColumnIndexStore, RowRanges}
import scala.util.Try

/** The pages of those column chunks of a row group that a scan reads, by what the file says of them. */
final class ChunkPages(block: BlockMetaData, indexes: Seq[OffsetIndex]) {
  val total: Int = indexes.map(_.getPageCount).sum

  /** The pages that hold one of the rows: how many, and their bytes. */
  def touched(ranges: RowRanges): (Int, Long) = {
    var (pages, bytes) = (0, 0L)
    indexes.foreach { index =>
      var page = 0
      while (page < index.getPageCount) {
        if (ranges.isOverlapping(index.getFirstRowIndex(page), index.getLastRowIndex(page, block.getRowCount))) {
          pages += 1
          bytes += index.getCompressedPageSize(page)
        }
        page += 1
      }
    }
    (pages, bytes)
  }
}

object ChunkPages {
  /** None where a chunk has no offset index, or one that can't be right: pages that overlap, are out of order or lie outside the chunk. */
  def of(block: BlockMetaData, chunks: Seq[ColumnChunkMetaData], store: ColumnIndexStore): Option[ChunkPages] = {
    val indexes = chunks.map(chunk => Try(store.getOffsetIndex(chunk.getPath)).toOption.filter(index => index != null && fits(index, chunk, block.getRowCount)))
    Option.when(indexes.forall(_.isDefined))(new ChunkPages(block, indexes.flatten))
  }

  private def fits(index: OffsetIndex, chunk: ColumnChunkMetaData, rows: Long): Boolean = {
    val end = chunk.getStartingPos + chunk.getTotalSize
    index.getPageCount > 0 && index.getFirstRowIndex(0) == 0 && index.getOffset(0) >= chunk.getStartingPos && (0 until index.getPageCount).forall { page =>
      val (next, last) = (page + 1, page + 1 == index.getPageCount)
      val (until, beyond) = if (last) (end, rows) else (index.getOffset(next), index.getFirstRowIndex(next))
      index.getCompressedPageSize(page) > 0 && index.getOffset(page) + index.getCompressedPageSize(page) <= until && index.getFirstRowIndex(page) < beyond
    }
  }
}
