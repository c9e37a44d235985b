package org.apache.spark.sql.execution.rtfilter

import java.util.concurrent.atomic.AtomicReference
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{ExchangeQueryStageExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.util.ThreadUtils
import scala.collection.immutable.IndexedSeq
import scala.concurrent.duration.Duration

/**
 * The children of a gate. Adaptive execution makes a stage of each use of an exchange, and listens to each: one that fails would fail once
 * for the join and once for the gate, and Spark would say that several stages failed (STAGE_MATERIALIZATION_MULTIPLE_FAILURES). So it is not told
 * of the stages below a gate: those of the join are the same, run for both, and are done for both.
 *
 * Checked on 4.3: AdaptiveSparkPlanExec.createNonResultQueryStages maps a node's children to results (plan, whether all is there, new stages);
 * a stage that is used again has the exchange and the outcome of the first.
 */
final class GateChildren(left: SparkPlan, right: SparkPlan) extends IndexedSeq[SparkPlan] {
  override def length: Int = 2
  override def apply(i: Int): SparkPlan = if (i == 0) left else right
  override def map[B](f: SparkPlan => B): IndexedSeq[B] = {
    val first = f(left)
    if (!first.getClass.getName.endsWith("AdaptiveSparkPlanExec$CreateStageResult") || !right.conf.exchangeReuseEnabled) IndexedSeq(first, f(right))
    else {
      GateChildren.stages(right).foreach { case (stage, exchange) =>
        if (!stage.isMaterialized && exchange.getTagValue(GateChildren.OfJoin).isEmpty)
          outcome(stage).set(Some(ThreadUtils.awaitResult(stage.materialize(), Duration.Inf)))
      }
      IndexedSeq(first, unheard(f(right)))
    }
  }

  private def outcome(stage: QueryStageExec): AtomicReference[Option[Any]] =
    classOf[QueryStageExec].getMethod("resultOption").invoke(stage).asInstanceOf[AtomicReference[Option[Any]]]

  private def unheard[B](result: B): B = {
    val Seq(plan, done, started: Seq[_]) = result.asInstanceOf[Product].productIterator.toSeq: @unchecked
    started.foreach { case stage: ExchangeQueryStageExec => GateChildren.unlink(stage); case _ => }
    val copy = result.getClass.getMethod("copy", classOf[SparkPlan], classOf[Boolean], classOf[Seq[_]])
    copy.invoke(result, plan.asInstanceOf[AnyRef], done.asInstanceOf[AnyRef], started.filterNot(_.isInstanceOf[ExchangeQueryStageExec])).asInstanceOf[B]
  }
}

object GateChildren {
  private val OfJoin = TreeNodeTag[Boolean]("rtfilter.ofJoin")

  /**
   * Notes the stages that a plan without gates has: adaptive execution listens to them. A gate starts, and waits for, any other one below it:
   * equal exchanges whose scans were filled differently are not run as one.
   */
  def noteStages(plan: SparkPlan): Unit = stages(plan).foreach { case (_, exchange) => exchange.setTagValue(OfJoin, true) }

  /**
   * The next plan takes the stage of a logical node out of the physical plan: the first that is linked to it. That has to be the join's, to which
   * adaptive execution listens. They are two where equal scans were filled differently, and it would wait for this one for ever. Checked on
   * 4.3: AdaptiveSparkPlanExec.replaceWithQueryStagesInLogicalPlan.
   */
  private def unlink(stage: QueryStageExec): Unit =
    Seq(SparkPlan.LOGICAL_PLAN_TAG, SparkPlan.LOGICAL_PLAN_INHERITED_TAG).foreach(tag => stage.unsetTagValue(tag))

  private def stages(plan: SparkPlan): Seq[(QueryStageExec, SparkPlan)] = plan.collect {
    case stage: ExchangeQueryStageExec => (stage, stage.plan match { case ReusedExchangeExec(_, exchange) => exchange; case exchange => exchange })
  }
}
