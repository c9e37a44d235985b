package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

/**
 * Whether some row of a batch may have a partner: batches without one go no further than the reader. A batch is looked at up to its first such
 * row, so that filters which pass much cost next to nothing. A task whose batches are kept for all the rows looked at stops looking.
 *
 * `columns`, `kinds` and `tests` are parallel: places in the batch, Spark's types (those of KeyPredicate) and the keys.
 */
final class BatchTest(columns: Array[Int], kinds: Array[DataType], tests: Array[KeyTest], rowsSkipped: SQLMetric) {
  private val vectors = new Array[ColumnVector](columns.length)
  private var looked = 0L
  private var skipped = 0L
  private var active = true

  def mightMatch(batch: ColumnarBatch): Boolean = !active || {
    columns.indices.foreach(i => vectors(i) = batch.column(columns(i)))
    val rows = batch.numRows
    var row = 0
    while (row < rows && !passes(row)) row += 1
    looked += math.min(row + 1, rows)
    if (row == rows) { skipped += rows; rowsSkipped.add(rows.toLong) }
    // Of a row that is looked at for nothing, the join's own look-up takes half a dozen times as much: skipping a sixth pays for all.
    if (looked >= BatchTest.First) active = skipped * 6 >= looked
    row < rows
  }

  private def passes(row: Int): Boolean = {
    var i = 0
    while (i < tests.length && !vectors(i).isNullAt(row) && tests(i).contains(value(vectors(i), kinds(i), row))) i += 1
    i == tests.length
  }

  private def value(vector: ColumnVector, kind: DataType, row: Int): Long = kind match {
    case LongType => vector.getLong(row)
    case IntegerType | DateType => vector.getInt(row)
    case ShortType => vector.getShort(row)
    case ByteType => vector.getByte(row)
  }
}

object BatchTest {
  private final val First = 32768L

  /** None where no predicate is on a column of the batch. */
  def of(predicates: Seq[KeyPredicate], schema: StructType, rowsSkipped: SQLMetric): Option[BatchTest] = {
    val tested = predicates.filter(p => p.testBatches && schema.fieldNames.contains(p.column))
    if (tested.isEmpty) None
    else Some(new BatchTest(tested.map(p => schema.fieldIndex(p.column)).toArray, tested.map(_.kind).toArray, tested.map(_.values).toArray, rowsSkipped))
  }
}
