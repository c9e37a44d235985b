package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.types._

/** An expression as the planner sees it: docs/protocol.md, "plan". */
object SnapshotExpression {
  def apply(e: Expression): ObjectNode = {
    val json = e match {
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
    }
    if (!e.deterministic) json.put("deterministic", false)
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
    def unapply(e: Expression): Option[Long] = e match {
      case Literal(number: java.lang.Number, _: IntegralType) => Some(number.longValue)
      case _ => None
    }
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

  /** ANSI arithmetic fails on overflow, which doubles do not know, and on division by zero, which a literal can rule out. */
  private def neverFails(e: BinaryArithmetic): Boolean = (e.dataType, e) match {
    case (DoubleType | FloatType, _: Add | _: Subtract | _: Multiply) => true
    case (DoubleType | FloatType, _: Divide | _: Remainder | _: Pmod) => divisor(e).exists(_ != 0.0)
    case (_: IntegralType, _: Remainder | _: Pmod) => divisor(e).exists(_ != 0.0)
    case (_: IntegralType, _: IntegralDivide) => divisor(e).exists(d => d != 0.0 && d != -1.0)
    case _ => false
  }

  /** Whether an aggregate is the same in whatever order its rows come: shuffled rows come in another one when a stage runs again. */
  def inAnyOrder(e: AggregateExpression): Boolean = e.aggregateFunction match {
    case _: Count | _: Min | _: Max | _: HyperLogLogPlusPlus => true
    // try_sum, and sums of long decimals, are null when a sum on the way is too large.
    case sum: Sum => exact(sum.child.dataType) || sum.child.dataType == LongType && sum.evalContext.evalMode != EvalMode.TRY
    case average: Average => exact(average.child.dataType)
    case _ => false
  }

  private def exact(summed: DataType): Boolean = sumFits(summed) && summed != FloatType && summed != DoubleType

  /** A sum has 10 digits more than its decimals, and 64 bits for whole numbers: 4 billion of the smaller ones fit. */
  private def sumFits(summed: DataType): Boolean = summed match {
    case DecimalType.Fixed(precision, _) => precision <= DecimalType.MAX_PRECISION - 10
    case LongType => false
    case _: NumericType => true
    case _ => false
  }

  private def divisor(e: BinaryArithmetic): Option[Double] = e.right match {
    case Literal(number: java.lang.Number, _) => Some(number.doubleValue)
    case _ => None
  }

  private def safe(e: Expression): Boolean = e match {
    case _: Attribute | _: Literal | _: Alias | _: BinaryComparison | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: IsNaN => true
    case _: In | _: InSet | _: Coalesce | _: If | _: CaseWhen | _: AtLeastNNonNulls | _: DynamicPruning => true
    case _: KnownFloatingPointNormalized | _: NormalizeNaNAndZero | _: KnownNotNull | _: KnownNullable | _: RuntimeFilter => true
    case _: GetStructField | _: GetArrayStructFields | _: CreateNamedStruct | _: Murmur3Hash | _: XxHash64 | _: BloomFilterMightContain => true
    case _: StartsWith | _: EndsWith | _: Contains | _: Like | _: Substring | _: Upper | _: Lower | _: StringTrim | _: Length | _: Concat => true
    case _: Year | _: Month | _: DayOfMonth | _: Quarter => true
    case _: AggregateExpression | _: Count | _: Min | _: Max | _: First | _: Last | _: Collect[_] | _: CentralMomentAgg => true
    case sum: Sum => sum.evalContext.evalMode != EvalMode.ANSI || sumFits(sum.child.dataType)
    case average: Average => average.evalMode != EvalMode.ANSI || average.child.dataType == LongType || sumFits(average.child.dataType)
    case _: WindowExpression | _: WindowSpecDefinition | _: WindowFrame | _: SpecialFrameBoundary | _: SortOrder => true
    case _: RankLike | _: RowNumberLike | _: FrameLessOffsetWindowFunction => true
    case item: GetArrayItem => !item.failOnError
    case decimal: CheckOverflow => decimal.nullOnOverflow
    case cast: Cast => cast.evalMode != EvalMode.ANSI || Cast.canUpCast(cast.child.dataType, cast.dataType)
    case arithmetic: BinaryArithmetic => arithmetic.evalMode != EvalMode.ANSI || neverFails(arithmetic)
    case minus: UnaryMinus => !minus.failOnError
    case abs: Abs => !abs.failOnError
    case _ => false
  }
}
