package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import java.util.{Collections, WeakHashMap}
import org.apache.spark.sql.catalyst.expressions.{BloomFilterMightContain, DynamicPruning, Expression, ExprId}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import scala.collection.mutable

/**
 * What a query that has ended asked of tables, for the query log: its plans in the form of a request to plan, with what the planner does not
 * look at (docs/protocol.md, "executed"). The plans are those that adaptive execution began with: later ones lack what turned out to be empty.
 */
object AskedPlans {
  private val Told = TreeNodeTag[Boolean]("rtfilter.told")
  /** Queries that were told, and by which execution last. */
  private val last = Collections.synchronizedMap(new WeakHashMap[QueryExecution, java.lang.Long])

  /** Of an execution, with whether it read nothing, as an earlier run of its plan had left its stages. */
  def of(query: QueryExecution, execution: Long): (Seq[Seq[ObjectNode]], Boolean) = {
    val before = Option(last.put(query, execution)).map(_.longValue)
    // A micro-batch runs its plan in an execution inside its own, which ends first.
    if (before.exists(_ > execution)) (Nil, false) else (of(query.executedPlan), before.isDefined && !readsAnew(query.executedPlan))
  }

  /** Whether a plan that runs once more has a scan that is in no stage with its rows. */
  private def readsAnew(plan: SparkPlan): Boolean = plan.exists {
    case scan: FileSourceScanExec => true
    case adaptive: AdaptiveSparkPlanExec => readsAnew(adaptive.executedPlan)
    case stage: QueryStageExec => !stage.isInstanceOf[ExchangeQueryStageExec] && readsAnew(stage.plan)
    case _ => false
  }

  /** Of each plan with a scan of Parquet files, subqueries' too; none where there is no such scan. */
  private def of(plan: SparkPlan): Seq[Seq[ObjectNode]] = plans(plan, mutable.Set.empty).filter(_.exists(isParquet)).map { root =>
    val numbered = Snapshot.number(root)
    val nodes = Snapshot.nodes(numbered, sized = false)
    add(numbered, nodes, None)
    nodes
  }

  private def isParquet(plan: SparkPlan): Boolean = plan match {
    case scan: FileSourceScanExec => scan.relation.fileFormat.getClass == classOf[ParquetFileFormat]
    case _ => false
  }

  /** Checked on 4.3: a subquery that is pushed into a scan stands in the filter above as well, under the same id. */
  private def plans(asPlanned: SparkPlan, seen: mutable.Set[ExprId]): Seq[SparkPlan] = UseStarTrees.undone(asPlanned) match {
    case adaptive: AdaptiveSparkPlanExec => plans(adaptive.initialPlan, seen)
    case plan => plan +: plan.collect { case node => node }.flatMap {
      case adaptive: AdaptiveSparkPlanExec => plans(adaptive, seen)
      // What a cache reads it reads for the first query that asks for it.
      case cache: InMemoryTableScanExec if cache.relation.cachedPlan.getTagValue(Told).isEmpty =>
        cache.relation.cachedPlan.setTagValue(Told, true)
        plans(cache.relation.cachedPlan, seen)
      case node => node.expressions.flatMap(subqueries(_, seen)).flatMap(plans(_, seen))
    }
  }

  /** Those of the query. Where Spark itself looks at a join's other side ahead, that side stands in the plan anyway. */
  private def subqueries(e: Expression, seen: mutable.Set[ExprId]): Seq[SparkPlan] = e match {
    case _: DynamicPruning | _: BloomFilterMightContain => Nil
    case found: ExecSubqueryExpression => if (seen.add(found.exprId)) Some(found.plan).collect { case run: SubqueryExec => run.child }.toSeq else Nil
    case other => other.children.flatMap(subqueries(_, seen))
  }

  private def add(node: NumberedNode, nodes: Seq[ObjectNode], filter: Option[FilterExec]): Unit = {
    def put(name: String, value: Any): Unit = Json.put(nodes(node.id), name, value)
    node.plan match {
      case scan: FileSourceScanExec => StaticPredicates.asked(scan, filter).foreach { case (name, conditions) => put(name, conditions) }
      case aggregate: BaseAggregateExec => put("aggregates", aggregate.aggregateExpressions.map(e => Json.obj("function" -> e.aggregateFunction.prettyName,
        "mode" -> e.mode.toString, "distinct" -> e.isDistinct, "refs" -> e.aggregateFunction.references.toSeq.map(_.exprId.id))))
      case expand: ExpandExec => put("reads", expand.output.indices.map(i => expand.projections.flatMap(_(i).references.toSeq).map(_.exprId.id).distinct))
      case limit: LimitExec => put("limit", limit.limit)
      case top: TakeOrderedAndProjectExec => put("limit", top.limit)
      case _ =>
    }
    val above = node.plan match {
      case found: FilterExec => Some(found)
      case _: WholeStageCodegenExec | _: InputAdapter | _: ColumnarToRowExec | _: RowFilterExec => filter
      case _ => None
    }
    node.children.foreach(add(_, nodes, above))
  }
}
