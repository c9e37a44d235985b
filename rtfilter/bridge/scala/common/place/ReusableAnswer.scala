package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.Exchange
import scala.collection.mutable

/**
 * The planner's answer to a plan, put to a later one of the same query that is the same node by node, but for exchanges that have become
 * stages since. What was right for the one is right for the other: of the rows that are still to come nothing has changed.
 *
 * Checked on 4.3: a re-plan is made from the same logical nodes, so that what it leaves alone has the same expressions, ids included.
 */
final class ReusableAnswer(root: NumberedNode, placements: Seq[Placement], statics: Seq[StaticPlacement], unsettled: Seq[Int], val wantsEnd: Boolean) {
  /**
   * The plan with what is still open of the answer; None where the plan is another one, or a build side larger than was expected, or where a scan
   * is still to come for which sizes may bring another answer. Unless no scan's stage starts with it: the end of what is waited for brings another plan.
   */
  def onto(plan: SparkPlan): Option[SparkPlan] = {
    val now = Snapshot.number(plan)
    // What makes a node what it is beside its children.
    def own(node: SparkPlan): Seq[Any] = node.productIterator.filter { case _: SparkPlan | Seq(_: SparkPlan, _*) => false; case _ => true }.toSeq
    val found = mutable.Map.empty[Int, NumberedNode]
    def same(before: NumberedNode, after: NumberedNode): Boolean = {
      found(before.id) = after
      (before.plan, after.plan) match {
        case (a: QueryStageExec, b: QueryStageExec) => a.id == b.id
        case (_: Exchange, _: QueryStageExec) => true
        case (a, b) => a.getClass == b.getClass && own(a) == own(b) && before.children.size == after.children.size &&
          before.children.zip(after.children).forall((same _).tupled)
      }
    }
    def asExpected(p: Placement): Boolean = found(p.source).plan.collect { case s: QueryStageExec if s.isMaterialized => s.getRuntimeStatistics }
      .forall(_.rowCount.forall(_ <= p.holdsRows))
    Option.when(same(root, now))(placements.filter(p => found.contains(p.scan))).filter(_.forall(asExpected)).map(open => new PlacedPlan(now,
      open.map(p => p.copy(join = found(p.join).id, source = found(p.source).id, scan = found(p.scan).id)),
      statics.filter(s => found.contains(s.scan)).map(s => s.copy(scan = found(s.scan).id))).plan).filter(placed => !unsettled.exists(found.contains) || !PlaceFilters.isDue(placed))
  }
}
