package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{SQLExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec

/** `rtfilter.verify` found a difference. The one exception of the layer that fails a query: that is what was asked for. */
final class ResultMismatch(message: String) extends RuntimeException(message)

/** Runs a query both ways before it runs itself, in sessions of its own, and compares the rows without regard to their order. */
object Verification {
  def wanted(layer: LayerSession, plan: SparkPlan): Boolean =
    layer.verify && layer.executionId.isDefined && !plan.exists(_.isInstanceOf[QueryStageExec])

  def run(session: SparkSession, plan: SparkPlan): Unit = plan.logicalLink.foreach { logical =>
    val off = rows(session, logical, enabled = false)
    val on = rows(session, logical, enabled = true)
    if (off != on) throw new ResultMismatch(s"rtfilter.verify: the query gives ${on.count} rows with runtime filters and ${off.count} without, " +
      "or rows that differ. Please report it with the query; until then set rtfilter.enabled=false. (A query that is not deterministic, or sums " +
      "floating-point numbers, can differ by itself.)")
  }

  private final case class Rows(count: Long, hashSum: Long, hashXor: Long) {
    def add(other: Rows): Rows = Rows(count + other.count, hashSum + other.hashSum, hashXor ^ other.hashXor)
  }

  private def rows(session: SparkSession, logical: LogicalPlan, enabled: Boolean): Rows = {
    val execution = SparkVersion.queryInOwnSession(session, logical, Map("rtfilter.enabled" -> enabled.toString, "rtfilter.verify" -> "false"))
    SQLExecution.withNewExecutionId(execution, Some("rtfilter.verify")) {
      val types = execution.executedPlan.schema.map(_.dataType).toArray
      execution.toRdd.mapPartitions { partition =>
        val toUnsafe = UnsafeProjection.create(types)
        Iterator(partition.map(row => toUnsafe(row).hashCode.toLong * 0x9E3779B97F4A7C15L).foldLeft(Rows(0, 0, 0))((sum, h) => sum.add(Rows(1, h, h))))
      }.collect().foldLeft(Rows(0, 0, 0))(_.add(_))
    }
  }
}
