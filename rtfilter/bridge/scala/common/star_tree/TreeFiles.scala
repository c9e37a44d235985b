package org.apache.spark.sql.execution.rtfilter

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.{FileIndex, PartitionDirectory}
import org.apache.spark.sql.types.StructType

/** Files of a star-tree as the host names them: nothing is listed. `decision` and `tree` are for metrics, `names` has the table's names of columns. */
final case class TreeFiles(files: Seq[(String, Long, Long)], tree: String, decision: String, names: Map[String, String]) extends FileIndex {
  override def rootPaths: Seq[Path] = files.map { case (path, _, _) => new Path(path) }
  override def inputFiles: Array[String] = rootPaths.map(_.toString).toArray
  override def refresh(): Unit = ()
  override def sizeInBytes: Long = files.map(_._2).sum
  override def partitionSchema: StructType = new StructType
  override def listFiles(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    Seq(PartitionDirectory(InternalRow.empty, files.map { case (path, bytes, modifiedMs) => new FileStatus(bytes, false, 1, TreeFiles.BlockBytes, modifiedMs, new Path(path)) }.toArray))
  override def toString: String = s"star-tree $tree"
}

object TreeFiles {
  private val BlockBytes = 128L << 20

  /** Of a scan that reads a tree, narrowed by run-time filters or not. */
  def unapply(plan: SparkPlan): Option[(TreeFiles, FileSourceScanExec)] = Some(plan).collect { case scan: FileSourceScanExec => scan }.flatMap { scan =>
    scan.relation.location match {
      case files: TreeFiles => Some((files, scan))
      case PrunedFileIndex(files: TreeFiles, _) => Some((files, scan))
      case _ => None
    }
  }
}

/** Of a table's files those that a star-tree does not cover. */
final case class UncoveredFiles(base: FileIndex, paths: Set[String], bytes: Long) extends FileIndex {
  override def rootPaths: Seq[Path] = base.rootPaths
  override def inputFiles: Array[String] = paths.toArray
  override def refresh(): Unit = base.refresh()
  override def sizeInBytes: Long = bytes
  override def partitionSchema: StructType = base.partitionSchema
  override def listFiles(partitionFilters: Seq[Expression], dataFilters: Seq[Expression]): Seq[PartitionDirectory] =
    base.listFiles(partitionFilters, dataFilters).map(d => d.copy(files = d.files.filter(f => paths(f.getPath.toString)))).filter(_.files.nonEmpty)
  override def toString: String = base.toString
}
