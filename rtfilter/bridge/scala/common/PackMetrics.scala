package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** The layer's metrics on a scan: the driver's figures, known at the fill, and what tasks really did: row groups opened, and rows in batches left out. */
final class PackMetrics(sc: SparkContext, total: Long, kept: Long, filesDropped: Long, fillMs: Long) extends Serializable {
  val packsRead: SQLMetric = SQLMetrics.createMetric(sc, "packs read")
  val rowsSkipped: SQLMetric = SQLMetrics.createMetric(sc, "rows of skipped batches")
  private val Seq(packsTotal, packsKept, files) =
    Seq("packs total", "packs kept by runtime filters", "files dropped by runtime filters").map(SQLMetrics.createMetric(sc, _))
  private val fillTime = SQLMetrics.createTimingMetric(sc, "runtime filter fill time")

  def byName: Map[String, SQLMetric] =
    Map("packsRead" -> packsRead, "rowsSkipped" -> rowsSkipped, "packsTotal" -> packsTotal, "packsKept" -> packsKept, "filesDropped" -> files, "fillTime" -> fillTime)
  def onDriver: Seq[SQLMetric] = Seq(packsTotal, packsKept, files, fillTime)
  def publish(): Unit = { packsTotal.set(total); packsKept.set(kept); files.set(filesDropped); fillTime.set(fillMs) }
}
