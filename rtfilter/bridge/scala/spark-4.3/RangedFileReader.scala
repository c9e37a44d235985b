package org.apache.spark.sql.execution.rtfilter

import org.apache.parquet.ParquetReadOptions
import org.apache.parquet.column.page.PageReadStore
import org.apache.parquet.filter2.compat.FilterCompat
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData, ColumnPath, ParquetMetadata}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.internal.filter2.columnindex.{ColumnIndexFilter, RowRanges}
import org.apache.parquet.io.SeekableInputStream
import org.apache.parquet.schema.MessageType
import scala.jdk.CollectionConverters._

/**
 * parquet-java's file reader, which decodes the keys of a row group first, and of the other columns only pages that hold a row whose key passes. Where that spares too
 * little, or the file does not say where its pages are, the row group is read as it would be without. Checked on 4.3 with parquet-java 1.17: `readRowGroup(i)` and
 * `readFilteredRowGroup(i, ranges)` leave the reader's own position alone; Spark asks for `readNextFilteredRowGroup` only.
 */
final class RangedFileReader(input: HadoopInputFile, footer: ParquetMetadata, options: ParquetReadOptions, stream: SeekableInputStream, schema: MessageType,
    keys: Seq[KeyColumn], soFar: KeyFirstSoFar, metrics: PackMetrics) extends ParquetFileReader(input, footer, options, stream) {
  import metrics.{packsRead, ranges => counts}
  private val blocks = getRowGroups.asScala.toIndexedSeq
  private val paths = schema.getColumns.asScala.map(_.getPath.mkString(".")).toSet
  private val hasFilter = options.useColumnIndexFilter && FilterCompat.isFilteringRequired(options.getRecordFilter)
  private var next = 0
  private var ready: Option[PageReadStore] = None
  private var current: Option[PageReadStore] = None
  setRequestedSchema(schema)

  /** The rows of the row group that comes next, which is read; 0 at the end. */
  def prepare(): Long = {
    while (ready.isEmpty && next < blocks.size) {
      next += 1
      ready = read(next - 1).filter(_.getRowCount > 0)
    }
    ready.fold(0L)(_.getRowCount)
  }

  override def readNextFilteredRowGroup(): PageReadStore = {
    if (ready.isEmpty) prepare()
    current.foreach(_.close())
    current = ready
    ready = None
    current.orNull
  }

  override def close(): Unit = { (current ++ ready).foreach(_.close()); super.close() }

  private def read(i: Int): Option[PageReadStore] = {
    val own = ownRanges(i)
    if (own.rowCount == 0) None
    else if (keys.isEmpty || !soFar.isGoing) Some(whole(i, own))
    else byKeys(i, own)
  }

  /** What the conditions that the query pushed, and the keys as ranges, leave by the file's column index. */
  private def ownRanges(i: Int): RowRanges =
    if (!hasFilter) RowRanges.createSingle(blocks(i).getRowCount)
    else ColumnIndexFilter.calculateRowRanges(options.getRecordFilter, getColumnIndexStore(i), schema.getPaths.asScala.map(ColumnPath.get(_: _*)).toSet.asJava, blocks(i).getRowCount)

  private def whole(i: Int, own: RowRanges): PageReadStore = {
    packsRead.add(1)
    pagesOf(i, own)
  }

  private def pagesOf(i: Int, rows: RowRanges): PageReadStore = if (rows.rowCount == blocks(i).getRowCount) readRowGroup(i) else readFilteredRowGroup(i, rows)

  private def byKeys(i: Int, own: RowRanges): Option[PageReadStore] = {
    val (chunks, keyChunks) = (chunksOf(blocks(i), paths), chunksOf(blocks(i), keys.map(nameOf).toSet))
    val (all, ofKeys) = (chunks.map(_.getTotalSize).sum, keyChunks.map(_.getTotalSize).sum)
    val wanted = keys.foldLeft(own)((rows, key) => if (rows.rowCount == 0) rows else matching(i, key, rows))
    setRequestedSchema(schema)
    if (wanted.rowCount == 0) { note(all - ofKeys, 0); counts.packsByKeys.add(1); None }
    else {
      counts.rowsWanted.add(wanted.rowCount)
      val pages = if (wanted.rowCount == own.rowCount) None else ChunkPages.of(blocks(i), chunks, getColumnIndexStore(i))
      val (kept, bytes) = pages.fold((0, all))(_.touched(wanted))
      val fits = pages.isDefined && soFar.fits(bytes, all)
      note(if (fits) all - bytes else 0L, ofKeys)
      pages.foreach { found => counts.pagesTotal.add(found.total); counts.pagesKept.add(if (fits) kept else found.total) }
      Some(whole(i, if (fits) wanted else own))
    }
  }

  private def note(spared: Long, twice: Long): Unit = if (soFar.add(spared, twice)) counts.stops.add(1)

  private def matching(i: Int, key: KeyColumn, rows: RowRanges): RowRanges = {
    val isWhole = rows.rowCount == blocks(i).getRowCount
    // What the reader knows of a row group's pages is read once, for the columns that are asked for then.
    if (!isWhole) { setRequestedSchema(schema); getColumnIndexStore(i) }
    val byPages = isWhole || ChunkPages.of(blocks(i), chunksOf(blocks(i), Set(nameOf(key))), getColumnIndexStore(i)).isDefined
    setRequestedSchema(java.util.List.of(key.descriptor))
    val pages: PageReadStore = if (byPages) pagesOf(i, rows) else readRowGroup(i)
    val found = try key.matching(pages).toRanges(blocks(i).getRowCount) finally pages.close()
    if (byPages) found else RowRanges.intersection(rows, found)
  }

  private def nameOf(key: KeyColumn): String = key.descriptor.getPath.mkString(".")

  private def chunksOf(block: BlockMetaData, wanted: Set[String]): Seq[ColumnChunkMetaData] = block.getColumns.asScala.filter(c => wanted(c.getPath.toDotString)).toSeq
}
