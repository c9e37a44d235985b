package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.connector.read.streaming.SparkDataStream
import org.apache.spark.sql.execution.{FileSourceScanExec, SQLExecution}
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.collection.BitSet

/** Spark's own scan with another relation and with the layer's metrics. Checked on 4.3 (eleven constructor arguments). */
class NarrowedScan(
    relation: HadoopFsRelation, stream: Option[SparkDataStream], output: Seq[Attribute], requiredSchema: StructType,
    partitionFilters: Seq[Expression], optionalBucketSet: Option[BitSet], optionalNumCoalescedBuckets: Option[Int],
    dataFilters: Seq[Expression], tableIdentifier: Option[TableIdentifier], disableBucketedScan: Boolean,
    markedForSingleTaskExecution: Boolean, val packMetrics: PackMetrics)
  extends FileSourceScanExec(relation, stream, output, requiredSchema, partitionFilters, optionalBucketSet, optionalNumCoalescedBuckets,
    dataFilters, tableIdentifier, disableBucketedScan, markedForSingleTaskExecution) {

  override def metrics: Map[String, SQLMetric] = super.metrics ++ packMetrics.byName
  private def stretch: Double = relation.fileFormat match { case packs: PackFormat => packs.selection.stretch.getOrElse(1.0); case _ => 1.0 }
  override protected def otherCopyArgs: Seq[AnyRef] = Seq(packMetrics)

  // Spark has added up files as long as they are shown (called once, when the tasks are made; checked on 4.3).
  override def sendDriverMetrics(): Unit = {
    driverMetrics.get("filesSize").foreach(shown => shown.set((shown.value / stretch).round))
    super.sendDriverMetrics()
    val execution = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(sparkContext, execution, packMetrics.publish())
  }
}

object NarrowedScan {
  def apply(scan: FileSourceScanExec, selection: PackSelection, predicates: Seq[KeyPredicate], keyFirst: Option[KeyFirst],
      filters: Seq[RuntimeFilter], metrics: PackMetrics): NarrowedScan = {
    val format = new PackFormat(selection, predicates, keyFirst, metrics)
    val location = PrunedFileIndex(scan.relation.location, selection)
    val relation = scan.relation.copy(location = location, fileFormat = format)(scan.relation.sparkSession)
    val narrowed = new NarrowedScan(relation, scan.stream, scan.output, scan.requiredSchema, scan.partitionFilters,
      scan.optionalBucketSet, scan.optionalNumCoalescedBuckets, filters ++ RuntimeFilter.without(scan), scan.tableIdentifier,
      scan.disableBucketedScan, scan.markedForSingleTaskExecution, metrics)
    narrowed.copyTagsFrom(scan)
    narrowed
  }
}
