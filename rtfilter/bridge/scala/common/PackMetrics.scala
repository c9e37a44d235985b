package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** The layer's metrics on a scan: the driver's figures, known at the fill, and what tasks really did: row groups opened, and rows in batches left out. */
final class PackMetrics(sc: SparkContext, total: Long, filesDropped: Long, fillMs: Long) extends Serializable {
  val packsRead: SQLMetric = SQLMetrics.createMetric(sc, "packs read")
  val rowsSkipped: SQLMetric = SQLMetrics.createMetric(sc, "rows of skipped batches")
  private val packsTotal = SQLMetrics.createMetric(sc, "packs total")
  private val files = SQLMetrics.createMetric(sc, "files dropped by runtime filters")
  private val fillTime = SQLMetrics.createTimingMetric(sc, "runtime filter fill time")

  def byName: Map[String, SQLMetric] =
    Map("packsRead" -> packsRead, "rowsSkipped" -> rowsSkipped, "packsTotal" -> packsTotal, "filesDropped" -> files, "fillTime" -> fillTime)
  def onDriver: Seq[SQLMetric] = Seq(packsTotal, files, fillTime)
  def publish(): Unit = { packsTotal.set(total); files.set(filesDropped); fillTime.set(fillMs) }
}
