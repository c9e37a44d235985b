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
final class LastAnswer(root: NumberedNode, placements: Seq[Placement], statics: Seq[StaticPlacement]) {
  /** The plan with what is still open of the answer, None where the plan is another one. */
  def onto(plan: SparkPlan): Option[SparkPlan] = {
    val now = Snapshot.number(plan)
    // What makes a node what it is beside its children.
    def own(node: SparkPlan): Seq[Any] = node.productIterator.filter { case _: SparkPlan | Seq(_: SparkPlan, _*) => false; case _ => true }.toSeq
    val ids = mutable.Map.empty[Int, Int]
    def same(before: NumberedNode, after: NumberedNode): Boolean = {
      ids(before.id) = after.id
      (before.plan, after.plan) match {
        case (a: QueryStageExec, b: QueryStageExec) => a.id == b.id
        case (_: Exchange, _: QueryStageExec) => true
        case (a, b) => a.getClass == b.getClass && own(a) == own(b) && before.children.size == after.children.size &&
          before.children.zip(after.children).forall((same _).tupled)
      }
    }
    Option.when(same(root, now))(new PlacedPlan(now,
      placements.collect { case p if ids.contains(p.scan) => p.copy(join = ids(p.join), source = ids(p.source), scan = ids(p.scan)) },
      statics.collect { case s if ids.contains(s.scan) => s.copy(scan = ids(s.scan)) }).plan)
  }
}
