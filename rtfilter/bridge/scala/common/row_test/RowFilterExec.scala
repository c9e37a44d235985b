package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, BindReferences, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{CodegenSupport, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.types.DataType

/** A filter's test as tasks get it, once per executor. Equal by content, so that equal stages stay equal. */
final class SharedTest(@transient private val local: KeyTest, val shared: BroadcastValue[KeyTest]) extends Serializable {
  val name: String = local.getClass.getName
  @transient lazy val summary: String = s"${local.getClass.getSimpleName}, ${local.memoryBytes} bytes"
  private val hash = local.hashCode
  override def equals(other: Any): Boolean = other match {
    case that: SharedTest => hash == that.hash && name == that.name && local == that.local
    case _ => false
  }
  override def hashCode: Int = hash
}

/**
 * Drops rows whose columns are no key of a filter. The test is a reference object, not text in the generated code, so that Spark's
 * code cache holds for the next query. A task that drops next to nothing among its first rows stops testing.
 *
 * Checked on 4.3 (CodegenSupport; FilterExec's way of leaving a row out with `continue`).
 */
case class RowFilterExec(columns: Seq[Attribute], test: SharedTest, keepNulls: Boolean, filter: String, child: SparkPlan)
    (val counts: Map[String, SQLMetric]) extends UnaryExecNode with CodegenSupport {

  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def withNewChildInternal(changed: SparkPlan): RowFilterExec = copy(child = changed)(counts)
  override protected def doCanonicalize(): SparkPlan = {
    val same = super.doCanonicalize().asInstanceOf[RowFilterExec]
    same.copy(filter = "")(counts)
  }
  override def simpleString(maxFields: Int): String = s"RtFilterRows $filter ${columns.mkString("[", ", ", "]")} (${test.summary})"
  override def nodeName: String = "RtFilterRows"

  /** The same counts for every copy that Spark makes of this node: the report looks at the first one. */
  override lazy val metrics: Map[String, SQLMetric] = counts
  override protected def otherCopyArgs: Seq[AnyRef] = Seq(counts)

  override def inputRDDs(): Seq[RDD[InternalRow]] = child.asInstanceOf[CodegenSupport].inputRDDs()
  override protected def doProduce(ctx: CodegenContext): String = child.asInstanceOf[CodegenSupport].produce(ctx, this)
  /** Inputs are evaluated in doConsume, where a row that is not tested needs none of them. */
  override def usedInputs: AttributeSet = AttributeSet.empty

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    val shared = ctx.addReferenceObj("sharedTest", test, classOf[SharedTest].getName)
    val keys = ctx.addMutableState(test.name, "rowKeys", v => s"$v = (${test.name}) $shared.shared().value();")
    val metrics = RowFilterExec.Counted.map(metricTerm(ctx, _)).mkString(", ")
    val sample = ctx.addMutableState(classOf[RowSample].getName, "rowSample", v => s"$v = new ${classOf[RowSample].getName}($metrics);")
    val needed = evaluateRequiredVariables(child.output, input, AttributeSet(columns))
    ctx.currentVars = input
    val values = columns.map(c => BindReferences.bindReference(c, child.output).genCode(ctx))
    val code = values.map(_.code.toString).mkString("\n")
    val anyNull = values.map(_.isNull.toString).mkString(" || ")
    val hash = ctx.freshName("key")
    val compute = if (columns.size == 1) s"$hash = ${KeyDomain.rowCode(columns.head.dataType, values.head.value.toString, "0L")};"
    else columns.zip(values).map { case (c, v) =>
      val value = KeyDomain.rowCode(c.dataType, v.value.toString, hash)
      if (KeyDomain.isBytes(c.dataType)) s"$hash = $value;" else s"$hash = ${KeyDomain.getClass.getName.stripSuffix("$")}.hash($value, $hash);"
    }.mkString("\n")
    s"""
       |do {
       |  $needed
       |  if ($sample.testing()) {
       |    $code
       |    if ($anyNull) {
       |      ${if (keepNulls) s"$sample.keep(true);" else "continue;"}
       |    } else {
       |      long $hash = 0L;
       |      $compute
       |      if (!$sample.keep($keys.contains($hash))) continue;
       |    }
       |  }
       |  ${consume(ctx, input)}
       |} while (false);
     """.stripMargin
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val ordinals = columns.map(c => child.output.indexWhere(_.exprId == c.exprId)).toArray
    val types = columns.map(_.dataType)
    val metrics = RowFilterExec.Counted.map(longMetric)
    val (shared, nulls) = (test.shared, keepNulls)
    child.execute().mapPartitionsInternal { rows =>
      val keys = shared.value
      val sample = new RowSample(metrics(0), metrics(1), metrics(2))
      val key = RowFilterExec.keyOf(types, ordinals)
      rows.filter(row => !sample.testing() || (if (ordinals.exists(row.isNullAt)) nulls && sample.keep(true) else sample.keep(keys.contains(key(row)))))
    }
  }
}

object RowFilterExec {
  private val Counted = Seq("rowsTested", "rowsDropped", "numOutputRows")

  def counts(sc: SparkContext): Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sc, "number of output rows"),
    "rowsTested" -> SQLMetrics.createMetric(sc, "rows tested"), "rowsDropped" -> SQLMetrics.createMetric(sc, "rows dropped"))

  private def keyOf(types: Seq[DataType], ordinals: Array[Int]): InternalRow => Long =
    if (types.size == 1) { val read = KeyDomain.rowReader(types.head, 0L); row => read(row, ordinals(0)) }
    else row => types.indices.foldLeft(0L) { (seed, i) =>
      val value = KeyDomain.rowReader(types(i), seed)(row, ordinals(i))
      if (KeyDomain.isBytes(types(i))) value else KeyDomain.hash(value, seed)
    }
}

/**
 * Whether a task goes on testing: it stops when fewer than one in 50 of the first `First` rows were dropped. Counts in fields of its own, which
 * cost less than metrics, and tells those at the task's end. Rows that are dropped for a null key count as neither tested nor dropped.
 */
final class RowSample(rowsTested: SQLMetric, rowsDropped: SQLMetric, rowsPassed: SQLMetric) {
  private var tested = 0L
  private var dropped = 0L
  private var untested = 0L
  private var active = true
  TaskContext.get().addTaskCompletionListener[Unit] { _ => rowsTested.add(tested); rowsDropped.add(dropped); rowsPassed.add(tested - dropped + untested) }

  /** Called for each row. */
  def testing(): Boolean = { if (!active) untested += 1; active }

  def keep(keep: Boolean): Boolean = {
    tested += 1
    if (!keep) dropped += 1
    if (tested == RowSample.First) active = dropped * 50 >= tested
    keep
  }
}

object RowSample {
  private final val First = 32768L
}
