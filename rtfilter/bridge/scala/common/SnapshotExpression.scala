package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.types._

/** An expression as the planner sees it: docs/protocol.md, "plan". */
object SnapshotExpression {
  def apply(e: Expression): ObjectNode = flagged(e, e match {
    case a: Attribute => Json.obj("kind" -> "attr", "id" -> a.exprId.id, "name" -> a.name, "type" -> a.dataType.catalogString)
    case a: Alias => Json.obj("kind" -> "alias", "id" -> a.exprId.id, "name" -> a.name, "type" -> a.dataType.catalogString,
      "child" -> SnapshotExpression(a.child))
    case c: Cast => Json.obj("kind" -> "cast", "type" -> c.dataType.catalogString, "child" -> SnapshotExpression(c.child))
    // Checked on 4.3: join keys of type float and double are wrapped so by NormalizeFloatingNumbers.
    case KnownFloatingPointNormalized(NormalizeNaNAndZero(child)) =>
      Json.obj("kind" -> "normalize", "type" -> e.dataType.catalogString, "child" -> SnapshotExpression(child))
    // Checked on 4.3: ExtractEquiJoinKeys makes of `a <=> b` the keys coalesce(a, default) and isnull(a).
    case Coalesce(Seq(child, literal: Literal)) if literal.value != null =>
      Json.obj("kind" -> "coalesce_default", "type" -> e.dataType.catalogString, "child" -> SnapshotExpression(child))
    case Shifted(child, sign, by) =>
      Json.obj("kind" -> "shift", "type" -> e.dataType.catalogString, "sign" -> sign, "by" -> by, "child" -> SnapshotExpression(child))
    case other => Json.obj("kind" -> "other", "text" -> other.toString.take(200), "type" -> other.dataType.catalogString,
      "refs" -> other.references.toSeq.map(_.exprId.id))
  })

  /** A condition: what it reads and may do. Its text is left out: it would take longer than all the rest, and nobody is shown it. */
  def condition(e: Expression): ObjectNode =
    flagged(e, Json.obj("kind" -> "other", "text" -> "", "type" -> "boolean", "refs" -> e.references.toSeq.map(_.exprId.id)))

  /** With what it may do that a filter below must heed. */
  def flagged(e: Expression, json: ObjectNode): ObjectNode = {
    if (RowPlace.in(e).isDefined) json.put("deterministic", false)
    if (mayRaise(e)) json.put("may_raise", true)
    json
  }

