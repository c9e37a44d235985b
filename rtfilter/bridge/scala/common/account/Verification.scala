package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.plans.logical.{GlobalLimit, LocalLimit, LogicalPlan, Offset, Tail}
import org.apache.spark.sql.execution.{BaseLimitExec, CollectLimitExec, CollectTailExec, ExecSubqueryExpression, QueryExecution, SparkPlan, SQLExecution, TakeOrderedAndProjectExec}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike

/** `rtfilter.verify` found a difference. The one exception of the layer that fails a query: that is what was asked for. */
final class ResultMismatch(message: String) extends RuntimeException(message)

/** Runs a query both ways before it runs itself, in sessions of its own, and compares the rows without regard to their order. */
object Verification {
  def wanted(layer: LayerSession, plan: SparkPlan): Boolean =
    layer.verify && layer.executionId.isDefined && !plan.exists(_.isInstanceOf[QueryStageExec])

  def run(session: SparkSession, plan: SparkPlan): Unit = plan.logicalLink.map(UseStarTrees.undone).foreach { logical =>
    val off = run(session, logical, enabled = false)(rows)
    val on = run(session, logical, enabled = true)(rows)
    if (off != on && !close(session, logical)) {
      val taken = takenFromShuffles(plan)
      // Which rows a limit takes is left open, all that it takes them from is not.
      val open = taken.nonEmpty && (taken.exists(!isLimit(_)) || {
        val all = logical.transformUpWithSubqueries { case GlobalLimit(_, child) => child; case LocalLimit(_, child) => child; case Offset(_, child) => child; case Tail(_, child) => child }
        run(session, all, enabled = false)(rows) == run(session, all, enabled = true)(rows) || close(session, all)
      })
      if (!open) throw new ResultMismatch(s"rtfilter.verify: the query gives ${on.count} rows with runtime filters and ${off.count} without, " +
        "or rows that differ. Please report it with the query; until then set rtfilter.enabled=false. (A query that is not deterministic, or sums " +
        "floating-point numbers, can differ by itself.)")
      new LayerSession(session).warnOnce(s"rtfilter.verify: the rows differ, as Spark's own may from run to run: ${taken.map(_.nodeName).distinct.mkString(", ")} " +
        "takes rows in the order in which other tasks hand them over.")
    }
  }

  private def isLimit(plan: SparkPlan): Boolean = plan match {
    case _: BaseLimitExec | _: CollectLimitExec | _: CollectTailExec | _: TakeOrderedAndProjectExec => true
    case _ => false
  }

  /**
   * What goes by the order or the place of rows that come out of a shuffle: Spark promises none there. Nor does it for rows that are equal to an
   * ORDER BY with LIMIT: checked on 4.3, the rows of its tasks are put together as they end (TakeOrderedAndProjectExec.executeCollect).
   */
  private def takenFromShuffles(plan: SparkPlan): Seq[SparkPlan] = {
    def goesByOrder(node: SparkPlan): Boolean = isLimit(node) || RowOrder.byOrder(node).isDefined || RowOrder.byPlace(node).isDefined
    val own = plan.collect {
      case node: TakeOrderedAndProjectExec => node
      case node if goesByOrder(node) && node.exists(_.isInstanceOf[ShuffleExchangeLike]) => node
    }
    val subqueries = plan.flatMap(_.expressions.flatMap(_.collect { case subquery: ExecSubqueryExpression => subquery.plan.child }))
    own ++ subqueries.flatMap { case adaptive: AdaptiveSparkPlanExec => takenFromShuffles(adaptive.inputPlan); case other => takenFromShuffles(other) }
  }

  private final case class Rows(count: Long, hashSum: Long, hashXor: Long) {
    def add(other: Rows): Rows = Rows(count + other.count, hashSum + other.hashSum, hashXor ^ other.hashXor)
  }

  private def run[T](session: SparkSession, logical: LogicalPlan, enabled: Boolean)(result: QueryExecution => T): T = {
    val execution = SparkVersion.queryInOwnSession(session, logical, Map("rtfilter.enabled" -> enabled.toString, "rtfilter.verify" -> "false", LayerOptions.LogPath -> ""))
    SQLExecution.withNewExecutionId(execution, Some("rtfilter.verify"))(result(execution))
  }

  private def rows(execution: QueryExecution): Rows = {
    val types = execution.executedPlan.schema.map(_.dataType).toArray
    execution.toRdd.mapPartitions { partition =>
      val toUnsafe = UnsafeProjection.create(types)
      Iterator(partition.map(row => toUnsafe(row).hashCode.toLong * 0x9E3779B97F4A7C15L).foldLeft(Rows(0, 0, 0))((sum, h) => sum.add(Rows(1, h, h))))
    }.collect().foldLeft(Rows(0, 0, 0))(_.add(_))
  }

  /** Whether sums of floating-point numbers that a star-tree holds are all that differs, by no more than the order of rows can do. */
  private def close(session: SparkSession, logical: LogicalPlan): Boolean =
    run(session, logical, enabled = true)(execution => CloseRows.of(execution).filter(_ => CloseRows.wanted(execution.executedPlan)).map((_, execution.executedPlan.schema.map(_.dataType))))
      .exists { case (on, types) => run(session, logical, enabled = false)(CloseRows.of).exists(CloseRows.areClose(_, on, types)) }
}
