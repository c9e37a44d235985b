package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.types._

/**
 * An aggregate with the rows of a star-tree in place of one of its tables, as the host's answer says: docs/protocol.md, "star". Checked on 4.3:
 * LogicalRelation (five arguments), HadoopFsRelation, that unions of theta sketches are the bytes of the sketch of all rows.
 */
final class TreePlan(session: SparkSession, fragment: StarFragment, answer: JsonNode, decision: String) {
  private val number = answer.get("relation").asInt
  private val table = fragment.table(number)
  private val dimensions = Json.items(answer, "dimensions").map(d => (column(d.get("name").asText), d.get("stored").asText, d.get("bit").asInt, d.get("apart").asBoolean))
  private val stored = Json.items(answer, "stored").map(s => AttributeReference(s.get("name").asText, typeOf(s.get("type").asText))())
  private val byName = stored.map(a => a.name -> a).toMap

  private def column(name: String): Attribute = table.output.find(_.name == name).get
  private def typeOf(text: String): DataType = CatalystSqlParser.parseDataType(text)

  lazy val plan: LogicalPlan = {
    val replaced = new Recipes(fragment, byName, Json.items(answer, "recipes")).functions
    val results = fragment.aggregate.aggregateExpressions.map(_.transformUp { case e: AggregateExpression => replaced(e.canonicalized) }.asInstanceOf[NamedExpression])
    fragment.aggregate.copy(aggregateExpressions = results, child = above(fragment.aggregate.child))
  }

  /** The way from the aggregate to the table, with the tree's columns carried along and without those that are not there any more. */
  private def above(plan: LogicalPlan): LogicalPlan = plan match {
    case Filter(condition, below) if below eq table => leaf(Some(condition))
    case same if same eq table => leaf(None)
    case Project(list, below) if below.exists(_ eq table) =>
      val child = above(below)
      Project(list.filter(_.references.subsetOf(child.outputSet)) ++ stored, child)
    case Expand(projections, output, below) if below.exists(_ eq table) =>
      val child = above(below)
      val there = output.indices.filter(i => projections.forall(_(i).references.subsetOf(child.outputSet)))
      Expand(projections.map(p => there.map(p) ++ stored), there.map(output) ++ stored, child)
    case other => other.mapChildren(child => if (child.exists(_ eq table)) above(child) else child)
  }

  private def leaf(condition: Option[Expression]): LogicalPlan = {
    val parts = Json.items(answer, "segments").map(segment(_, condition)) ++ raw(condition)
    if (parts.size == 1) parts.head else {
      // Each arm of a union puts out columns of its own; the union has the first one's.
      val others = parts.tail.map { part => Project(part.output.map(c => Alias(c, c.name)()), part) }
      Union(parts.head +: others)
    }
  }

  private val apart = dimensions.filter(_._4)
  private def outputs(of: Seq[(Attribute, Attribute)], measures: Seq[Attribute]): Seq[NamedExpression] =
    of.map { case (original, own) => Alias(own, original.name)(original.exprId, original.qualifier) } ++
      stored.zip(measures).map { case (out, own) => Alias(own, out.name)(out.exprId) }

  private def segment(json: JsonNode, condition: Option[Expression]): LogicalPlan = {
    val row = AttributeReference("row", LongType)()
    val stars = AttributeReference("stars", IntegerType)()
    val own = dimensions.map { case (original, name, bit, _) => (original, AttributeReference(name, original.dataType)(), bit) }
    val asRows = Json.items(json, "as_rows").map(_.asText).toSet
    val columns = stored.map(m => if (asRows(m.name)) "count" else m.name).zip(stored.map(_.dataType)).distinct.map { case (name, of) => name -> AttributeReference(name, of)() }.toMap
    val measures = stored.map(m => columns(if (asRows(m.name)) "count" else m.name))
    val all = Seq(row, stars) ++ own.map(_._2) ++ columns.values
    val files = TreeFiles(Json.items(json, "files").map(f => (f.get("path").asText, f.get("bytes").asLong, f.get("modified_ms").asLong)), answer.get("tree").asText, decision,
      dimensions.map { case (original, name, _, _) => name -> original.name }.toMap)
    val schema = StructType(all.map(a => StructField(a.name, a.dataType)))
    val relation = LogicalRelation(HadoopFsRelation(files, new StructType, schema, None, new ParquetFileFormat, Map.empty)(session), all, None, isStreaming = false, None)
    val renamed = own.map { case (original, mine, _) => original.exprId -> mine }.toMap
    val tested = condition.toSeq.flatMap(fragment.conjuncts).filter(_.references.nonEmpty).map { part =>
      val bits = own.filter(o => part.references.contains(o._1)).map(o => 1 << o._3).sum
      Or(Not(EqualTo(BitwiseAnd(stars, Literal(bits)), Literal(0))), part.transform { case a: Attribute => renamed.getOrElse(a.exprId, a) })
    }
    val always = condition.toSeq.flatMap(fragment.conjuncts).filter(_.references.isEmpty)
    val kept = (TreeRows.test(row, Json.items(json, "ranges").map(r => (r.get(0).asLong, r.get(1).asLong))) ++ tested ++ always).reduceOption(And(_, _))
    val filtered = kept.fold[LogicalPlan](relation)(Filter(_, relation))
    Project(outputs(own.filter(o => apart.exists(_._1 == o._1)).map(o => (o._1, o._2)), measures), filtered)
  }

