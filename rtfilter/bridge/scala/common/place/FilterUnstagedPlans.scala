package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{ColumnarRule, FileSourceScanExec, SparkPlan}
import scala.util.Try

/**
 * Fourth hook, for plans in which adaptive execution has no part because there is no exchange in them: what the query itself asks is
 * known, so static filters are placed and filled at once. Where adaptive execution is off, plans are left as Spark made them.
 *
 * Checked on 4.3: columnar rules run once on such a plan, and on every stage of an adaptive one, whose scans have been seen before.
 */
class FilterUnstagedPlans(session: SparkSession) extends ColumnarRule {
  private lazy val layer = new LayerSession(session)
  private lazy val place = new PlaceFilters(session, staticOnly = true)
  private lazy val fill = new FillFilters(session, atOnce = true)

  override def preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override def apply(plan: SparkPlan): SparkPlan = {
      QueryLog.begun(layer, plan)
      if (layer.enabled && layer.adaptive && !FilterUnstagedPlans.isSeen(plan) && Try(StaticPredicates.concerns(layer, plan)).getOrElse(false)) fill(place(plan)) else plan
    }
  }
}

object FilterUnstagedPlans {
  private val Seen: TreeNodeTag[Boolean] = TreeNodeTag[Boolean]("rtfilter.seen")

  /** Adaptive execution has shown this plan to the first hook. */
  def markSeen(plan: SparkPlan): Unit = plan.foreach { case scan: FileSourceScanExec => scan.setTagValue(Seen, true); case _ => }

  private def isSeen(plan: SparkPlan): Boolean = plan.exists { case scan: FileSourceScanExec => scan.getTagValue(Seen).isDefined; case _ => false }
}
