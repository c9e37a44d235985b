package org.apache.spark.sql.execution.rtfilter

import java.util.Arrays
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodeGenerator, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._

/** Which rows of a star-tree are read, as a condition on their number: bounds that row groups and pages are left out by, and the rest exactly. */
object TreeRows {
  private val MostBounds = 32

  def test(row: Attribute, ranges: Seq[(Long, Long)]): Seq[Expression] = if (ranges.isEmpty) Seq(Literal.FalseLiteral) else {
    val bounds = merged(ranges)
    bounds.map { case (from, until) => And(GreaterThanOrEqual(row, Literal(from)), LessThan(row, Literal(until))): Expression }.reduce(Or(_, _)) +:
      (if (bounds.size == ranges.size) Nil else Seq(InRows(row, RowRanges(ranges.map(_._1).toArray, ranges.map(_._2).toArray))))
  }

  /** Without the narrowest gaps. */
  private def merged(ranges: Seq[(Long, Long)]): Seq[(Long, Long)] = if (ranges.size <= MostBounds) ranges else {
    val widest = ranges.indices.tail.sortBy(i => ranges(i - 1)._2 - ranges(i)._1).take(MostBounds - 1).sorted
    (0 +: widest).zip(widest :+ ranges.size).map { case (first, until) => (ranges(first)._1, ranges(until - 1)._2) }
  }
}

/** Ranges of row numbers in order, from the first to before the second. Equal ones are equal, so that Spark finds plans that are. */
final case class RowRanges(from: Array[Long], until: Array[Long]) {
  def contains(row: Long): Boolean = {
    val found = Arrays.binarySearch(from, row)
    val at = if (found >= 0) found else -found - 2
    at >= 0 && row < until(at)
  }
  override def equals(other: Any): Boolean = other match { case RowRanges(f, u) => Arrays.equals(from, f) && Arrays.equals(until, u); case _ => false }
  override def hashCode: Int = 31 * Arrays.hashCode(from) + Arrays.hashCode(until)
  override def toString: String = s"${from.length} ranges#${hashCode.toHexString}"
}

/** Whether a row's number is in one of the ranges. An expression of its own: as a literal they would stand in every text of the plan. */
final case class InRows(child: Expression, ranges: RowRanges) extends UnaryExpression with Predicate {
  override def nullable: Boolean = false
  override def eval(input: InternalRow): Boolean = Option(child.eval(input)).exists(row => ranges.contains(row.asInstanceOf[Long]))
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val (row, kept) = (child.genCode(ctx), ctx.addReferenceObj("ranges", ranges))
    ev.copy(code = code"${row.code}\n${CodeGenerator.JAVA_BOOLEAN} ${ev.value} = !${row.isNull} && $kept.contains(${row.value});", isNull = codegen.FalseLiteral)
  }
  override def sql: String = s"(${child.sql} IN ($ranges))"
  override def toString: String = s"$child IN ($ranges)"
  override protected def withNewChildInternal(changed: Expression): InRows = copy(child = changed)
}
