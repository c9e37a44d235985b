package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

/**
 * Whether some row of a batch may have a partner: batches without one go no further than the reader. A batch is looked at up to its first such
 * row, so that filters which pass much cost next to nothing. In a split whose batches are kept for nearly all the rows looked at it stops looking.
 */
final class BatchTest(columns: Array[ColumnTest], rowsTested: Boolean, rowsSkipped: SQLMetric) {
  private var looked = 0L
  private var skipped = 0L
  private var active = true
  private val worth = if (!rowsTested && columns.map(_.memoryBytes).sum <= BatchTest.Cached) BatchTest.Worth else BatchTest.WorthLess

  def mightMatch(batch: ColumnarBatch): Boolean = !active || {
    val rows = batch.numRows
    val row = first(batch, rows)
    looked += math.min(row + 1, rows)
    if (row == rows) { skipped += rows; rowsSkipped.add(rows.toLong) }
    if (looked >= BatchTest.First) active = skipped * worth >= looked
    row < rows
  }

  /** The first row that passes all tests, `rows` if none does. */
  private def first(batch: ColumnarBatch, rows: Int): Int = {
    var row = 0
    var at = 0
    while (at < columns.length && row < rows) {
      val found = columns(at).first(batch.column(columns(at).place), row, rows)
      // A later row has to pass the tests before, too.
      if (found == row || at == 0) at += 1 else at = 0
      row = found
    }
    row
  }
}

object BatchTest {
  private final val First = 32768L
  // What follows takes several times as much for a row as looking at it does, unless rows are tested next, or the keys are too many for a core's
  // cache: a join with them then takes about as much.
  private final val Worth = 6
  private final val WorthLess = 2
  private final val Cached = 1L << 20

  /** None where no predicate is on a column of the batch. */
  def of(predicates: Seq[KeyPredicate], schema: StructType, rowsSkipped: SQLMetric): Option[BatchTest] = {
    val tests = predicates.filter(p => schema.fieldNames.contains(p.column)).map(p => ColumnTest.of(p, schema.fieldIndex(p.column)))
    if (tests.isEmpty) None else Some(new BatchTest(tests.toArray, predicates.exists(_.rowsTested), rowsSkipped))
  }
}

/** The keys for the column at `place` of a batch, all of them from `low` to `high`; `kind` is one of the types of KeyPredicate. */
final class ColumnTest(val place: Int, kind: DataType, keys: KeyTest, low: Long, high: Long) {
  def memoryBytes: Long = keys.memoryBytes
  private def passes(value: Long): Boolean = value >= low && value <= high && keys.contains(value)

  /** The first row from `from` on whose value is a key, `rows` if there is none. A loop for each type: it runs over every value. */
  def first(vector: ColumnVector, from: Int, rows: Int): Int = {
    val nulls = vector.hasNull
    var row = from
    kind match {
      case LongType => while (row < rows && (nulls && vector.isNullAt(row) || !passes(vector.getLong(row)))) row += 1
      case IntegerType | DateType => while (row < rows && (nulls && vector.isNullAt(row) || !passes(vector.getInt(row)))) row += 1
      case ShortType => while (row < rows && (nulls && vector.isNullAt(row) || !passes(vector.getShort(row)))) row += 1
      case ByteType => while (row < rows && (nulls && vector.isNullAt(row) || !passes(vector.getByte(row)))) row += 1
    }
    row
  }
}

object ColumnTest {
  def of(p: KeyPredicate, place: Int): ColumnTest =
    new ColumnTest(place, p.kind, p.values, p.near.lows.headOption.getOrElse(0L), p.near.highs.lastOption.getOrElse(-1L))
}
