package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, IsNull, UnsafeProjection}
import org.apache.spark.sql.execution.{FileSourceScanExec, QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType}

/** Rows to within a tolerance, for `rtfilter.verify`: floating-point sums of a star-tree add up in another order than those of its table. */
object CloseRows extends AdaptiveSparkPlanHelper {
  private val Tolerance = 1e-9
  private val FloatTolerance = 1e-5
  val MostRows: Int = 1 << 20

  /** Of a row a hash of all that is no floating-point number, and these numbers. */
  final case class Parts(hash: Int, numbers: Array[Double])

  /** Whether a plan has read sums of floating-point numbers from a tree. */
  def wanted(plan: SparkPlan): Boolean = collectWithSubqueries(plan) { case scan: FileSourceScanExec => scan }.exists {
    case TreeFiles(_, scan) => scan.output.exists(column => column.name.startsWith("sum(") && isFloat(column.dataType))
    case _ => false
  }

  /** The rows of a query; None where they are too many to be looked at one by one. Checked on 4.3: UnsafeRow hashes its bytes. */
  def of(execution: QueryExecution): Option[Seq[Parts]] = {
    val types = execution.executedPlan.schema.map(_.dataType).toIndexedSeq
    val (floats, others) = types.indices.partition(i => isFloat(types(i)))
    val rest = others.map(column(types, _)) ++ floats.map(i => IsNull(column(types, i)))
    val found = execution.toRdd.mapPartitions { rows =>
      val project = UnsafeProjection.create(rest)
      rows.map(row => Parts(project(row).hashCode, floats.map(number(row, types, _)).toArray))
    }.take(MostRows + 1)
    Option.when(found.length <= MostRows)(found.toSeq)
  }

  /** Each number apart by no more than a small part of it. A float is a rounded double, so it gets more room. */
  def areClose(some: Seq[Parts], others: Seq[Parts], types: Seq[DataType]): Boolean = {
    val tolerances = types.collect { case DoubleType => Tolerance; case FloatType => FloatTolerance }
    def close(a: Double, b: Double, tolerance: Double): Boolean =
      java.lang.Double.compare(a + 0.0, b + 0.0) == 0 || math.abs(a - b) <= tolerance * math.max(math.abs(a), math.abs(b))
    some.size == others.size && sorted(some).zip(sorted(others)).forall { case (a, b) =>
      a.hash == b.hash && a.numbers.indices.forall(i => close(a.numbers(i), b.numbers(i), tolerances(i)))
    }
  }

  private def isFloat(of: DataType): Boolean = of == DoubleType || of == FloatType
  private def column(types: IndexedSeq[DataType], i: Int): BoundReference = BoundReference(i, types(i), nullable = true)
  private def number(row: InternalRow, types: IndexedSeq[DataType], i: Int): Double =
    if (row.isNullAt(i)) 0.0 else if (types(i) == FloatType) row.getFloat(i).toDouble else row.getDouble(i)

  /** By what is equal on both sides, then by numbers without their last digits, so that those decide only where nothing else does. */
  private def sorted(rows: Seq[Parts]): Seq[Parts] =
    rows.map(row => (row.hash, row.numbers.map(shortened).toSeq, row.numbers.toSeq, row)).sortBy { case (hash, short, whole, _) => (hash, short, whole) }(order).map(_._4)

  private val order: Ordering[(Int, Seq[Double], Seq[Double])] = {
    import Ordering.Double.TotalOrdering
    val numbers = Ordering.Implicits.seqOrdering[Seq, Double]
    Ordering.Tuple3(Ordering.Int, numbers, numbers)
  }

  private def shortened(value: Double): Double = if (value.isNaN || value.isInfinite) value else value.toFloat.toDouble
}
