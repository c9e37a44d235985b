package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.{EXCEPT, FILTER, INTERSECT, JOIN, PLAN_EXPRESSION}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import scala.util.Try

/**
 * Starts the planner host when the first query comes that has something for it: a join, what may become one, or a condition on a table that may
 * have an index. Spark optimises the query meanwhile. A query without any of these costs a look at its plan, and no process.
 *
 * Runs after names are resolved, and again before cost-based optimisation for a frame that was made while the layer was off.
 */
class StartHost(session: SparkSession) extends Rule[LogicalPlan] {
  private lazy val layer = new LayerSession(session)

  override def apply(plan: LogicalPlan): LogicalPlan = {
    Try(if (layer.enabled && !PlannerHost.of(session).isWanted && isFor(plan)) PlannerHost.of(session).startAhead(layer.python))
    plan
  }

  private def isFor(plan: LogicalPlan): Boolean =
    plan.containsAnyPattern(JOIN, PLAN_EXPRESSION, INTERSECT, EXCEPT) || plan.containsPattern(FILTER) && plan.exists(mayHaveIndex)

  private def mayHaveIndex(node: LogicalPlan): Boolean = node match {
    case table: LogicalRelation => table.relation match {
      case files: HadoopFsRelation => layer.storeLocation.nonEmpty || StaticPredicates.mayHaveStore(files.location.rootPaths)
      case _ => false
    }
    case _ => false
  }
}
