package org.apache.spark.sql.execution.rtfilter

import java.math.RoundingMode
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/**
 * What a value of a column type is in a filter: a long or a byte string (docs/protocol.md, "Key values"), and for rows always a long,
 * byte strings by their hash.
 */
object KeyDomain {
  /** Types whose values are byte strings. */
  def isBytes(kind: DataType): Boolean = kind match {
    case _: StringType | BinaryType => true
    case decimal: DecimalType => decimal.precision > Decimal.MAX_LONG_DIGITS
    case _ => false
  }

  /** The order of the result is the order of doubles; −0.0 is 0.0, every NaN is one and above all else. */
  def sortable(value: Double): Long = {
    val bits = java.lang.Double.doubleToLongBits(if (value == 0.0d) 0.0d else value)
    if (bits >= 0) bits else bits ^ Long.MaxValue
  }

  def hash(value: UTF8String, seed: Long): Long = XXH64.hashUTF8String(value, seed)
  def hash(value: Array[Byte], seed: Long): Long = XXH64.hashUnsafeBytes(value, Platform.BYTE_ARRAY_OFFSET, value.length, seed)
  def hash(value: Decimal, scale: Int, seed: Long): Long = hash(bytesOf(value.toJavaBigDecimal, scale).get, seed)
  def hash(value: Long, seed: Long): Long = XXH64.hashLong(value, seed)

  /** 16 bytes, big-endian, sign flipped; None when the value has more digits after the point than the scale. */
  def bytesOf(value: java.math.BigDecimal, scale: Int): Option[Array[Byte]] = unscaled(value, scale).filter(_.bitLength < 128).map { whole =>
    val short = whole.toByteArray
    val bytes = new Array[Byte](16)
    java.util.Arrays.fill(bytes, if (whole.signum < 0) 255.toByte else 0.toByte)
    System.arraycopy(short, 0, bytes, 16 - short.length, short.length)
    bytes(0) = (bytes(0) ^ 128).toByte
    bytes
  }

  private def unscaled(value: java.math.BigDecimal, scale: Int): Option[java.math.BigInteger] =
    try Some(value.setScale(scale, RoundingMode.UNNECESSARY).unscaledValue) catch { case _: ArithmeticException => None }

  /** Reads a non-null value of a build key as a long of the probe column's type; `found(ok = false)` is a value it can't have. */
  def longReader(build: DataType, probe: DataType): LongReader = (build, probe) match {
    case (BooleanType, _) => (row, i) => if (row.getBoolean(i)) 1L else 0L
    case (ByteType, t) => integral(t, _.getByte(_))
    case (ShortType, t) => integral(t, _.getShort(_))
    case (IntegerType | DateType, t) => integral(t, _.getInt(_))
    case (LongType | TimestampType | TimestampNTZType, t) => integral(t, _.getLong(_))
    case (FloatType, _) => (row, i) => sortable(row.getFloat(i))
    case (DoubleType, _) => (row, i) => sortable(row.getDouble(i))
    case (DecimalType.Fixed(precision, scale), DecimalType.Fixed(_, target)) if scale == target && precision <= Decimal.MAX_LONG_DIGITS =>
      (row, i) => row.getDecimal(i, precision, scale).toUnscaledLong
    case (DecimalType.Fixed(precision, scale), t) =>
      val target = t match { case d: DecimalType => d.scale; case _ => 0 }
      new LongReader {
        override def read(row: InternalRow, i: Int): Long = exact(row, i).longValue
        override def has(row: InternalRow, i: Int): Boolean = { val whole = exact(row, i); whole != null && whole.bitLength < 64 }
        private def exact(row: InternalRow, i: Int) = unscaled(row.getDecimal(i, precision, scale).toJavaBigDecimal, target).orNull
      }
    case (other, _) => throw new IllegalStateException(s"a key of type ${other.catalogString} has no place in a filter")
  }

  /** An integral key of a decimal column counts in the column's unscaled units. */
  private def integral(probe: DataType, get: (InternalRow, Int) => Long): LongReader = probe match {
    case DecimalType.Fixed(_, scale) if scale > 0 =>
      val unit = math.pow(10, scale).toLong
      new LongReader {
        override def read(row: InternalRow, i: Int): Long = get(row, i) * unit
        override def has(row: InternalRow, i: Int): Boolean = math.abs(get(row, i).toDouble) < Long.MaxValue.toDouble / unit / 2
      }
    case _ => (row, i) => get(row, i)
  }

  /** Reads a non-null value of a build key as bytes of the probe column's type, null for a value that it can't have. */
  def bytesReader(build: DataType, probe: DataType): (InternalRow, Int) => Array[Byte] = (build, probe) match {
    case (_: StringType, _) => (row, i) => row.getUTF8String(i).getBytes
    case (BinaryType, _) => (row, i) => row.getBinary(i)
    case (DecimalType.Fixed(precision, scale), target: DecimalType) =>
      (row, i) => bytesOf(row.getDecimal(i, precision, scale).toJavaBigDecimal, target.scale).orNull
    case (other, _) => throw new IllegalStateException(s"a key of type ${other.catalogString} has no bytes in a filter")
  }

  /** Reads a non-null value of the probe column itself as the long that rows are tested by. */
  def rowReader(column: DataType, seed: Long): (InternalRow, Int) => Long = column match {
    case _: StringType => (row, i) => hash(row.getUTF8String(i), seed)
    case BinaryType => (row, i) => hash(row.getBinary(i), seed)
    case DecimalType.Fixed(precision, scale) if isBytes(column) => (row, i) => hash(row.getDecimal(i, precision, scale), scale, seed)
    case other => val long = longReader(other, other); (row, i) => long.read(row, i)
  }

  /** The Java expression of `rowReader` for generated code. */
  def rowCode(column: DataType, value: String, seed: String): String = {
    val domain = "org.apache.spark.sql.execution.rtfilter.KeyDomain"
    column match {
      case _: StringType | BinaryType => s"$domain.hash($value, $seed)"
      case decimal: DecimalType if isBytes(column) => s"$domain.hash($value, ${decimal.scale}, $seed)"
      case _: DecimalType => s"$value.toUnscaledLong()"
      case BooleanType => s"($value ? 1L : 0L)"
      case FloatType | DoubleType => s"$domain.sortable((double) $value)"
      case _ => s"((long) $value)"
    }
  }
}

/** A build key as a long of the probe column; `has` is false for a value that no probe row can have. */
trait LongReader {
  def read(row: InternalRow, ordinal: Int): Long
  def has(row: InternalRow, ordinal: Int): Boolean = true
}
