package org.apache.spark.sql.execution.rtfilter

/**
 * Which stretches of the number line hold keys: a bitmap that grows with the keys' span. Up to 2^26 numbers one bit is one key and the map
 * is exact; beyond that bits stand for 2^shift neighbours each, and what remains is where the gaps are.
 */
final class SpanBitmap extends Serializable {
  import SpanBitmap._
  /** A bit stands for 2^shift values. */
  var shift = 0
  /** Number of the first word on the whole line: word w covers the values from (w * 64) << shift on. */
  private var base = 0L
  private var words = Array.emptyLongArray

  def isExact: Boolean = shift == 0
  def memoryBytes: Long = 8L * words.length
  private def mostWords: Int = if (shift == 0) ExactWords else CoarseWords

  /** Marks a value; false (and nothing done) when that needs coarser bits: call `coarsen` and try again. */
  def add(value: Long): Boolean = {
    val bucket = value >> shift
    val word = bucket >> 6
    if ((word < base || word - base >= words.length) && !cover(word, word)) false
    else { words((word - base).toInt) |= 1L << bucket; true }
  }

  /** Makes room for the words from `low` to `high`; false if there would be too many. */
  private def cover(low: Long, high: Long): Boolean =
    if (words.isEmpty) {
      if (high - low >= mostWords) false else { base = low; words = new Array[Long](math.max(16, high - low + 1).toInt); true }
    } else {
      val first = math.min(low, base)
      val last = math.max(high, base + words.length - 1)
      if (last - first >= mostWords) {
        // Slack at the ends must not be what makes the map coarser.
        val used = usedWords
        if (math.max(high, used._2) - math.min(low, used._1) >= mostWords) false
        else { move(math.min(low, used._1), math.max(high, used._2)); true }
      } else {
        val slack = math.min(words.length.toLong, mostWords - (last - first + 1))
        if (low < base) move(first - slack, last) else move(first, last + slack)
        true
      }
    }

  private def usedWords: (Long, Long) = (base + words.indexWhere(_ != 0), base + words.lastIndexWhere(_ != 0))

  private def move(first: Long, last: Long): Unit = {
    val moved = new Array[Long]((last - first + 1).toInt)
    val from = math.max(base, first)
    val until = math.min(base + words.length, last + 1)
    System.arraycopy(words, (from - base).toInt, moved, (from - first).toInt, (until - from).toInt)
    base = first
    words = moved
  }

  /** Bits of twice the width. */
  def coarsen(): Unit = {
    val first = base >> 1
    val last = (base + words.length - 1) >> 1
    val half = new Array[Long]((last - first + 1).toInt)
    words.indices.foreach { i =>
      val word = base + i
      half(((word >> 1) - first).toInt) |= pairs(words(i)) << (if ((word & 1) == 0) 0 else 32)
    }
    shift += 1
    base = first
    words = half
    while (words.length > mostWords) coarsen()
  }

  /** Marks all that the other map marks. */
  def addAll(other: SpanBitmap): Unit = if (other.words.nonEmpty) {
    while (shift < other.shift) coarsen()
    while (other.shift < shift) other.coarsen()
    val (low, high) = other.usedWords
    while (!cover(low >> (shift - other.shift), high >> (shift - other.shift))) { coarsen() }
    while (other.shift < shift) other.coarsen()
    other.words.indices.foreach(i => if (other.words(i) != 0) words((other.base + i - base).toInt) |= other.words(i))
  }

  def foreach(visit: Long => Unit): Unit = words.indices.foreach { i =>
    var rest = words(i)
    while (rest != 0) { visit((((base + i) << 6) + java.lang.Long.numberOfTrailingZeros(rest)) << shift); rest &= rest - 1 }
  }

  def count: Long = { var n = 0L; var i = 0; while (i < words.length) { n += java.lang.Long.bitCount(words(i)); i += 1 }; n }

  /** The exact keys as a test. */
  def toBitmap: KeyBitmap = {
    val (low, high) = usedWords
    move(low, high)
    new KeyBitmap(base << 6, words)
  }

  private def coarser: SpanBitmap = {
    val copy = new SpanBitmap
    copy.shift = shift
    copy.base = base
    copy.words = words
    while (copy.words.length > CoarseWords) copy.coarsen()
    copy
  }

  /** The marked stretches, at most `most` of them: of the gaps between, the widest are kept. `min` and `max` are the exact ends. */
  def ranges(min: Long, max: Long, most: Int): KeyRanges = if (words.length > CoarseWords) coarser.ranges(min, max, most) else {
    val starts = new LongBuffer
    val ends = new LongBuffer
    foreach { value =>
      val end = value + (1L << shift) - 1
      if (ends.size > 0 && ends.last == value - 1) ends.setLast(end) else { starts += value; ends += end }
    }
    val narrowest = if (starts.size <= most) 0L else {
      val gaps = (1 until starts.size).map(gap(starts, ends, _)).toArray
      java.util.Arrays.sort(gaps)
      gaps(gaps.length - most)
    }
    val lows = new LongBuffer
    val highs = new LongBuffer
    (0 until starts.size).foreach { i =>
      if (i > 0 && (gap(starts, ends, i) <= narrowest || lows.size >= most)) highs.setLast(ends(i))
      else { lows += starts(i); highs += ends(i) }
    }
    val (low, high) = (lows.toArray, highs.toArray)
    if (low.nonEmpty) { low(0) = math.max(low(0), min); high(high.length - 1) = math.min(high.last, max) }
    new KeyRanges(low, high)
  }

  /** A gap over half of the line does not fit a long. */
  private def gap(starts: LongBuffer, ends: LongBuffer, i: Int): Long = {
    val wide = starts(i) - ends(i - 1)
    if (wide < 0) Long.MaxValue else wide
  }

  /** Neighbouring bits as one: 64 bits into the lower 32. */
  private def pairs(word: Long): Long = {
    var x = (word | word >>> 1) & 0x5555555555555555L
    x = (x | x >>> 1) & 0x3333333333333333L
    x = (x | x >>> 2) & 0x0f0f0f0f0f0f0f0fL
    x = (x | x >>> 4) & 0x00ff00ff00ff00ffL
    x = (x | x >>> 8) & 0x0000ffff0000ffffL
    (x | x >>> 16) & 0x00000000ffffffffL
  }
}

object SpanBitmap {
  private final val ExactWords = 1 << 20
  private final val CoarseWords = 1 << 14
}

/** A growing array of longs. */
final class LongBuffer extends Serializable {
  private var values = new Array[Long](64)
  var size = 0
  def apply(i: Int): Long = values(i)
  def last: Long = values(size - 1)
  def setLast(value: Long): Unit = values(size - 1) = value
  def +=(value: Long): Unit = {
    if (size == values.length) values = java.util.Arrays.copyOf(values, size * 2)
    values(size) = value
    size += 1
  }
  def memoryBytes: Long = 8L * values.length
  def toArray: Array[Long] = java.util.Arrays.copyOf(values, size)

  /** Sorts and drops repeats. */
  def compact(): Unit = {
    java.util.Arrays.sort(values, 0, size)
    var kept = 0
    var i = 0
    while (i < size) { if (kept == 0 || values(kept - 1) != values(i)) { values(kept) = values(i); kept += 1 }; i += 1 }
    size = kept
  }
}
