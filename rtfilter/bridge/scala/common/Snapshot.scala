package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Cast, Expression}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import scala.collection.mutable.ArrayBuffer

/** A plan node with the number it has in the snapshot; stages show the plan that they run as their child. */
final class NumberedNode(val id: Int, val plan: SparkPlan, val children: Seq[NumberedNode])

/** The physical plan as the planner sees it: docs/protocol.md, "plan". */
object Snapshot {
  def number(plan: SparkPlan): NumberedNode = {
    var next = 0
    def walk(node: SparkPlan): NumberedNode = {
      val id = next
      next += 1
      new NumberedNode(id, node, inner(node).map(walk))
    }
    walk(plan)
  }

  private def inner(node: SparkPlan): Seq[SparkPlan] = node match {
    case stage: QueryStageExec => Seq(stage.plan)
    case reused: ReusedExchangeExec => Seq(reused.child)
    case other => other.children
  }

  def nodes(root: NumberedNode): Seq[ObjectNode] = {
    val out = ArrayBuffer.empty[ObjectNode]
    def walk(node: NumberedNode): Unit = {
      out += describe(node)
      node.children.foreach(walk)
    }
    walk(root)
    out.toSeq
  }

  private def describe(node: NumberedNode): ObjectNode = {
    val plan = node.plan
    val json = Json.obj("id" -> node.id, "op" -> plan.nodeName, "children" -> node.children.map(_.id),
      "output" -> plan.output.map(_.exprId.id))
    def add(fields: (String, Any)*): Unit = fields.foreach { case (name, value) => Json.put(json, name, value) }
    plan match {
      case scan: FileSourceScanExec => add(scanFields(scan): _*)
      case project: ProjectExec => add("kind" -> "project", "exprs" -> project.projectList.map(expression))
      case filter: FilterExec => add("kind" -> "filter", "condition" -> expression(filter.condition))
      case _: SortExec => add("kind" -> "sort")
      case join: BroadcastHashJoinExec => add(joinFields("broadcast_hash_join", join, Some(join.buildSide), join.isNullAwareAntiJoin): _*)
      case join: ShuffledHashJoinExec => add(joinFields("shuffled_hash_join", join, Some(join.buildSide), nullAware = false): _*)
      case join: SortMergeJoinExec => add(joinFields("sort_merge_join", join, None, nullAware = false): _*)
      case _: ReusedExchangeExec => add("kind" -> "reused_exchange")
      case _: BroadcastExchangeLike => add("kind" -> "broadcast_exchange")
      case _: Exchange => add("kind" -> "exchange")
      case stage: QueryStageExec =>
        val statistics = if (stage.isMaterialized) Some(stage.getRuntimeStatistics) else None
        add("kind" -> "query_stage", "broadcast" -> stage.isInstanceOf[BroadcastQueryStageExec], "materialized" -> stage.isMaterialized,
          "rows" -> statistics.flatMap(_.rowCount), "bytes" -> statistics.map(_.sizeInBytes))
      case _ => add("kind" -> "other")
    }
    json
  }

  private def scanFields(scan: FileSourceScanExec): Seq[(String, Any)] = {
    val relation = scan.relation
    val partitions = relation.partitionSchema.fieldNames.toSet
    Seq("kind" -> "scan", "table" -> tableName(scan), "format" -> relation.fileFormat.getClass.getSimpleName,
      "plain_parquet" -> SparkVersion.readsPlainParquet(scan), "bytes" -> relation.sizeInBytes,
      "columns" -> scan.output.map { column =>
        Json.obj("id" -> column.exprId.id, "name" -> column.name, "type" -> column.dataType.catalogString,
          "partition" -> partitions.contains(column.name))
      })
  }

  def tableName(scan: FileSourceScanExec): String =
    scan.tableIdentifier.map(_.table).orElse(scan.relation.location.rootPaths.headOption.map(_.getName)).getOrElse("?")

  private def joinFields(kind: String, join: BaseJoinExec, buildSide: Option[BuildSide], nullAware: Boolean): Seq[(String, Any)] =
    Seq("kind" -> kind, "join_type" -> join.joinType.toString, "null_aware" -> nullAware,
      "build_side" -> buildSide.map { case BuildLeft => "left"; case BuildRight => "right" },
      "left_keys" -> join.leftKeys.map(expression), "right_keys" -> join.rightKeys.map(expression))

  private def expression(e: Expression): ObjectNode = {
    val json = e match {
      case a: Attribute => Json.obj("kind" -> "attr", "id" -> a.exprId.id, "name" -> a.name, "type" -> a.dataType.catalogString)
      case a: Alias => Json.obj("kind" -> "alias", "id" -> a.exprId.id, "name" -> a.name, "type" -> a.dataType.catalogString,
        "child" -> expression(a.child))
      case c: Cast => Json.obj("kind" -> "cast", "type" -> c.dataType.catalogString, "child" -> expression(c.child))
      case other => Json.obj("kind" -> "other", "text" -> other.toString.take(200), "type" -> other.dataType.catalogString,
        "refs" -> other.references.toSeq.map(_.exprId.id))
    }
    if (!e.deterministic) json.put("deterministic", false)
    json
  }
}
