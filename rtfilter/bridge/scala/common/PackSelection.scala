package org.apache.spark.sql.execution.rtfilter

import java.util.Arrays
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory}
import org.apache.spark.sql.types.StructType

/** The row groups of one file: byte offset of each, in file order, and whether it is kept. */
final class FilePacks(val starts: Array[Long], val kept: Array[Byte]) extends Serializable {
  val keptCount: Int = kept.count(_ != 0)

  /** The kept row groups that begin in [from, until): those that a split of these bytes reads. Each belongs to one split. */
  def keptIn(from: Long, until: Long): Array[Long] =
    starts.indices.iterator.filter(i => kept(i) != 0 && from <= starts(i) && starts(i) < until).map(starts(_)).toArray

  override def equals(other: Any): Boolean = other match {
    case that: FilePacks => Arrays.equals(starts, that.starts) && Arrays.equals(kept, that.kept)
    case _ => false
  }
  override def hashCode: Int = 31 * Arrays.hashCode(starts) + Arrays.hashCode(kept)
}

/** What a narrowed scan reads of each file that the planner knows; other files are read whole. Equal by content. */
final case class PackSelection(files: Map[String, FilePacks]) {
  def dropped: Set[String] = files.collect { case (path, packs) if packs.keptCount == 0 => path }.toSet
  override lazy val hashCode: Int = files.hashCode
}

/** The scan's own file index without the files of which no row group survives. */
final case class PrunedFileIndex(base: FileIndex, dropped: Set[String]) extends FileIndex {
  override def rootPaths: Seq[Path] = base.rootPaths
  override def inputFiles: Array[String] = base.inputFiles
  override def refresh(): Unit = base.refresh()
  override def sizeInBytes: Long = base.sizeInBytes
  override def partitionSchema: StructType = base.partitionSchema
  override def metadataOpsTimeNs: Option[Long] = base.metadataOpsTimeNs
  override def listFiles(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    base.listFiles(partitionFilters, dataFilters).map(p => p.copy(files = p.files.filterNot(f => dropped.contains(f.getPath.toString))))
  override def toString: String = base.toString
}
