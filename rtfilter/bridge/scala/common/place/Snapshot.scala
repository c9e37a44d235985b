package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.expressions.{Expression, ExplodeBase, Inline, JsonTuple, ReplicateRows, Stack}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.physical.{HashPartitioning, RangePartitioning}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.window.{WindowExecBase, WindowGroupLimitExec}
import scala.collection.mutable.ArrayBuffer

/** A plan node with the number it has in the snapshot; stages show the plan that they run as their child. */
final class NumberedNode(val id: Int, val plan: SparkPlan, val children: Seq[NumberedNode])

/** The physical plan as the planner sees it: docs/protocol.md, "plan". */
object Snapshot {
  private val Size = TreeNodeTag[(String, BigInt)]("rtfilter.size")

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

  def nodes(root: NumberedNode): Seq[ObjectNode] = nodes(root, sized = true)

  /** `sized`: with the tables' bytes, for which files may have to be listed. */
  def nodes(root: NumberedNode, sized: Boolean): Seq[ObjectNode] = {
    val same = equalExchanges(root)
    def walk(node: NumberedNode): Seq[ObjectNode] = describe(node, same.get(node.id), sized) +: node.children.flatMap(walk)
    walk(root)
  }

  /** A number for every exchange or stage (by node) that has its like elsewhere in the plan: those are run once. */
  private def equalExchanges(root: NumberedNode): Map[Int, Int] = {
    val found = ArrayBuffer.empty[(Int, SparkPlan)]
    def walk(node: NumberedNode): Unit = {
      node.plan match {
        case stage: QueryStageExec => found += node.id -> stage.plan
        case exchange: Exchange => found += node.id -> exchange
        case _ =>
      }
      if (!node.plan.isInstanceOf[QueryStageExec]) node.children.foreach(walk)
    }
    walk(root)
    // Bringing a plan to its canonical form costs as much as all the rest here, and what puts out other types is never equal.
    found.groupBy(_._2.output.map(_.dataType)).values.filter(_.size > 1)
      .flatMap(_.groupBy(_._2.canonicalized).values).filter(_.size > 1).toSeq.sortBy(_.head._1).zipWithIndex.flatMap { case (members, number) =>
      members.map(_._1 -> number)
    }.toMap
  }

  private def describe(node: NumberedNode, same: Option[Int], sized: Boolean): ObjectNode = {
    val plan = node.plan
    val json = Json.obj("id" -> node.id, "op" -> plan.nodeName, "children" -> node.children.map(_.id), "output" -> plan.output.map(_.exprId.id))
    def add(fields: (String, Any)*): Unit = fields.foreach { case (name, value) => Json.put(json, name, value) }
    plan match {
      case scan: FileSourceScanExec => add(scanFields(scan, sized): _*)
      case project: ProjectExec => add("kind" -> "project", "exprs" -> project.projectList.map(SnapshotExpression(_)))
      case filter: FilterExec => add("kind" -> "filter", "condition" -> SnapshotExpression.condition(filter.condition),
        "conjuncts" -> SnapshotExpression.conjuncts(filter.condition))
      case sort: SortExec => add(Seq("kind" -> "sort") ++ SnapshotExpression.work(sort.sortOrder.map(_.child)): _*)
      case join: BroadcastHashJoinExec => add(joinFields("broadcast_hash_join", join, Some(join.buildSide), join.isNullAwareAntiJoin): _*)
      case join: ShuffledHashJoinExec => add(joinFields("shuffled_hash_join", join, Some(join.buildSide), nullAware = false): _*)
      case join: SortMergeJoinExec => add(joinFields("sort_merge_join", join, None, nullAware = false): _*)
      case join: BroadcastNestedLoopJoinExec => add(joinFields("nested_loop_join", join, Some(join.buildSide), nullAware = false): _*)
      case join: CartesianProductExec => add(joinFields("nested_loop_join", join, None, nullAware = false): _*)
      case aggregate: BaseAggregateExec => add("kind" -> "aggregate", "grouping" -> aggregate.groupingExpressions.map(SnapshotExpression(_)),
        "results" -> SnapshotExpression.results(aggregate), "functions" -> aggregate.aggregateExpressions.map(e => SnapshotExpression.step(e.aggregateFunction)))
        add(SnapshotExpression.work(aggregate.aggregateExpressions): _*)
      case window: WindowExecBase => add(Seq("kind" -> "window", "partition" -> window.partitionSpec.map(SnapshotExpression(_))) ++
        SnapshotExpression.work(window.windowExpression): _*)
      case limit: WindowGroupLimitExec => add("kind" -> "window", "partition" -> limit.partitionSpec.map(SnapshotExpression(_)))
      case _: UnionExec => add("kind" -> "union")
      // Spark's own generators look at each row for itself; those of Hive and of users may keep something, or emit rows at the end.
      case GenerateExec(generator @ (_: ExplodeBase | _: Inline | _: Stack | _: JsonTuple | _: ReplicateRows), _, _, _, _) =>
        add(Seq("kind" -> "generate") ++ SnapshotExpression.work(generator.children): _*)
      case expand: ExpandExec => add("kind" -> "expand", "columns" -> expand.output.zipWithIndex.map { case (column, i) =>
        val sources = expand.projections.map(_(i))
        Json.obj("id" -> column.exprId.id, "source" -> Option.when(sources.forall(_.semanticEquals(sources.head)))(SnapshotExpression(sources.head)))
      })
        add(SnapshotExpression.work(expand.projections.flatten): _*)
      case _: ReusedExchangeExec => add("kind" -> "reused_exchange", "same" -> same)
      case _: BroadcastExchangeLike => add("kind" -> "broadcast_exchange", "same" -> same)
      case shuffle: ShuffleExchangeLike => add(Seq("kind" -> "exchange", "same" -> same) ++ SnapshotExpression.work(partitionedBy(shuffle)): _*)
      case _: Exchange => add("kind" -> "exchange", "same" -> same)
      case stage: QueryStageExec =>
        val statistics = if (stage.isMaterialized) Some(stage.getRuntimeStatistics) else None
        add("kind" -> "query_stage", "broadcast" -> stage.isInstanceOf[BroadcastQueryStageExec], "shuffle" -> stage.isInstanceOf[ShuffleQueryStageExec],
          "materialized" -> stage.isMaterialized, "rows" -> statistics.flatMap(_.rowCount), "bytes" -> statistics.map(_.sizeInBytes), "same" -> same)
      case rows: RowFilterExec => add("kind" -> "other", "runs" -> Seq(rows.filter))
      case _ => add("kind" -> "other")
    }
    RowOrder.byPlace(plan).foreach(json.put("by_place", _))
    RowOrder.byOrder(plan).foreach(json.put("by_order", _))
    if (RowOrder.asksForFile(plan)) json.put("asks_for_file", true)
    Literals.addTo(json, plan)
    if (Literals.isThinned(plan)) json.put("thinned", true)
    json
  }

