package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, StaticInvoke}
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.types._

/** An expression as the planner sees it: docs/protocol.md, "plan". */
object SnapshotExpression {
  def apply(e: Expression): ObjectNode = e match {
    case a: Attribute => made(e, "kind" -> "attr", "id" -> a.exprId.id, "name" -> a.name)
    case a: Alias => made(e, "kind" -> "alias", "id" -> a.exprId.id, "name" -> a.name, "child" -> SnapshotExpression(a.child))
    case c: Cast => made(e, "kind" -> "cast", "child" -> SnapshotExpression(c.child))
    // Checked on 4.3: join keys of type float and double are wrapped so by NormalizeFloatingNumbers.
    case KnownFloatingPointNormalized(NormalizeNaNAndZero(child)) => made(e, "kind" -> "normalize", "child" -> SnapshotExpression(child))
    // Checked on 4.3: ExtractEquiJoinKeys makes of `a <=> b` the keys coalesce(a, default) and isnull(a).
    case Coalesce(Seq(child, literal: Literal)) if literal.value != null => made(e, "kind" -> "coalesce_default", "child" -> SnapshotExpression(child))
    case Shifted(child, sign, by) => made(e, "kind" -> "shift", "sign" -> sign, "by" -> by, "child" -> SnapshotExpression(child))
    case other => flagged(e, Json.obj("kind" -> "other", "text" -> other.toString.take(200), "type" -> other.dataType.catalogString,
      "refs" -> other.references.toSeq.map(_.exprId.id)))
  }

  /** What is shown with what is in it: the step that it adds is its own. */
  private def made(e: Expression, fields: (String, Any)*): ObjectNode = {
    val json = Json.obj(fields :+ ("type" -> e.dataType.catalogString): _*)
    if (RowOrder.in(e).isDefined) json.put("deterministic", false)
    if (!isSilent(e)) Json.put(json, "steps", Seq(step(e)))
    json
  }

  /** A condition: what it reads and may do. Its text is left out: it would take longer than all the rest, and nobody is shown it. */
  def condition(e: Expression): ObjectNode =
    flagged(e, Json.obj("kind" -> "other", "text" -> "", "type" -> "boolean", "refs" -> e.references.toSeq.map(_.exprId.id)))

  /** With what it may do that a filter below must heed. */
  def flagged(e: Expression, json: ObjectNode): ObjectNode = {
    if (RowOrder.in(e).isDefined) json.put("deterministic", false)
    work(Seq(e)).foreach { case (name, value) => Json.put(json, name, value) }
    json
  }

  /** The operations that evaluating expressions takes, and whole the columns moved by numbers in them. */
  def work(evaluated: Seq[Expression]): Seq[(String, Any)] = {
    def parts(e: Expression): Seq[Expression] = if (isMoved(e) || isSilent(e) && e.children.isEmpty) Seq(e) else e +: e.children.flatMap(parts)
    val (moved, rest) = evaluated.flatMap(parts).partition(isMoved)
    val steps = rest.filterNot(isSilent).map(step).distinct
    Option.when(steps.nonEmpty)("steps" -> steps).toSeq ++ Option.when(moved.nonEmpty)("moved" -> moved.distinct.map(SnapshotExpression(_)))
  }

  /** Windows and their frames have no type, and fail when they are asked for it. Checked on 4.3. */
  private def typeOf(e: Expression): DataType = e match {
    case _: WindowSpecDefinition | _: WindowFrame => NullType
    case other => other.dataType
  }

  private def isSilent(e: Expression): Boolean = e.isInstanceOf[Attribute] || e.isInstanceOf[Literal] || e.isInstanceOf[Alias]

  private def isMoved(e: Expression): Boolean = {
    def isKey(e: Expression): Boolean = e match { case c: Cast => isKey(c.child); case Shifted(child, _, _) => isKey(child); case other => other.isInstanceOf[Attribute] }
    e match { case Shifted(child, _, _) => isKey(child); case _ => false }
  }

