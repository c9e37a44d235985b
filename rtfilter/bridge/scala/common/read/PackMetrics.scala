package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** The layer's metrics on a scan: the driver's figures, known at the fill, and what tasks really did: row groups opened, and rows in batches left out. */
final class PackMetrics(sc: SparkContext, total: Long, kept: Long, filesDropped: Long, fillMs: Long) extends Serializable {
  val packsRead: SQLMetric = SQLMetrics.createMetric(sc, "packs read")
  val rowsSkipped: SQLMetric = SQLMetrics.createMetric(sc, "rows of skipped batches")
  val ranges: RangeCounts = RangeCounts(SQLMetrics.createMetric(sc, "packs without a partner by their keys"), SQLMetrics.createMetric(sc, "rows wanted by their keys"),
    SQLMetrics.createMetric(sc, "pages total"), SQLMetrics.createMetric(sc, "pages kept"), SQLMetrics.createMetric(sc, "executors that stopped reading keys first"))
  private val packsTotal = SQLMetrics.createMetric(sc, "packs total")
  private val packsKept = SQLMetrics.createMetric(sc, "packs kept by runtime filters")
  private val files = SQLMetrics.createMetric(sc, "files dropped by runtime filters")
  private val fillTime = SQLMetrics.createTimingMetric(sc, "runtime filter fill time")

  def byName: Map[String, SQLMetric] =
    Map("packsRead" -> packsRead, "rowsSkipped" -> rowsSkipped, "packsTotal" -> packsTotal, "packsKept" -> packsKept, "filesDropped" -> files, "fillTime" -> fillTime, "packsByKeys" -> ranges.packsByKeys,
      "rowsWanted" -> ranges.rowsWanted, "pagesTotal" -> ranges.pagesTotal, "pagesKept" -> ranges.pagesKept, "keyFirstStops" -> ranges.stops)
  /** Sets the driver's own figures; the metrics that have them. */
  def publish(): Seq[SQLMetric] = Seq(packsTotal -> total, packsKept -> kept, files -> filesDropped, fillTime -> fillMs).map { case (metric, value) => metric.set(value); metric }
}
