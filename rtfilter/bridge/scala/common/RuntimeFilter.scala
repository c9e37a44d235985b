package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Predicate, UnaryExpression, Unevaluable}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.FileSourceScanExec

/**
 * A runtime filter among a scan's data filters: what EXPLAIN shows. Spark's reader can't translate it and leaves it out.
 *
 * `id` names the placeholder to the planner and is no part of the plan's meaning: two scans that differ in it alone are the
 * same scan (exchange reuse). Checked on 4.3: FileSourceScanExec normalises dataFilters when it canonicalises itself.
 */
case class RuntimeFilter(child: Expression, label: String, state: String, id: String)
    extends UnaryExpression with Unevaluable with Predicate {
  override def nullable: Boolean = false
  override protected def withNewChildInternal(newChild: Expression): Expression = copy(child = newChild)
  override lazy val canonicalized: Expression = copy(child = child.canonicalized, id = "")
  override def toString: String = s"rtfilter($child <- $label: $state)"
  override def sql: String = s"rtfilter(${child.sql} <- $label: $state)"
}

object RuntimeFilter {
  val Empty = "not filled"

  def placeholder(column: Attribute, label: String, id: String): RuntimeFilter = RuntimeFilter(column, label, Empty, id)

  def in(scan: FileSourceScanExec): Seq[RuntimeFilter] = scan.dataFilters.collect { case f: RuntimeFilter => f }
}

/** Which of a join's keys fill which placeholder. Tags survive `withNewChildren` (checked on 4.3). */
case class PlacedKey(placeholder: String, keyIndex: Int, kinds: String, maxKeys: Int)

object PlacedKey {
  val OnJoin: TreeNodeTag[Seq[PlacedKey]] = TreeNodeTag[Seq[PlacedKey]]("rtfilter.placed")
  /** The planner's answer, on the root of the plan it was given for. */
  val Decision: TreeNodeTag[String] = TreeNodeTag[String]("rtfilter.decision")
}