  /** Name, mode, type and arguments; the types of complex values without what is in them. Checked on 4.3: the names of modes. */
  def step(e: Expression): Seq[Any] = {
    val name = e match {
      case call: StaticInvoke => s"StaticInvoke:${call.staticObject.getSimpleName}.${call.functionName}"
      case call: Invoke => s"Invoke:${call.targetObject.dataType.typeName}.${call.functionName}"
      case other => other.getClass.getSimpleName
    }
    val mode = e.productElementNames.zip(e.productIterator).collectFirst {
      case ("evalMode", mode) => mode.toString
      case (_, context: NumericEvalContext) => context.evalMode.toString
      case ("failOnError" | "ansiEnabled", fails: Boolean) => if (fails) "ANSI" else "LEGACY"
      case ("nullOnOverflow", isNull: Boolean) => if (isNull) "LEGACY" else "ANSI"
    }
    def short(of: DataType) = of match { case _: ArrayType | _: MapType | _: StructType => of.typeName; case other => other.catalogString }
    Seq(name, mode.getOrElse(""), short(typeOf(e)), e.children.map {
      case Literal(value, dataType) => s"${short(dataType)}=${String.valueOf(value).take(100)}"
      case UnscaledValue(decimal) => s"unscaled ${short(decimal.dataType)}"
      case other => short(typeOf(other))
    })
  }

  /** `sign · child + by` in whole numbers or days, whatever becomes of an overflow. Checked on 4.3: one class for all ANSI modes. */
  private object Shifted {
    def unapply(e: Expression): Option[(Expression, Int, Long)] = (typeOf(e), e) match {
      case (_: IntegralType, Add(child, Whole(c), _)) => Some((child, 1, c))
      case (_: IntegralType, Add(Whole(c), child, _)) => Some((child, 1, c))
      case (_: IntegralType, Subtract(child, Whole(c), _)) if c != Long.MinValue => Some((child, 1, -c))
      case (_: IntegralType, Subtract(Whole(c), child, _)) => Some((child, -1, c))
      case (_: IntegralType, UnaryMinus(child, _)) => Some((child, -1, 0L))
      case (DateType, DateAdd(child, Whole(c))) => Some((child, 1, c))
      case (DateType, DateSub(child, Whole(c))) => Some((child, 1, -c))
      case _ => None
    }
  }

  private object Whole {
    def unapply(e: Expression): Option[Long] = Option(e).collect { case Literal(number: java.lang.Number, _: IntegralType) => number.longValue }
  }

  /** What sort of condition each conjunct is, for a guess at how much it lets through. */
  def conjuncts(condition: Expression): Seq[String] = condition match {
    case And(left, right) => conjuncts(left) ++ conjuncts(right)
    case EqualTo(_, _: Literal) | EqualTo(_: Literal, _) | EqualNullSafe(_, _: Literal) => Seq("eq")
    case _: In | _: InSet => Seq("in")
    case _: LessThan | _: LessThanOrEqual | _: GreaterThan | _: GreaterThanOrEqual => Seq("range")
    case _: StartsWith => Seq("prefix")
    case _: IsNull => Seq("null")
    case _: IsNotNull => Seq("not_null")
    case _ => Seq("other")
  }

  /**
   * What an aggregate puts out. Checked on 4.3: DecimalAggregates makes of the average of a short decimal that of its unscaled value,
   * divides it, and casts it to a decimal that has room for every average; such a cast never fails.
   */
  def results(aggregate: BaseAggregateExec): Seq[ObjectNode] = {
    val averages = aggregate.aggregateExpressions.flatMap(e => e.aggregateFunction match {
      case Average(_: UnscaledValue, _) => Some(e.resultAttribute.exprId)
      case _ => None
    }).toSet
    aggregate.resultExpressions.map(result => SnapshotExpression(result.transform {
      case cast @ Cast(Divide(average: Attribute, _: Literal, _), _: DecimalType, _, _) if averages(average.exprId) => cast.copy(evalMode = EvalMode.LEGACY)
    }))
  }
}