  /** Files that the tree does not cover, aggregated as its rows are. */
  private def raw(condition: Option[Expression]): Option[LogicalPlan] = {
    val paths = Json.items(answer, "raw").map(_.asInt)
    Option.when(paths.nonEmpty) {
      val listed = fragment.files(number)
      val relation = fragment.relation(number)
      val location = UncoveredFiles(relation.location, paths.map(listed.paths(_)).toSet, paths.map(listed.sizes(_)).sum)
      val copy = table.copy(relation = relation.copy(location = location)(relation.sparkSession)).newInstance()
      val renamed = table.output.map(_.exprId).zip(copy.output).toMap
      def here(e: Expression): Expression = e.transform { case a: Attribute => renamed.getOrElse(a.exprId, a) }
      val filtered = condition.fold[LogicalPlan](copy)(c => Filter(here(c), copy))
      val keys = apart.map { case (original, _, _, _) => original -> here(original).asInstanceOf[Attribute] }
      val measures = Json.items(answer, "stored").map { s =>
        val of = Option(s.get("of")).filterNot(_.isNull).map(name => here(column(name.asText)))
        val function = s.get("function").asText match {
          case "count" => Count(of.getOrElse(Literal(1)))
          case "sum" => Sum(of.get)
          case "min" => Min(of.get)
          case "max" => Max(of.get)
          case "theta_sketch_agg" => new ThetaSketchAgg(of.get, s.get("size").asInt)
          case "bitmap_construct_agg" => BitmapConstructAgg(if (of.get.dataType == LongType) of.get else Cast(of.get, LongType, None))
        }
        Alias(function.toAggregateExpression(), s.get("name").asText)()
      }
      val partial = Aggregate(keys.map(_._2), keys.map(_._2) ++ measures, filtered)
      Project(outputs(keys, measures.map(_.toAttribute)), partial)
    }
  }
}

/** What stands in place of each aggregate function. */
final class Recipes(fragment: StarFragment, stored: Map[String, Attribute], recipes: Seq[JsonNode]) {
  val functions: Map[Expression, Expression] = fragment.functions.zip(recipes).map { case (e, recipe) => e.canonicalized -> of(e, recipe) }.toMap

