package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedFunction}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.trees.TreePattern.UNRESOLVED_HINT
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.LogicalRelation
import scala.collection.mutable

/** An RTFILTER hint above a table: its words, the names that the table goes by below it, and those of the query's other tables. */
final case class TableHint(words: Seq[String], names: Seq[String], known: Seq[String]) {
  def toJson: ObjectNode = Json.obj("words" -> words, "names" -> names, "known" -> known)
}

/** Where hints are kept: a tag on the table's relation, innermost first. Tags are no part of a plan's meaning: caching and reuse don't see them. */
object TableHint {
  val OnRelation: TreeNodeTag[Seq[TableHint]] = TreeNodeTag[Seq[TableHint]]("rtfilter.hints")

  def is(hint: UnresolvedHint): Boolean = hint.name.equalsIgnoreCase("rtfilter")

  /** The hints of a planned scan; its logical link is the chain of projections and filters down to the relation (checked on 4.3). */
  def of(scan: FileSourceScanExec): Seq[ObjectNode] =
    scan.logicalLink.flatMap(_.collectFirst { case p if p.containsTag(OnRelation) => p.getTagValue(OnRelation).get }).getOrElse(Nil)
      .map(_.toJson)
}

/** Before names are resolved: a hint's words become literals, or a column that is called `set`, or no function `kinds`, would get in their way. */
object KeepHintWords extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUpWithPruning(_.containsPattern(UNRESOLVED_HINT)) {
    case hint: UnresolvedHint if TableHint.is(hint) => hint.copy(parameters = hint.parameters.map(p => Literal(word(p))))
  }

  private def word(parameter: Expression): String = parameter match {
    case name: UnresolvedAttribute => name.nameParts.mkString(".")
    case call: UnresolvedFunction => s"${call.nameParts.mkString(".")}(${call.arguments.map(word).mkString(",")})"
    case Literal(value, _) => String.valueOf(value)
    case other => other.sql
  }
}

/**
 * Once tables are resolved, and before Spark drops hints that it does not know (post-hoc resolution, checked on 4.3): takes hints out
 * and tags the tables below them. The relation itself may be shared with other queries, so a copy is tagged; as a copy is equal
 * to its original and would not be put in, `HintedRelation` stands for it first.
 */
object ResolveTableHints extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.containsPattern(UNRESOLVED_HINT) || !plan.exists { case hint: UnresolvedHint => TableHint.is(hint); case _ => false }) plan
    else AnalysisHelper.allowInvokingTransformsInAnalyzer {
      val known = plan.collectWithSubqueries { case alias: SubqueryAlias => alias.identifier.toString }.distinct
      // By the number of a common table expression: the hints above its uses.
      val ofCte = mutable.Map.empty[Long, Seq[TableHint]].withDefaultValue(Nil)
      def walk(plan: LogicalPlan, open: Seq[TableHint]): LogicalPlan = plan match {
        case hint: UnresolvedHint if TableHint.is(hint) =>
          walk(hint.child, TableHint(hint.parameters.collect { case Literal(word, _) => word.toString }, Nil, known) +: open)
        case relation: LogicalRelation => if (open.isEmpty) relation else HintedRelation(relation, open)
        case alias: SubqueryAlias =>
          alias.withNewChildren(Seq(walk(alias.child, open.map(hint => hint.copy(names = alias.identifier.toString +: hint.names)))))
        case ref: CTERelationRef => ofCte(ref.cteId) = (ofCte(ref.cteId) ++ open).distinct; ref
        // A definition may use earlier ones only: the last goes first.
        case cte: WithCTE =>
          val main = walk(cte.plan, open)
          val definitions = cte.cteDefs.reverse.map(d => d.copy(child = walk(d.child, (ofCte(d.id) ++ open).distinct))).reverse
          cte.copy(plan = main, cteDefs = definitions)
        case other if open.isEmpty && !other.containsPattern(UNRESOLVED_HINT) && ofCte.isEmpty => other
        case other => other.mapChildren(walk(_, open)).transformExpressions { case s: SubqueryExpression => s.withNewPlan(walk(s.plan, open)) }
      }
      walk(plan, Nil).transformUpWithSubqueries { case hinted: HintedRelation => hinted.tagged }
    }
}

/** Stands for a tagged copy of its child while a plan is rewritten. */
final case class HintedRelation(child: LogicalPlan, hints: Seq[TableHint]) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override protected def withNewChildInternal(changed: LogicalPlan): HintedRelation = copy(child = changed)

  def tagged: LogicalPlan = {
    val copied = child.clone()
    copied.setTagValue(TableHint.OnRelation, child.getTagValue(TableHint.OnRelation).getOrElse(Nil) ++ hints)
    copied
  }
}

/**
 * Partition pruning puts another relation into the plan, without tags, and keeps those of the node above it (PruneFileSourcePartitions,
 * checked on 4.3): so before it runs, the tag goes onto the projections and filters above the relation too.
 */
object SpreadTableHints extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan.foreachUp { node => if (node.isInstanceOf[Project] || node.isInstanceOf[Filter])
      node.children.head.getTagValue(TableHint.OnRelation).foreach(node.setTagValue(TableHint.OnRelation, _)) }
    plan
  }
}