  /** `sign · child + by` in whole numbers or days, whatever becomes of an overflow. Checked on 4.3: one class for all ANSI modes. */
  private object Shifted {
    def unapply(e: Expression): Option[(Expression, Int, Long)] = (e.dataType, e) match {
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

  /** Whether evaluating it may fail on some input. What is not known to be safe counts as failing. */
  def mayRaise(e: Expression): Boolean = !safe(e) || e.children.exists(mayRaise)

  /** The same of what is no more than a key moved by a number: the planner keeps the rows on which that fails. */
  def mayRaiseUnmoved(e: Expression): Boolean = e match {
    case Shifted(child, _, _) => mayRaiseUnmoved(child)
    case cast: Cast if safe(cast) => mayRaiseUnmoved(cast.child)
    case _ => mayRaise(e)
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

  /** ANSI arithmetic fails on overflow, which doubles do not know, and on division by zero, which a literal can rule out. */
  private def neverFails(e: BinaryArithmetic): Boolean = (e.left.dataType, e) match {
    case (_: DecimalType, _) => decimalFits(e)
    case (DoubleType | FloatType, _: Add | _: Subtract | _: Multiply) => true
    case (DoubleType | FloatType, _: Divide | _: Remainder | _: Pmod) => divisor(e).exists(_ != 0.0)
    case (_: IntegralType, _: Remainder | _: Pmod) => divisor(e).exists(_ != 0.0)
    case (_: IntegralType, _: IntegralDivide) => divisor(e).exists(d => d != 0.0 && d != -1.0)
    case _ => false
  }

  /**
   * Decimals of p and q digits, r and s of them after the point, have a result of as many digits as it needs unless these are more
   * than 38; the formulas are those of Spark's documentation ("Decimal operations" of ANSI compliance).
   */
  private def decimalFits(e: BinaryArithmetic): Boolean = (e.left.dataType, e.right.dataType) match {
    case (DecimalType.Fixed(p, r), DecimalType.Fixed(q, s)) =>
      val digits = e match {
        case _: Add | _: Subtract => math.max(r, s) + math.max(p - r, q - s) + 1
        case _: Multiply => p + q + 1
        case _: Divide if divisor(e).exists(_ != 0.0) => p - r + s + math.max(6, r + q + 1)
        case _ => Int.MaxValue
      }
      digits <= DecimalType.MAX_PRECISION
    case _ => false
  }

  /** Whether an aggregate is the same in whatever order its rows come: shuffled rows come in another one when a stage runs again. */
  def inAnyOrder(e: AggregateExpression): Boolean = e.aggregateFunction match {
    case _: Count | _: Min | _: Max | _: HyperLogLogPlusPlus => true
    // try_sum, and sums of long decimals, are null when a sum on the way is too large.
    case sum: Sum => exact(sum.child) || sum.child.dataType == LongType && sum.evalContext.evalMode != EvalMode.TRY
    // A double, which holds whole numbers of 15 digits, is what unscaled values are summed in.
    case Average(UnscaledValue(decimal), _) => digits(decimal) <= 7
    case average: Average => exact(average.child)
    case _ => false
  }

  private def exact(summed: Expression): Boolean = sumFits(summed) && summed.dataType != FloatType && summed.dataType != DoubleType

  /**
   * A sum has 10 digits more than its decimals, and 64 bits for whole numbers: 4 billion of the smaller ones fit. Checked on 4.3:
   * DecimalAggregates sums decimals of up to 8 digits by their unscaled values.
   */
  private def sumFits(summed: Expression): Boolean = (summed, summed.dataType) match {
    case (_, DecimalType.Fixed(precision, _)) => precision <= DecimalType.MAX_PRECISION - 10
    case (UnscaledValue(decimal), _) => digits(decimal) <= 8
    case (_, LongType) => false
    case (_, _: NumericType) => true
    case _ => false
  }

  private def digits(decimal: Expression): Int = decimal.dataType match {
    case DecimalType.Fixed(precision, _) => precision
    case _ => Int.MaxValue
  }

  private def divisor(e: BinaryArithmetic): Option[Double] = e.right match {
    case Literal(number: java.lang.Number, _) => Some(number.doubleValue)
    case Literal(number: Decimal, _) => Some(number.toDouble)
    case _ => None
  }

  private def safe(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal | _: Alias | _: BinaryComparison | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: IsNaN => true
    case _: In | _: InSet | _: Coalesce | _: If | _: CaseWhen | _: AtLeastNNonNulls | _: DynamicPruning => true
    case _: KnownFloatingPointNormalized | _: NormalizeNaNAndZero | _: KnownNotNull | _: KnownNullable | _: RuntimeFilter => true
    case _: GetStructField | _: GetArrayStructFields | _: CreateNamedStruct | _: Murmur3Hash | _: XxHash64 | _: BloomFilterMightContain => true
    case _: StartsWith | _: EndsWith | _: Contains | _: Like | _: Substring | _: Upper | _: Lower | _: StringTrim | _: Length | _: Concat => true
    case _: InputFileName => true
    case _: AggregateExpression | _: Count | _: Min | _: Max | _: First | _: Last | _: Collect[_] | _: CentralMomentAgg => true
    case sum: Sum => sum.evalContext.evalMode != EvalMode.ANSI || sumFits(sum.child)
    case average: Average => average.evalMode != EvalMode.ANSI || average.child.dataType == LongType || sumFits(average.child)
    // Checked on 4.3: only DecimalAggregates makes a decimal of whole numbers, sums for which it has digits enough.
    case _: UnscaledValue | _: MakeDecimal | _: Year | _: Month | _: DayOfMonth | _: Quarter => true
    case _: WindowExpression | _: WindowSpecDefinition | _: WindowFrame | _: SpecialFrameBoundary | _: SortOrder => true
    case _: RankLike | _: RowNumberLike | _: FrameLessOffsetWindowFunction => true
    case item: GetArrayItem => !item.failOnError
    case decimal: CheckOverflow => decimal.nullOnOverflow
    case cast: Cast => cast.evalMode != EvalMode.ANSI || Cast.canUpCast(cast.child.dataType, cast.dataType)
    case arithmetic: BinaryArithmetic => arithmetic.evalMode != EvalMode.ANSI || neverFails(arithmetic)
    case minus: UnaryMinus => !minus.failOnError || minus.dataType.isInstanceOf[FractionalType]
    case abs: Abs => !abs.failOnError || abs.dataType.isInstanceOf[FractionalType]
    case _ => false
  }
}