  private def partitionedBy(shuffle: SparkPlan): Seq[Expression] = shuffle.outputPartitioning match {
    case hash: HashPartitioning => hash.expressions
    case range: RangePartitioning => range.ordering.map(_.child)
    case other: Expression => Seq(other)
    case _ => Nil
  }

  private def scanFields(scan: FileSourceScanExec, sized: Boolean): Seq[(String, Any)] = {
    val relation = scan.relation
    // What ANALYZE TABLE has left. Checked on 4.3: a scan's logical link is its relation, or what was planned in one step with it.
    val logical = scan.logicalLink.flatMap(_.collectLeaves().collectFirst { case found: LogicalRelation if found.relation eq relation => found })
    val known = logical.flatMap(_.catalogTable).flatMap(_.stats)
    val bytes = Option.when(sized)(logical.filter(_ => known.isEmpty).map(sizeOf).getOrElse(BigInt(relation.sizeInBytes)))
    val labels = scan match { case TreeFiles(files, _) => files.names; case _ => Map.empty[String, String] }
    Seq("kind" -> "scan", "table" -> tableName(scan), "format" -> relation.fileFormat.getClass.getSimpleName,
      "plain_parquet" -> SparkVersion.readsPlainParquet(scan), "bytes" -> bytes, "rows" -> known.flatMap(_.rowCount), "columns_total" -> relation.dataSchema.size,
      "filters" -> scan.dataFilters.filterNot(_.isInstanceOf[RuntimeFilter]).flatMap(SnapshotExpression.conjuncts),
      "roots" -> relation.location.rootPaths.take(100).map(_.toString), "hints" -> TableHint.of(scan), "runs" -> RuntimeFilter.in(scan).map(_.id),
      // Checked on 4.3: FileScanRDD asks the reader's options, and these the session.
      "skips_corrupt" -> new FileSourceOptions(CaseInsensitiveMap(relation.options)).ignoreCorruptFiles,
      "columns" -> scan.output.map { column =>
        val json = Json.obj("id" -> column.exprId.id, "name" -> column.name, "type" -> column.dataType.catalogString,
          "partition" -> relation.partitionSchema.fieldNames.contains(column.name), "distinct" -> known.flatMap(_.colStats.get(column.name)).flatMap(_.distinctCount))
        labels.get(column.name).foreach(json.put("label", _))
        json
      })
  }

  /**
   * Adding up a table's files takes longer than all the rest of a scan, and Spark has done it to choose its joins. Checked on 4.3: at a re-plan
   * it forgets what it has added up (AdaptiveSparkPlanExec.reOptimize) and works with the same relations; another query may find other files.
   */
  private def sizeOf(relation: LogicalRelation): BigInt = {
    val query = Option(relation.relation.asInstanceOf[HadoopFsRelation].sparkSession.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
    if (query.isEmpty || relation.getTagValue(Size).map(_._1) != query) relation.setTagValue(Size, (query.orNull, bytesOf(relation)))
    relation.getTagValue(Size).get._2
  }

  /** Of a partitioned table of a catalog, none of whose partitions is ruled out, Spark says spark.sql.defaultSizeInBytes (8 EiB) until it is analysed. */
  private def bytesOf(relation: LogicalRelation): BigInt = relation.relation match {
    case HadoopFsRelation(index: CatalogFileIndex, _, _, _, _, _) => BigInt(index.filterPartitions(Nil).sizeInBytes)
    case _ => relation.stats.sizeInBytes
  }

  def tableName(scan: FileSourceScanExec): String = scan match {
    case TreeFiles(files, _) => files.tree
    case _ => scan.tableIdentifier.map(_.table).orElse(scan.relation.location.rootPaths.headOption.map(_.getName)).getOrElse("?")
  }

  private def joinFields(kind: String, join: BaseJoinExec, buildSide: Option[BuildSide], nullAware: Boolean): Seq[(String, Any)] =
    Seq("kind" -> kind, "join_type" -> join.joinType.toString, "null_aware" -> nullAware,
      "build_side" -> buildSide.map { case BuildLeft => "left"; case BuildRight => "right" },
      "left_keys" -> join.leftKeys.map(SnapshotExpression(_)), "right_keys" -> join.rightKeys.map(SnapshotExpression(_)),
      "condition" -> join.condition.map(SnapshotExpression.condition))
}
