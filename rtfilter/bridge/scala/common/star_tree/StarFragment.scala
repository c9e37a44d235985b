package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.expressions.{SparkVersion => _, _}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Average, Count, Max, Min, Sum, ThetaSketchAgg}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util.toPrettySQL
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf
import scala.collection.mutable

/**
 * An aggregate and what lies between it and its tables, for the host: docs/protocol.md, "star". Numbers stand for what was told. Checked on 4.3:
 * the modes of Sum and Average, the names of join types.
 */
final class StarFragment(val aggregate: Aggregate, hasTrees: HadoopFsRelation => Boolean) extends PredicateHelper {
  private val told = mutable.ArrayBuffer.empty[Expression]
  private val tables = mutable.ArrayBuffer.empty[LogicalRelation]
  private val listed = mutable.Map.empty[Int, ScanFiles]

  val functions: Seq[AggregateExpression] = aggregate.aggregateExpressions.flatMap(_.collect { case e: AggregateExpression => e }).distinct
  private val child = node(aggregate.child)

  def conjuncts(condition: Expression): Seq[Expression] = splitConjunctivePredicates(condition)
  def isEmpty: Boolean = tables.isEmpty
  def expression(number: Int): Expression = told(number)
  def table(number: Int): LogicalRelation = tables(number)
  def relation(number: Int): HadoopFsRelation = tables(number).relation.asInstanceOf[HadoopFsRelation]
  def files(number: Int): ScanFiles = listed.getOrElseUpdate(number, new ScanFiles(relation(number).location, Nil))

  lazy val toJson: ObjectNode = Json.obj("ansi" -> SQLConf.get.ansiEnabled, "grouping" -> aggregate.groupingExpressions.map(term(_)),
    "read" -> aggregate.aggregateExpressions.flatMap(outside).map(term(_)), "aggregates" -> functions.map(function), "child" -> child)

  /** What a result reads beside aggregate functions. */
  private def outside(e: Expression): Seq[Expression] = e match {
    case _: AggregateExpression => Nil
    case other if other.exists(_.isInstanceOf[AggregateExpression]) => other.children.flatMap(outside)
    case other => Seq(other)
  }

  private def function(e: AggregateExpression): ObjectNode = Json.obj("number" -> number(e), "type" -> e.dataType.catalogString, "distinct" -> e.isDistinct,
    "function" -> (e.aggregateFunction match {
      case average: Average => if (average.evalMode == EvalMode.TRY) "try_avg" else "avg"
      case sum: Sum => if (sum.evalContext.evalMode == EvalMode.TRY) "try_sum" else "sum"
      case own @ (_: Count | _: Min | _: Max | _: ThetaSketchAgg | _: BitmapConstructAgg) => own.prettyName
      // A user's function may be called as Spark's own.
      case other if StarFragment.Own(other.prettyName) => other.getClass.getSimpleName
      case other => other.prettyName
    }), "args" -> e.aggregateFunction.children.map(term(_)), "filter" -> e.filter.map(term(_)), "text" -> toPrettySQL(e).take(100))

  private def number(e: Expression): Int = { told += e; told.size - 1 }

  private def term(e: Expression, depth: Int = 0): ObjectNode = {
    val json = Json.obj("op" -> word(e), "type" -> e.dataType.catalogString, "number" -> number(e), "refs" -> e.references.toSeq.map(_.exprId.id))
    e match {
      case named: NamedExpression => Json.put(json, "id", named.exprId.id); json.put("name", named.name)
      case literal: Literal => Json.put(json, "value", Option(literal.value).map(_ => literal.toString.take(100)))
      case _ =>
    }
    if (!e.deterministic) json.put("unsure", true)
    if (depth < StarFragment.Deepest && e.children.nonEmpty) Json.put(json, "args", e.children.map(term(_, depth + 1)))
    json
  }

  private def word(e: Expression): String = e match {
    case _: Attribute => "column"
    case _: Alias => "alias"
    case _: Literal => "literal"
    case other => other.getClass.getSimpleName
  }

  private def node(plan: LogicalPlan): ObjectNode = plan match {
    case Project(list, below) => Json.obj("kind" -> "project", "outputs" -> list.map(term(_)), "child" -> node(below))
    // What is put out of a row, once for each grouping set.
    case Expand(projections, output, below) => Json.obj("kind" -> "expand", "child" -> node(below), "columns" -> output.indices.map(i =>
      Json.obj("id" -> output(i).exprId.id, "terms" -> projections.map(_(i)).distinct.map(term(_)))))
    case Filter(condition, below) =>
      val columns = below match { case table: LogicalRelation => AttributeSet(table.output); case _ => AttributeSet.empty }
      Json.obj("kind" -> "filter", "child" -> node(below), "conjuncts" -> splitConjunctivePredicates(condition).map { part =>
        val json = term(part, StarFragment.Deepest)
        if (columns.nonEmpty) Json.put(json, "test", StaticPredicates.test(part, columns))
        json
      })
    case Join(left, right, how, condition, _) => Json.obj("kind" -> "join", "type" -> how.toString, "condition" -> condition.map(term(_, StarFragment.Deepest)),
      "left" -> node(left), "right" -> node(right))
    case table: LogicalRelation if StarFragment.plain(table).exists(hasTrees) => tell(table)
    case other => Json.obj("kind" -> "other", "name" -> other.nodeName, "tables" -> below(other).map(tell))
  }

  /** Tables that what cannot be looked through lies above. An aggregate below is asked of by itself. */
  private def below(plan: LogicalPlan): Seq[LogicalRelation] = plan match {
    case _: Aggregate => Nil
    case table: LogicalRelation => Seq(table).filter(StarFragment.plain(_).exists(hasTrees))
    case other => other.children.flatMap(below)
  }

  private def tell(table: LogicalRelation): ObjectNode = {
    tables += table
    val number = tables.size - 1
    Json.obj("kind" -> "relation", "number" -> number, "label" -> table.catalogTable.fold(relation(number).location.rootPaths.headOption.fold("")(_.getName))(_.identifier.table),
      "files" -> files(number).digest, "hints" -> table.getTagValue(TableHint.OnRelation).getOrElse(Nil).map(_.toJson),
      "columns" -> table.output.map(c => Json.obj("id" -> c.exprId.id, "name" -> c.name, "type" -> c.dataType.catalogString)))
  }
}

object StarFragment {
  private val Deepest = 20
  private val Own = Set("sum", "avg", "count", "min", "max", "theta_sketch_agg", "bitmap_construct_agg")

  /** Exactly Spark's own Parquet reader; a bucketed table is one too. */
  def plain(table: LogicalRelation): Option[HadoopFsRelation] =
    Some(table.relation).collect { case files: HadoopFsRelation if !table.isStreaming && SparkVersion.isPlainParquet(files) => files }
}
