package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}
import org.apache.spark.sql.catalyst.optimizer.BuildLeft
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, HashJoin, HashedRelation, LongHashedRelation}
import org.apache.spark.sql.types._

/** Distinct values of one key column: exact up to `maxKeys`, bounds always. */
final class KeyColumn(maxKeys: Int) {
  private var values = new Array[Long](1024)
  private var size = 0
  private var exact = true
  var min: Long = Long.MaxValue
  var max: Long = Long.MinValue
  var seen: Long = 0L

  def add(value: Long): Unit = {
    seen += 1
    if (value < min) min = value
    if (value > max) max = value
    if (exact) {
      if (size == values.length) makeRoom()
      if (exact) { values(size) = value; size += 1 }
    }
  }

  private def makeRoom(): Unit = {
    if (size > maxKeys) compact()
    if (size > maxKeys) { exact = false; values = Array.emptyLongArray; size = 0 }
    else if (size > values.length / 2) values = java.util.Arrays.copyOf(values, values.length * 2)
  }

  private def compact(): Unit = {
    java.util.Arrays.sort(values, 0, size)
    var kept = 0
    var i = 0
    while (i < size) {
      if (kept == 0 || values(kept - 1) != values(i)) { values(kept) = values(i); kept += 1 }
      i += 1
    }
    size = kept
  }

  /** The sorted distinct values, or None when there are more than `maxKeys`. */
  lazy val distinct: Option[Array[Long]] = {
    if (exact) compact()
    if (exact && size <= maxKeys) Some(java.util.Arrays.copyOf(values, size)) else None
  }
}

object BuildKeys {
  /**
   * Reads the wanted key columns of a broadcast join's finished build side in one pass; None when it is not there.
   *
   * Checked on 4.3: integral keys are packed into one long when they fit (HashJoin.rewriteKeyExpr), rows with a null key are not
   * in the relation, and iterating uses shared buffers, hence the read-only copy.
   */
  def collect(join: BroadcastHashJoinExec, wanted: Seq[PlacedKey]): Option[Seq[KeyColumn]] = build(join)._1 match {
    case stage: BroadcastQueryStageExec if stage.isMaterialized =>
      stage.broadcast.relationFuture.get().value match {
        case relation: HashedRelation => Some(read(relation.asReadOnlyCopy(), build(join)._2, wanted))
        case _ => None
      }
    case _ => None
  }

  private def read(relation: HashedRelation, keys: Seq[Expression], wanted: Seq[PlacedKey]): Seq[KeyColumn] = {
    val columns = wanted.map(key => new KeyColumn(key.maxKeys)).toArray
    val readers = wanted.map(key => reader(relation, keys, key.keyIndex)).toArray
    relation.keys().foreach { row =>
      var i = 0
      while (i < columns.length) { columns(i).add(readers(i)(row)); i += 1 }
    }
    columns.toSeq
  }

  private def reader(relation: HashedRelation, keys: Seq[Expression], index: Int): InternalRow => Long = {
    val packed = relation.isInstanceOf[LongHashedRelation]
    if (packed && keys.size == 1) row => row.getLong(0)
    else {
      val key = if (packed) HashJoin.extractKeyExprAt(keys, index) else BoundReference(index, keys(index).dataType, nullable = false)
      keys(index).dataType match {
        case ByteType => row => key.eval(row).asInstanceOf[Byte].toLong
        case ShortType => row => key.eval(row).asInstanceOf[Short].toLong
        case IntegerType | DateType => row => key.eval(row).asInstanceOf[Int].toLong
        case LongType => row => key.eval(row).asInstanceOf[Long]
        case other => throw new IllegalStateException(s"a key of type ${other.catalogString} has no place in a filter of whole numbers")
      }
    }
  }

  private def build(join: BroadcastHashJoinExec): (SparkPlan, Seq[Expression]) =
    if (join.buildSide == BuildLeft) (join.left, join.leftKeys) else (join.right, join.rightKeys)

  def buildRows(join: BroadcastHashJoinExec): Option[BigInt] = build(join)._1 match {
    case stage: BroadcastQueryStageExec if stage.isMaterialized => stage.getRuntimeStatistics.rowCount
    case _ => None
  }
}
