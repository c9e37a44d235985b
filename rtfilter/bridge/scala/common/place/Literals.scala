package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.Base64
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import scala.util.Try

/** What a node asks of its rows, literals included, as a digest: docs/protocol.md, "plan". Checked on 4.3 (classes of nodes and Expression.sql). */
object Literals extends PredicateHelper {
  /** Some expressions of other people's have no SQL and raise: what they say can't be told. */
  def addTo(json: ObjectNode, plan: SparkPlan): Unit = Try(said(plan)).toOption.flatten match {
    case None => json.putNull("literals")
    case Some(texts) if texts.nonEmpty => json.put("literals", digest(texts))
    case _ =>
  }

  /** None where it can't be told: rows that are in no file, the result of a subquery, what a user's function does. */
  private def said(plan: SparkPlan): Option[Seq[String]] = plan match {
    case _: QueryStageExec | _: ReusedExchangeExec | _: Exchange | _: Gate | _: RowFilterExec => Some(Nil)
    case scan: FileSourceScanExec => texts(conjuncts(scan.partitionFilters ++ scan.dataFilters))
    case _: LeafExecNode => None
    case filter: FilterExec => texts(conjuncts(Seq(filter.condition)))
    // Checked on 4.3: their numbers are no expressions.
    case _: LimitExec | _: TakeOrderedAndProjectExec | _: SampleExec =>
      texts(plan.expressions).map(_ ++ plan.productIterator.collect { case number: Number => number.toString })
    case _: ObjectConsumerExec | _: ObjectProducerExec => None
    case _ => texts(plan.expressions.filter(_.exists(e => e.isInstanceOf[Literal] || isOpaque(e))))
  }

  /** Without what the joins of the query say of a scan, in Spark's words and in ours. */
  private def conjuncts(conditions: Seq[Expression]): Seq[Expression] =
    conditions.flatMap(splitConjunctivePredicates).filterNot(c => isOfSparks(c) || c.exists(_.isInstanceOf[RuntimeFilter]))

  /** Whether Spark itself has a join drop rows here, beside the conditions that are told. */
  def isThinned(plan: SparkPlan): Boolean = plan match {
    case scan: FileSourceScanExec => scan.partitionFilters.exists(isOfSparks) || scan.dataFilters.exists(isOfSparks)
    case filter: FilterExec => isOfSparks(filter.condition)
    case _ => false
  }

  def isOfSparks(condition: Expression): Boolean = condition.exists {
    case _: DynamicPruning | _: BloomFilterMightContain => true
    case _ => false
  }

  /** As SQL: whole, where toString leaves out arguments past spark.sql.debug.maxToStringFields; without expression ids and aliases of tables. */
  private def texts(expressions: Seq[Expression]): Option[Seq[String]] =
    Option.unless(expressions.exists(_.exists(isOpaque)))(expressions.map(_.transform {
      case column: AttributeReference => column.withQualifier(Nil)
    }.sql))

  private def isOpaque(e: Expression): Boolean = e.isInstanceOf[PlanExpression[_]] || e.isInstanceOf[UserDefinedExpression]

  private def digest(texts: Seq[String]): String =
    Base64.getEncoder.encodeToString(MessageDigest.getInstance("SHA-256").digest(texts.distinct.sorted.mkString("\n").getBytes(UTF_8)).take(15))
}