  private def of(e: AggregateExpression, recipe: JsonNode): Expression = {
    val value = recipe.get("value")
    def sum(of: Expression): Expression = Sum(of).toAggregateExpression(false, e.filter)
    def exactly(of: Expression, to: DataType): Expression = if (of.dataType == to) of else Cast(of, to, None)
    (recipe.get("kind").asText, e.aggregateFunction) match {
      case ("keep", _) => e
      case ("count", _) =>
        val present = Json.items(recipe, "non_null").map(n => IsNotNull(fragment.expression(n.asInt)): Expression)
        Coalesce(Seq(Sum(form(value, LongType)).toAggregateExpression(false, (e.filter.toSeq ++ present).reduceOption(And(_, _))), Literal(0L)))
      case ("sum", own: Sum) =>
        if (recipe.path("exact").asBoolean(false)) Cast(sum(form(value, DecimalType(38, 0), whole = true)), LongType, None)
        else exactly(own.copy(child = form(value, e.dataType)).toAggregateExpression(false, e.filter), e.dataType)
      case ("min", own: Min) => own.copy(child = form(value, e.dataType)).toAggregateExpression(false, e.filter)
      case ("max", own: Max) => own.copy(child = form(value, e.dataType)).toAggregateExpression(false, e.filter)
      // The stored sketches as one: what all rows give.
      case ("sketch", own: ThetaSketchAgg) => new ThetaUnionAgg(form(value, e.dataType), own.right).toAggregateExpression(false, e.filter)
      case ("sketch", _: BitmapConstructAgg) => BitmapOrAgg(form(value, e.dataType)).toAggregateExpression(false, e.filter)
      case ("average", _) =>
        val (total, count) = (stored(value.get("stored").asText), sum(stored(recipe.get("count").get("stored").asText)))
        if (recipe.get("as").asText == "double") {
          val scale = recipe.path("scale").asInt(0)
          // Unscaled, as Spark averages short decimals; as decimals nothing overflows where joins repeat rows.
          val whole = total.dataType match {
            case _: DecimalType => Multiply(sum(total), Literal(Decimal(BigDecimal(10).pow(scale))))
            case LongType => sum(Cast(total, DecimalType(20, 0), None))
            case _ => sum(total)
          }
          val average = Divide(exactly(whole, DoubleType), Cast(count, DoubleType, None), EvalMode.LEGACY)
          if (e.dataType == DoubleType) average else Cast(Divide(average, Literal(math.pow(10.0, scale)), EvalMode.LEGACY), e.dataType, None)
        } else {
          val to = CatalystSqlParser.parseDataType(recipe.get("sum_type").asText)
          val divided = DecimalDivideWithOverflowCheck(exactly(sum(total), to), Cast(count, DecimalType.LongDecimal, None), e.dataType.asInstanceOf[DecimalType], null, nullOnOverflow = true)
          If(EqualTo(Coalesce(Seq(count, Literal(0L))), Literal(0L)), Literal(null, e.dataType), divided)
        }
      case (kind, function) => throw new IllegalStateException(s"The planner has no recipe $kind for ${function.prettyName}.")
    }
  }

  /** What is summed up, in the type of the sum. */
  private def form(json: JsonNode, to: DataType, whole: Boolean = false): Expression = as(natural(json, to, whole), to)

  private def as(e: Expression, to: DataType): Expression = if (e.dataType == to) e else Cast(e, to, None)

  /**
   * In a type of its own, as Spark gives products and sums of decimals more digits than their parts have. Whole numbers wrap around; as decimals
   * (`whole`) they don't.
   */
  private def natural(json: JsonNode, to: DataType, whole: Boolean): Expression = {
    def leaf(e: Expression): Expression = if (whole) as(e, DecimalType(20, 0)) else if (to == LongType) as(e, LongType) else e
    def told(number: JsonNode): Expression = leaf(fragment.expression(number.asInt))
    def times(e: Expression, count: Expression): Expression =
      if (to == LongType) Multiply(e, count, EvalMode.LEGACY) else Multiply(e, Cast(count, DecimalType(20, 0), None))
    def both(name: String): Option[(Expression, Expression)] = Option(json.get(name)).map(sides => (natural(sides.get(0), to, whole), natural(sides.get(1), to, whole)))
    if (json == null || json.isNull) Literal(null, to)
    else if (json.has("stored")) leaf(stored(json.get("stored").asText))
    else if (json.has("constant")) told(json.get("constant"))
    else if (json.has("times_count")) times(told(json.get("times_count")), stored(json.get("count").asText))
    else if (json.has("product")) {
      val (factor, value) = (told(json.get("product").get(0)), natural(json.get("product").get(1), to, whole))
      if (to == LongType) Multiply(factor, value, EvalMode.LEGACY) else Multiply(factor, value)
    } else both("augend").map { case (a, b) => if (to == LongType) Add(a, b, EvalMode.LEGACY) else Add(a, b) }
      .orElse(both("minuend").map { case (a, b) => if (to == LongType) Subtract(a, b, EvalMode.LEGACY) else Subtract(a, b) })
      .getOrElse(CaseWhen(Json.items(json, "branches").map(b => (fragment.expression(b.get(0).asInt), form(b.get(1), to, whole))), Some(form(json.get("otherwise"), to, whole))))
  }
}
