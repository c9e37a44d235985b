package org.apache.spark.sql.execution.rtfilter

import java.nio.{ByteBuffer, ByteOrder}
import java.util.Arrays

/** Says of a long whether it may be one of a filter's keys. Immutable, and sent to the tasks. */
sealed abstract class KeyTest extends Serializable {
  def contains(value: Long): Boolean
  def memoryBytes: Long
}

/** Every value from one of the ranges; `lows` and `highs` are sorted and disjoint, both ends included. */
final class KeyRanges(val lows: Array[Long], val highs: Array[Long]) extends KeyTest {
  override def contains(value: Long): Boolean = overlaps(value, value)
  override def memoryBytes: Long = 16L * lows.length

  /** Whether a key may lie between `min` and `max`. */
  def overlaps(min: Long, max: Long): Boolean = {
    val found = Arrays.binarySearch(highs, min)
    val first = if (found >= 0) found else -found - 1
    first < lows.length && lows(first) <= max
  }
  override def equals(other: Any): Boolean = other match { case that: KeyRanges => Arrays.equals(lows, that.lows) && Arrays.equals(highs, that.highs); case _ => false }
  override def hashCode: Int = 31 * Arrays.hashCode(lows) + Arrays.hashCode(highs)
}

/** The keys of another test, and every value outside of `low` to `high`. */
final class KeysBetween(val keys: KeyTest, val low: Long, val high: Long) extends KeyTest {
  override def contains(value: Long): Boolean = value < low || value > high || keys.contains(value)
  override def memoryBytes: Long = 16L + keys.memoryBytes
  override def equals(other: Any): Boolean = other match { case that: KeysBetween => low == that.low && high == that.high && keys == that.keys; case _ => false }
  override def hashCode: Int = 31 * (31 * keys.hashCode + low.hashCode) + high.hashCode
}

/** Exactly the keys whose bits are set; bit 0 of word 0 is `first`. */
final class KeyBitmap(val first: Long, val words: Array[Long]) extends KeyTest {
  private val bits = words.length.toLong << 6
  override def contains(value: Long): Boolean = {
    val at = value - first
    // One comparison for both ends: a value below `first` is huge as an unsigned number.
    java.lang.Long.compareUnsigned(at, bits) < 0 && (words((at >>> 6).toInt) & (1L << at)) != 0
  }
  override def memoryBytes: Long = 8L * words.length
  override def equals(other: Any): Boolean = other match { case that: KeyBitmap => first == that.first && Arrays.equals(words, that.words); case _ => false }
  override def hashCode: Int = 31 * first.hashCode + Arrays.hashCode(words)
}

/** Exactly these keys, in a table with open addressing, at most half full. Zero is kept beside it: it marks free slots. */
final class KeyTable(distinct: Array[Long]) extends KeyTest {
  private val mask = math.max(16, Integer.highestOneBit(math.max(1, distinct.length)) << 2) - 1
  private val slots = new Array[Long](mask + 1)
  private var zero = false
  distinct.foreach { key =>
    if (key == 0) zero = true
    else {
      var at = KeyTable.slot(key) & mask
      while (slots(at) != 0) at = (at + 1) & mask
      slots(at) = key
    }
  }

  override def contains(value: Long): Boolean =
    if (value == 0) zero
    else {
      var at = KeyTable.slot(value) & mask
      var there = slots(at)
      while (there != 0 && there != value) { at = (at + 1) & mask; there = slots(at) }
      there != 0
    }
  override def memoryBytes: Long = 8L * slots.length
  override def equals(other: Any): Boolean = other match { case that: KeyTable => zero == that.zero && Arrays.equals(slots, that.slots); case _ => false }
  override def hashCode: Int = Arrays.hashCode(slots)
}

object KeyTable {
  /** Fibonacci hashing: the high bits of a product with 2^64 / φ. */
  def slot(key: Long): Int = ((key * 0x9e3779b97f4a7c15L) >>> 33).toInt
}

/**
 * A split-block Bloom filter (Putze, Sanders, Singler 2007, as the Parquet format lays it out): blocks of 256 bits in eight words, one bit
 * set in each. `blocks` is a power of two, so that filters of one size can be put together with OR. `hashed`: values are hashes already.
 */
final class KeyBloom(val blocks: Int, hashed: Boolean) extends KeyTest {
  private val words = new Array[Int](blocks * 8)

  private def hashOf(value: Long): Long = if (hashed) value else KeyDomain.hash(value, 0L)
  private def block(hash: Long): Int = ((hash >>> 32) * blocks >>> 32).toInt * 8

  def add(value: Long): Unit = {
    val hash = hashOf(value)
    val at = block(hash)
    val low = hash.toInt
    var i = 0
    while (i < 8) { words(at + i) |= 1 << (low * KeyBloom.Salt(i) >>> 27); i += 1 }
  }

  override def contains(value: Long): Boolean = {
    val hash = hashOf(value)
    val at = block(hash)
    val low = hash.toInt
    var i = 0
    while (i < 8 && (words(at + i) & 1 << (low * KeyBloom.Salt(i) >>> 27)) != 0) i += 1
    i == 8
  }

  /** As docs/index-format.md has the bloom filters of packs. */
  def bytes: Array[Byte] = { val all = ByteBuffer.allocate(words.length * 4).order(ByteOrder.LITTLE_ENDIAN); all.asIntBuffer.put(words); all.array }

  def addAll(other: KeyBloom): Unit = { var i = 0; while (i < words.length) { words(i) |= other.words(i); i += 1 } }

  override def memoryBytes: Long = 4L * words.length
  override def equals(other: Any): Boolean = other match { case that: KeyBloom => Arrays.equals(words, that.words); case _ => false }
  override def hashCode: Int = Arrays.hashCode(words)
}

object KeyBloom {
  private val Salt = Array(0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31)

  /**
   * Of a size for `keys` distinct keys: bits = −8 · n / ln(1 − fpp^(1/8)), rounded up to a power of two, within `maxBytes`. At least as large
   * as the filter of a pack with 65,536 values: when two are held against each other, the larger is folded, and says less.
   */
  def sized(keys: Long, fpp: Double, maxBytes: Long, hashed: Boolean): KeyBloom = {
    val wanted = math.max(4096.0, math.ceil(-8.0 * math.max(1L, keys) / math.log(1 - math.pow(fpp, 1.0 / 8)) / 256))
    val most = math.max(1L, math.min(maxBytes, 1L << 30) / 32)
    new KeyBloom(Integer.highestOneBit(math.min(most.toDouble, math.pow(2, math.ceil(math.log(wanted) / math.log(2)))).toInt), hashed)
  }
}
