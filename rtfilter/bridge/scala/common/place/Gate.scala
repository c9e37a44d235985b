package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, SortOrder}
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.SparkPlan

/**
 * Hands its left child's rows on, and makes adaptive execution hold their stage back until the right child, the exchange that is a
 * join's build side, is finished: a stage starts when all the stages below it are there. The exchange is the same one that the join has,
 * so the stage cache runs it once. `FillFilters` takes the gate out of the stage.
 *
 * `own`: the filters of the scan below; `all`: every filter that this build side is read for, so that one job collects them all.
 * Checked on 4.3 (AdaptiveSparkPlanExec.createQueryStages goes through every child of a node).
 */
case class Gate(left: SparkPlan, right: SparkPlan, buildKeys: Seq[Expression], own: Seq[PlacedKey], all: Seq[PlacedKey]) extends SparkPlan {
  @transient override lazy val children: Seq[SparkPlan] = new GateChildren(left, right)
  override def output: Seq[Attribute] = left.output
  override def outputPartitioning: Partitioning = left.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = left.outputOrdering
  override protected def doExecute(): RDD[InternalRow] = left.execute()
  override protected def withNewChildrenInternal(changed: IndexedSeq[SparkPlan]): Gate = copy(left = changed(0), right = changed(1))

  /** Without the placeholders' names: equal input must give an equal plan, or reuse is lost. */
  override protected def doCanonicalize(): SparkPlan =
    copy(left.canonicalized, right.canonicalized, buildKeys.map(QueryPlan.normalizeExpressions(_, right.output)), own.map(_.nameless), all.map(_.nameless))
  override def simpleString(maxFields: Int): String = s"RtFilterGate (waits for ${right.nodeName} to fill ${own.map(_.placeholder).mkString(", ")})"
  override def nodeName: String = "RtFilterGate"
}
