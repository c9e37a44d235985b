package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.window.{WindowExecBase, WindowGroupLimitExec}

/** What of an operator goes by the place of its rows (their partition, their number in it), or by the order in which they come: docs/protocol.md, "plan". */
object RowOrder {
  /** The first expression of an operator that may give a row another value at another place. All that the operator evaluates is looked at. */
  def byPlace(plan: SparkPlan): Option[String] = plan.expressions.iterator.flatMap(in).nextOption().map(_.toString.take(200))

  /** Whether an operator asks for the file that its task reads just then. */
  def asksForFile(plan: SparkPlan): Boolean = plan.expressions.exists(e => !e.deterministic && e.exists(_.isInstanceOf[InputFileName]))

  /**
   * The part of an expression that goes by place. Spark's `deterministic` says less: it is false too for the name of a row's file, which is steady,
   * for a subquery with such a part, which is computed once, and for aggregates that go by the order of rows.
   */
  def in(e: Expression): Option[Expression] =
    if (e.deterministic || e.isInstanceOf[InputFileName]) None
    else e.children.iterator.flatMap(in).nextOption().orElse(e match {
      case function: PythonFuncExpression => Option.unless(function.udfDeterministic)(e)
      case function: ScalaUDF => Option.unless(function.udfDeterministic)(e)
      case _: UserDefinedExpression => Some(e)
      case _: AggregateFunction | _: AggregateExpression | _: PlanExpression[_] => None
      case own => Option.when(own.isInstanceOf[Nondeterministic] || own.children.forall(_.deterministic))(own)
    })

  /** The function of an aggregate or a window that goes by the order of rows. That sums of fractions are rounded in some order does not count. */
  def byOrder(plan: SparkPlan): Option[String] = plan match {
    case aggregate: BaseAggregateExec => aggregate.aggregateExpressions.find(!inAnyOrder(_)).map(named)
    case window: WindowExecBase => window.windowExpression.iterator.flatMap(_.collect { case e: WindowExpression if !inAnyOrder(e) => named(e.windowFunction) }).nextOption()
    case limit: WindowGroupLimitExec => Option.unless(hasEqualPeers(limit.rankLikeFunction))(named(limit.rankLikeFunction))
    case _ => None
  }

  private def named(e: Expression): String = e match {
    case aggregate: AggregateExpression => named(aggregate.aggregateFunction)
    case other => s"${other.prettyName}()"
  }

  private def inAnyOrder(e: AggregateExpression): Boolean = e.aggregateFunction match {
    case _: Count | _: Min | _: Max | _: HyperLogLogPlusPlus | _: Sum | _: Average | _: CentralMomentAgg | _: Covariance | _: PearsonCorrelation | _: BitAggregate | _: Percentile => true
    case _ => false
  }

  private def hasEqualPeers(function: Expression): Boolean = function.isInstanceOf[RankLike] || function.isInstanceOf[CumeDist]

  /** Rows that are equal by the window's order stand in any order: what counts rows goes by that, what takes all equal ones together does not. */
  private def inAnyOrder(e: WindowExpression): Boolean = (e.windowFunction, e.windowSpec.frameSpecification) match {
    case (function, _) if hasEqualPeers(function) => true
    case (aggregate: AggregateExpression, SpecifiedWindowFrame(RangeFrame, _, _) | SpecifiedWindowFrame(_, UnboundedPreceding, UnboundedFollowing)) => inAnyOrder(aggregate)
    case _ => false
  }
}
