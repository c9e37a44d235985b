package org.apache.spark.sql.execution.rtfilter

import java.util.Arrays
import org.apache.hadoop.fs.{BlockLocation, FileStatus, LocatedFileStatus, Path}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory}
import org.apache.spark.sql.types.StructType

/**
 * The row groups of one file of `bytes` bytes, last changed at `modifiedMs`: byte offset of each, in file order, and whether it is kept.
 *
 * Spark makes tasks of a file by its length. When little of a file is left, most of its splits would be empty and the others unequal,
 * so a narrowed scan lists the file with the length of what is kept (`keptBytes`), stretched by a factor, and a split is a part of that.
 */
final class FilePacks(val starts: Array[Long], val kept: Array[Byte], val bytes: Long, val modifiedMs: Long) extends Serializable {
  // There may be a hundred thousand of these in a query, so here and where they are made: loops without an object per row group.
  val keptCount: Int = { var (count, i) = (0, 0); while (i < kept.length) { if (kept(i) != 0) count += 1; i += 1 }; count }

  private def end(i: Int): Long = if (i + 1 < starts.length) starts(i + 1) else bytes

  val keptBytes: Long = { var (sum, i) = (0L, 0); while (i < kept.length) { if (kept(i) != 0) sum += math.max(1L, end(i) - starts(i)); i += 1 }; sum }

  /** Ordinals of the kept row groups that begin in [from, until) of the stretched kept bytes: each in one split. */
  def keptIn(from: Long, until: Long, stretch: Double): Array[Int] = {
    val found = Array.newBuilder[Int]
    var keptBefore = 0L
    starts.indices.foreach { i =>
      if (kept(i) != 0) {
        val at = (keptBefore * stretch).toLong
        if (from <= at && at < until) found += i
        keptBefore += math.max(1L, end(i) - starts(i))
      }
    }
    found.result()
  }

  /** Whether a row group that begins at `start` is kept (an empty one begins where the next one does); None where none begins there. */
  def keeps(start: Long): Option[Boolean] = {
    val at = Arrays.binarySearch(starts, start)
    def isThere(i: Int): Boolean = i >= 0 && i < starts.length && starts(i) == start
    Option.when(at >= 0)((Iterator.iterate(at)(_ - 1).takeWhile(isThere) ++ Iterator.iterate(at)(_ + 1).takeWhile(isThere)).exists(kept(_) != 0))
  }

  override def equals(other: Any): Boolean = other match { case that: FilePacks => bytes == that.bytes && modifiedMs == that.modifiedMs &&
    Arrays.equals(starts, that.starts) && Arrays.equals(kept, that.kept); case _ => false }
  override def hashCode: Int = 31 * Arrays.hashCode(starts) + Arrays.hashCode(kept)
}

object FilePacks {
  /** The row groups `from` until `until` of a table's, which need not be in the order of their starts. */
  def of(starts: Array[Long], kept: Array[Byte], from: Int, until: Int, bytes: Long, modifiedMs: Long): FilePacks =
    if ((from + 1 until until).forall(i => starts(i - 1) <= starts(i)))
      new FilePacks(Arrays.copyOfRange(starts, from, until), Arrays.copyOfRange(kept, from, until), bytes, modifiedMs)
    else { val order = (from until until).toArray.sortBy(starts(_)); new FilePacks(order.map(starts(_)), order.map(kept(_)), bytes, modifiedMs) }
}

/**
 * What a narrowed scan reads of each file that the planner knows; other files are read whole. Equal by content.
 *
 * `stretch`: times what is kept of a file it is shown as long. None: the scan keeps Spark's own splits and the order of its rows, for something goes
 * by them. Then all files are listed, with their own lengths, and each split reads what is kept of the row groups that it had.
 */
final case class PackSelection(files: Map[String, FilePacks], stretch: Option[Double]) {
  def droppedFiles: Int = files.values.count(_.keptCount == 0)

  /** What tasks have to know: a file that is not listed is read by none, unless it turns out to be another one, and then whole. */
  def forTasks: PackSelection = if (stretch.isEmpty) this else copy(files = files.filter(_._2.keptCount > 0))

  override lazy val hashCode: Int = files.hashCode
}

object PackSelection {
  /**
   * How much longer files are shown than what is kept of them, so that Spark makes `tasks` tasks of it with two row groups or more in each,
   * and equal ones: as they are, files below a few MB count as 4 MB (`spark.sql.files.openCostInBytes`) however much is left of each.
   * Spark cuts at its share of the whole for `tasks` tasks, and where that is less at `openBytes`: fewer tasks than that get as much each.
   * Nine tenths leave room for the ends of files. Spark 4.3's rule is FilePartition.maxSplitBytes.
   */
  def stretch(files: Iterable[FilePacks], tasks: Int, taskBytes: Long, openBytes: Long): Double = {
    val wanted = math.min(tasks.toLong, files.iterator.map(_.keptCount.toLong).sum / 2)
    val each = if (wanted < tasks) openBytes else math.min(taskBytes, 1L << 27)
    if (wanted < 2) 1.0 else math.max(1.0, 0.9 * each * wanted / files.iterator.map(_.keptBytes).sum)
  }
}

/** The scan's own file index without the files of which no row group survives; the others have the length of what is kept. With Spark's own splits: as it is. */
final case class PrunedFileIndex(base: FileIndex, selection: PackSelection) extends FileIndex {
  override def rootPaths: Seq[Path] = base.rootPaths
  override def inputFiles: Array[String] = base.inputFiles
  override def refresh(): Unit = base.refresh()
  override def sizeInBytes: Long = base.sizeInBytes
  override def partitionSchema: StructType = base.partitionSchema
  override def metadataOpsTimeNs: Option[Long] = base.metadataOpsTimeNs
  override def listFiles(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    selection.stretch.fold(base.listFiles(partitionFilters, dataFilters))(stretch =>
      base.listFiles(partitionFilters, dataFilters).map(directory => directory.copy(files = directory.files.flatMap { file =>
        // A plan may be kept for long; a file that was replaced meanwhile is another one.
        selection.files.get(file.getPath.toString).filter(p => p.bytes == file.getLen && p.modifiedMs == file.getModificationTime) match {
          case None => Some(file)
          case Some(packs) if packs.keptCount == 0 => None
          case Some(packs) => Some(file.copy(fileStatus = PrunedFileIndex.withLength(file.fileStatus, math.ceil(packs.keptBytes * stretch).toLong)))
        }
      })))
  override def toString: String = base.toString
}

object PrunedFileIndex {
  private def withLength(file: FileStatus, bytes: Long): FileStatus = file match {
    case located: LocatedFileStatus =>
      // Where what is kept lies in the file is not told: each host keeps its share of it.
      val factor = bytes.toDouble / file.getLen
      new LocatedFileStatus(withLength(new FileStatus(located), bytes), located.getBlockLocations.map(block =>
        new BlockLocation(block.getNames, block.getHosts, (block.getOffset * factor).toLong, math.ceil(block.getLength * factor).toLong)))
    case _ => new FileStatus(bytes, file.isDirectory, file.getReplication, file.getBlockSize, file.getModificationTime, file.getPath)
  }
}
