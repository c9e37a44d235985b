package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.{FileSourceScanExec, FilterExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.joins.BaseJoinExec
import scala.collection.mutable

/** One placeholder of the planner's answer. */
final case class Placement(id: String, join: Int, keys: Seq[Int], buildSide: String, source: Int, gate: Boolean, scan: Int, columns: Seq[Long],
    label: String, kinds: String, maxKeys: Int, bloomFpp: Double, bloomMaxBytes: Long, maxBuildRows: Long, holdsRows: Long, keepNulls: Boolean,
    keepSplits: Boolean, ahead: Option[JsonNode], shift: Option[KeyShift])

/** A filter that the query's own conditions make; one for a scan at most. */
final case class StaticPlacement(id: String, scan: Int, columns: Seq[Long], label: String, predicate: String, keepSplits: Boolean)

object StaticPlacement {
  def apply(json: JsonNode): StaticPlacement = StaticPlacement(json.get("id").asText, json.get("scan").asInt,
    Json.items(json, "columns").map(_.asLong), json.get("label").asText, json.get("predicate").toString,
    json.path("keep_splits").asBoolean(false))
}

object Placement {
  def apply(json: JsonNode): Placement = Placement(json.get("id").asText, json.get("join").asInt, Json.items(json, "keys").map(_.asInt),
    json.get("build_side").asText, json.get("source").asInt, json.get("gate").asBoolean, json.get("scan").asInt,
    Json.items(json, "columns").map(_.asLong), json.get("label").asText, json.get("kinds").asText, json.get("max_keys").asInt,
    json.get("bloom_fpp").asDouble, json.get("bloom_max_bytes").asLong, json.get("max_build_rows").asLong,
    json.get("holds_rows").asLong, json.path("keep_nulls").asBoolean(false),
    json.path("keep_splits").asBoolean(false), Option(json.get("ahead")), Option(json.get("shift")).filterNot(_.isNull).map(KeyShift(_)))
}

/**
 * A plan with placeholders and gates in it.
 *
 * A gate's second child must be the very exchange that the join gets, changes inside it included, or the build side would run twice:
 * so every node is rewritten once, and a gate asks for its source's rewritten form. Placements that wait for each other in a circle are an error.
 */
final class PlacedPlan(root: NumberedNode, placements: Seq[Placement], statics: Seq[StaticPlacement]) {
  private val nodes = mutable.Map.empty[Int, NumberedNode]
  private def register(node: NumberedNode): Unit = { nodes(node.id) = node; node.children.foreach(register) }
  register(root)

  private val bySource = placements.groupBy(_.source)
  private val done = mutable.Map.empty[Int, SparkPlan]
  private val underWay = mutable.Set.empty[Int]

  lazy val plan: SparkPlan = rewritten(root)

  private def rewritten(node: NumberedNode): SparkPlan = done.getOrElse(node.id, {
    if (!underWay.add(node.id)) throw new IllegalStateException("The planner's gates wait for each other.")
    val result = rewrite(node)
    done(node.id) = result
    result
  })

  private def rewrite(node: NumberedNode): SparkPlan = node.plan match {
    case stage: QueryStageExec => stage
    case reused: ReusedExchangeExec => reused
    case filter: FilterExec if node.children.head.plan.isInstanceOf[FileSourceScanExec] =>
      gated(node.children.head, filter.withNewChildren(Seq(placed(node.children.head))))
    case _: FileSourceScanExec => gated(node, placed(node))
    case other =>
      val children = node.children.map(rewritten)
      val changed = if (children.zip(other.children).forall { case (a, b) => a eq b }) other else other.withNewChildren(children)
      val keys = placements.filter(p => p.join == node.id && !p.gate)
      if (keys.nonEmpty) changed.setTagValue(PlacedKey.OnJoin, keys.map(placedKey))
      changed
  }

  private def placed(node: NumberedNode): SparkPlan = {
    val scan = node.plan.asInstanceOf[FileSourceScanExec]
    val own = placements.filter(_.scan == node.id).map(p => RuntimeFilter(columns(p.scan, p.columns), p.label, RuntimeFilter.Empty, p.id, keepSplits = p.keepSplits)) ++
      statics.filter(_.scan == node.id).map(s => RuntimeFilter(columns(s.scan, s.columns), s.label, RuntimeFilter.Empty, s.id, s.predicate, s.keepSplits))
    if (own.isEmpty) scan
    else {
      val changed = scan.copy(dataFilters = scan.dataFilters ++ own)
      changed.copyTagsFrom(scan)
      changed
    }
  }

  private def gated(scan: NumberedNode, plan: SparkPlan): SparkPlan =
    placements.filter(p => p.scan == scan.id && p.gate).groupBy(p => (p.source, p.join, p.buildSide)).toSeq.sortBy(_._1).foldLeft(plan) {
      case (below, ((source, join, side), own)) =>
        // Filters of the same build side and the same keys are collected in one job, whichever scan they are for.
        val all = bySource(source).filter(p => p.gate && p.join == join && p.buildSide == side)
        val gate = Gate(below, rewritten(nodes(source)), buildKeys(join, side), own.map(placedKey), all.map(placedKey))
        gate.copyTagsFrom(below)
        gate
    }

  private def columns(scan: Int, ids: Seq[Long]): Seq[Expression] = {
    val output = nodes(scan).plan.output
    ids.map(id => output.find(_.exprId.id == id).getOrElse(throw new IllegalStateException(s"The scan has no column with the id $id.")))
  }

  private def buildKeys(join: Int, side: String): Seq[Expression] = nodes(join).plan match {
    case j: BaseJoinExec => if (side == "left") j.leftKeys else j.rightKeys
    case other => throw new IllegalStateException(s"${other.nodeName} is not a join with keys.")
  }

  private def placedKey(p: Placement): PlacedKey = PlacedKey(p.id, p.keys, columns(p.scan, p.columns).map(_.dataType), p.kinds, p.maxKeys, p.bloomFpp, p.bloomMaxBytes,
    p.maxBuildRows, p.keepNulls, p.ahead, p.shift)
}
