package org.apache.spark.sql.execution.rtfilter

import java.util.{Collections, WeakHashMap}
import java.util.concurrent.ConcurrentHashMap
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
    // It listens for ends from then on; no process is started.
    Try(if (layer.logs) PlannerHost.of(session))
    Try(plan.foreach(relation(_).foreach(files => StartHost.remember(session, files))))
    plan
  }

  private def isFor(plan: LogicalPlan): Boolean =
    plan.containsAnyPattern(JOIN, PLAN_EXPRESSION, INTERSECT, EXCEPT) || plan.containsPattern(FILTER) && plan.exists(mayHaveIndex)

  private def mayHaveIndex(node: LogicalPlan): Boolean =
    relation(node).exists(files => layer.storeLocation.nonEmpty || StaticPredicates.mayHaveStore(files.location.rootPaths))

  private def relation(node: LogicalPlan): Option[HadoopFsRelation] =
    Some(node).collect { case table: LogicalRelation => table.relation }.collect { case files: HadoopFsRelation => files }
}

object StartHost {
  private val MostRoots = 1000
  private val roots = Collections.synchronizedMap(new WeakHashMap[SparkSession, java.util.Set[String]])

  /** Where the tables are that a session has named in its queries, as Hadoop's texts. */
  def rootsOf(session: SparkSession): java.util.Set[String] = roots.computeIfAbsent(session, _ => ConcurrentHashMap.newKeySet[String])

  private def remember(session: SparkSession, files: HadoopFsRelation): Unit = {
    val own = rootsOf(session)
    if (own.size < MostRoots) files.location.rootPaths.take(16).foreach(root => own.add(root.toString))
  }
}
