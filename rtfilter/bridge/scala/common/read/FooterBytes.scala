package org.apache.spark.sql.execution.rtfilter

import java.io.ByteArrayOutputStream

/**
 * A Parquet footer (thrift's compact protocol) without the row groups that are not wanted.
 *
 * parquet-java makes objects of every row group before it looks at its filter; in a file of hundreds of row groups that is most of
 * the time that a narrowed scan takes. Here rejected row groups are stepped over as bytes. Field numbers are those of the Parquet
 * format's FileMetaData: 4 is the list of row groups, 8 and 9 belong to encryption.
 */
final class FooterBytes(bytes: Array[Byte]) {
  import FooterBytes._
  private var at = 0

  /** The footer with these row groups only (ordinals, ascending), or None for one that is encrypted or has not as many. */
  def keeping(ordinals: Array[Int]): Option[Array[Byte]] = {
    var list = -1
    var end = -1
    var starts = Array.emptyIntArray
    var encrypted = false
    fields { (id, kind) =>
      encrypted ||= id == 8 || id == 9
      if (id != RowGroups || kind != ListOf) skip(kind)
      else {
        list = at
        val count = listHeader()
        starts = Array.ofDim[Int](count + 1)
        (0 until count).foreach { i => starts(i) = at; skip(Struct) }
        starts(count) = at
        end = at
      }
    }
    if (encrypted || list < 0 || ordinals.exists(_ >= starts.length - 1)) None
    else {
      val out = new ByteArrayOutputStream(list + 16 + (ordinals.length.toLong * (end - list) / math.max(1, starts.length - 1)).toInt + bytes.length - end)
      out.write(bytes, 0, list)
      writeListHeader(out, ordinals.length)
      ordinals.foreach(i => out.write(bytes, starts(i), starts(i + 1) - starts(i)))
      out.write(bytes, end, bytes.length - end)
      Some(out.toByteArray)
    }
  }

  private def fields(each: (Int, Int) => Unit): Unit = {
    var id = 0
    var head = next()
    while (head != 0) {
      id = if ((head >> 4) != 0) id + (head >> 4) else { val zigzag = varint().toInt; (zigzag >>> 1) ^ -(zigzag & 1) }
      each(id, head & 15)
      head = next()
    }
  }

  private def skip(kind: Int): Unit = kind match {
    case BoolTrue | BoolFalse => // the value is in the field's head
    case OneByte => at += 1
    case I16 | I32 | I64 => varint()
    case EightBytes => at += 8
    case Binary => val length = varint().toInt; at += length
    case ListOf | SetOf =>
      val element = bytes(at) & 15
      val count = listHeader()
      if (element == BoolTrue || element == BoolFalse) at += count else { var i = 0; while (i < count) { skip(element); i += 1 } }
    case Struct => fields((_, inner) => skip(inner))
    case other => throw new IllegalStateException(s"a Parquet footer has no fields of kind $other")
  }

  private def listHeader(): Int = { val head = next(); if ((head >> 4) == 15) varint().toInt else head >> 4 }

  private def next(): Int = { val byte = bytes(at) & 255; at += 1; byte }

  private def varint(): Long = {
    var value = 0L
    var shift = 0
    var byte = next()
    while ((byte & 128) != 0) { value |= (byte & 127).toLong << shift; shift += 7; byte = next() }
    value | byte.toLong << shift
  }
}

object FooterBytes {
  private final val RowGroups = 4
  private final val BoolTrue = 1
  private final val BoolFalse = 2
  private final val OneByte = 3
  private final val I16 = 4
  private final val I32 = 5
  private final val I64 = 6
  private final val EightBytes = 7
  private final val Binary = 8
  private final val ListOf = 9
  private final val SetOf = 10
  private final val Struct = 12

  private def writeListHeader(out: ByteArrayOutputStream, count: Int): Unit =
    if (count < 15) out.write(count << 4 | Struct)
    else {
      out.write(15 << 4 | Struct)
      var rest = count
      while (rest > 127) { out.write(rest & 127 | 128); rest >>>= 7 }
      out.write(rest)
    }
}
