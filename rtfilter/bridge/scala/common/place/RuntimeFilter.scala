package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.expressions.{Expression, Predicate, Unevaluable}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.types.DataType

/**
 * A runtime filter among a scan's data filters: what EXPLAIN shows. Spark's reader can't translate it and leaves it out.
 *
 * `keepSplits`: the scan keeps the tasks that Spark makes of it, each with its rows in their order.
 *
 * With a `predicate` it is the query's own condition, as the planner words it, and needs no keys: a static filter.
 *
 * `id` names the placeholder to the planner and is no part of the plan's meaning: two scans that differ in it alone are the
 * same scan (exchange reuse). Checked on 4.3: FileSourceScanExec normalises dataFilters when it canonicalises itself.
 */
case class RuntimeFilter(children: Seq[Expression], label: String, state: String, id: String, predicate: String = "", keepSplits: Boolean = false) extends Expression with Unevaluable with Predicate {
  override def nullable: Boolean = false
  override protected def withNewChildrenInternal(changed: IndexedSeq[Expression]): Expression = copy(children = changed)
  override lazy val canonicalized: Expression = copy(children = children.map(_.canonicalized), id = "")
  private def columns: String = if (children.size == 1) children.head.toString else children.mkString("(", ", ", ")")
  def isStatic: Boolean = predicate.nonEmpty
  override def toString: String = if (isStatic) s"rtfilter($label: $state)" else s"rtfilter($columns <- $label: $state)"
  override def sql: String = s"rtfilter(${children.map(_.sql).mkString(", ")} <- $label: $state)"
}

object RuntimeFilter {
  val Empty = "not filled"

  def in(scan: FileSourceScanExec): Seq[RuntimeFilter] = scan.dataFilters.collect { case f: RuntimeFilter => f }
  def without(scan: FileSourceScanExec): Seq[Expression] = scan.dataFilters.filterNot(_.isInstanceOf[RuntimeFilter])
  def static(scan: FileSourceScanExec): Option[RuntimeFilter] = in(scan).find(_.isStatic)
}

/** Which of a join's keys fill which placeholder, and how: `types` are those of the scan's columns. */
final case class PlacedKey(placeholder: String, keys: Seq[Int], types: Seq[DataType], kinds: String, maxKeys: Int, bloomFpp: Double,
    bloomMaxBytes: Long, maxBuildRows: Long, keepNulls: Boolean, ahead: Option[JsonNode], shift: Option[KeyShift]) {
  /** Without what differs between equal filters: the name, and the planner's own figures, which travel through here untouched. */
  def nameless: PlacedKey = copy(placeholder = "", ahead = None)
  def limits(buildRows: Long): KeyLimits = KeyLimits(kinds.split(',').toSet, maxKeys, buildRows, bloomFpp, bloomMaxBytes)
}

object PlacedKey {
  /** On a broadcast join whose probe scan is in its own stage. Tags survive `withNewChildren` (checked on 4.3). */
  val OnJoin: TreeNodeTag[Seq[PlacedKey]] = TreeNodeTag[Seq[PlacedKey]]("rtfilter.placed")
  /** The planner's answer, on the root of the plan it was given for. */
  val Decision: TreeNodeTag[String] = TreeNodeTag[String]("rtfilter.decision")
}
