package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, BindReferences, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{CodegenSupport, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.types.DataType

/** A filter's test as tasks get it, once per executor. Equal by content, so that equal stages stay equal. */
final class SharedTest(@transient private val local: KeyTest, val shared: Broadcast[KeyTest]) extends Serializable {
  val name: String = local.getClass.getName
  @transient lazy val summary: String = s"${local.getClass.getSimpleName}, ${local.memoryBytes} bytes"
  private val hash = local.hashCode
  override def equals(other: Any): Boolean = other match {
    case that: SharedTest => hash == that.hash && name == that.name && local == that.local
    case _ => false
  }
  override def hashCode: Int = hash
}

object SharedTest {
  def apply(sc: SparkContext, test: KeyTest): SharedTest = new SharedTest(test, sc.broadcast(test))
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
    val sample = ctx.addMutableState(classOf[RowSample].getName, "rowSample", v => s"$v = new ${classOf[RowSample].getName}();")
    val (tested, dropped, passed) = (metricTerm(ctx, "rowsTested"), metricTerm(ctx, "rowsDropped"), metricTerm(ctx, "numOutputRows"))
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
       |    boolean ${hash}_keep = $keepNulls;
       |    if (!($anyNull)) {
       |      long $hash = 0L;
       |      $compute
       |      ${hash}_keep = $keys.contains($hash);
       |    }
       |    $tested.add(1);
       |    if (!$sample.keep(${hash}_keep)) { $dropped.add(1); continue; }
       |  }
       |  $passed.add(1);
       |  ${consume(ctx, input)}
       |} while (false);
     """.stripMargin
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val ordinals = columns.map(c => child.output.indexWhere(_.exprId == c.exprId)).toArray
    val types = columns.map(_.dataType)
    val (tested, dropped, passed) = (longMetric("rowsTested"), longMetric("rowsDropped"), longMetric("numOutputRows"))
    val (shared, nulls) = (test.shared, keepNulls)
    child.execute().mapPartitionsInternal { rows =>
      val keys = shared.value
      val sample = new RowSample
      val key = RowFilterExec.keyOf(types, ordinals)
      rows.filter { row =>
        val keep = !sample.testing() || {
          tested.add(1)
          sample.keep(if (ordinals.exists(row.isNullAt)) nulls else keys.contains(key(row)))
        }
        if (keep) passed.add(1) else dropped.add(1)
        keep
      }
    }
  }
}

object RowFilterExec {
  def counts(sc: SparkContext): Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sc, "number of output rows"),
    "rowsTested" -> SQLMetrics.createMetric(sc, "rows tested"),
    "rowsDropped" -> SQLMetrics.createMetric(sc, "rows dropped"))

  private def keyOf(types: Seq[DataType], ordinals: Array[Int]): InternalRow => Long =
    if (types.size == 1) { val read = KeyDomain.rowReader(types.head, 0L); row => read(row, ordinals(0)) }
    else row => types.indices.foldLeft(0L) { (seed, i) =>
      val value = KeyDomain.rowReader(types(i), seed)(row, ordinals(i))
      if (KeyDomain.isBytes(types(i))) value else KeyDomain.hash(value, seed)
    }
}

/** Whether a task goes on testing: it stops when fewer than one in 50 of the first `First` rows were dropped. */
final class RowSample {
  private var seen = 0
  private var dropped = 0
  private var active = true

  def testing(): Boolean = active

  def keep(keep: Boolean): Boolean = {
    if (seen < RowSample.First) {
      seen += 1
      if (!keep) dropped += 1
      if (seen == RowSample.First) active = dropped * 50L >= seen
    }
    keep
  }
}

object RowSample {
  private final val First = 32768
}
