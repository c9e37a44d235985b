package org.apache.spark.sql.execution.rtfilter

/** How the keys of one filter are held: `kinds` that may be used, distinct keys held exactly at most, keys to expect at most. */
final case class KeyLimits(kinds: Set[String], maxKeys: Int, expected: Long, bloomFpp: Double, bloomMaxBytes: Long) {
  def exact: Boolean = kinds("set")
  def bloom(hashed: Boolean): Option[KeyBloom] = if (kinds("bloom")) Some(KeyBloom.sized(expected, bloomFpp, bloomMaxBytes, hashed)) else None
}

/**
 * Takes in longs and keeps the best that can be said of them: all of them while they are few; then a bitmap, exact while they lie within
 * 2^26 numbers; then a Bloom filter, with the coarser bitmap for the gaps. Each step is entered with all that was kept before, so
 * no number of keys makes a filter fall from exact to nothing. `gaps` is false for hashes, whose neighbourhood says nothing.
 */
final class LongKeys(limits: KeyLimits, gaps: Boolean) extends Serializable {
  private var few = if (limits.exact) new LongBuffer else null
  private var many: SpanBitmap = null
  private var bloom: Option[KeyBloom] = None
  var min: Long = Long.MaxValue
  var max: Long = Long.MinValue
  var seen: Long = 0L
  private var nextLook = LongKeys.FirstLook

  if (few == null) spread()

  def add(value: Long): Unit = {
    seen += 1
    if (value < min) min = value
    if (value > max) max = value
    keep(value)
  }

  private def keep(value: Long): Unit = {
    if (few != null && few.size == nextLook) look()
    if (few == null) mark(value) else few += value
  }

  /** Drops repeats; looks again when there are twice as many values. */
  private def look(): Unit = {
    few.compact()
    if (few.size > limits.maxKeys) spread() else nextLook = math.max(few.size * 2, LongKeys.FirstLook)
  }

  private def spread(): Unit = {
    val values = few
    few = null
    many = new SpanBitmap
    if (!gaps || !limits.exact) startBloom()
    if (values != null) (0 until values.size).foreach(i => mark(values(i)))
  }

  private def startBloom(): Unit = {
    bloom = limits.bloom(hashed = !gaps)
    bloom.foreach(b => many.foreach(b.add))
    many.coarsen()
  }

  private def mark(value: Long): Unit = {
    if (gaps) while (!many.add(value)) if (many.isExact) startBloom() else many.coarsen()
    if (bloom.isDefined) bloom.get.add(value)
  }

  /** Takes over what another collector has; that one is of no use afterwards. */
  def addAll(other: LongKeys): Unit = {
    seen += other.seen
    min = math.min(min, other.min)
    max = math.max(max, other.max)
    if (other.few != null) (0 until other.few.size).foreach(i => keep(other.few(i)))
    else {
      if (few != null) spread()
      if (gaps && other.many.isExact) other.many.foreach(mark)
      else {
        if (gaps) {
          if (many.isExact) startBloom()
          many.addAll(other.many)
        }
        for (mine <- bloom; theirs <- other.bloom) mine.addAll(theirs)
      }
    }
  }

  def isEmpty: Boolean = seen == 0
  def memoryBytes: Long = Option(few).map(_.memoryBytes).sum + Option(many).map(_.memoryBytes).sum + bloom.map(_.memoryBytes).sum

  /** The sorted distinct values, if all of them are held one by one. */
  lazy val distinct: Option[Array[Long]] = { if (few != null) look(); Option(few).map(_.toArray) }

  /** Exact number of distinct keys; an upper bound where `isExact` is false. */
  def count: Long = distinct.map(_.length.toLong).getOrElse(if (isExact) many.count else seen)
  def isExact: Boolean = distinct.isDefined || (gaps && many.isExact)

  /** Where keys are. */
  lazy val ranges: KeyRanges =
    if (isEmpty) new KeyRanges(Array.emptyLongArray, Array.emptyLongArray)
    else distinct.map(keys => new KeyRanges(keys, keys)).getOrElse {
      if (gaps) many.ranges(min, max, LongKeys.MostRanges) else new KeyRanges(Array(min), Array(max))
    }

  /** What rows are tested with. */
  lazy val test: KeyTest = distinct match {
    case Some(keys) if gaps && keys.nonEmpty && fitsBitmap(keys) =>
      val words = new Array[Long](((keys.last >> 6) - (keys.head >> 6) + 1).toInt)
      keys.foreach(k => words(((k >> 6) - (keys.head >> 6)).toInt) |= 1L << k)
      new KeyBitmap(keys.head >> 6 << 6, words)
    case Some(keys) => new KeyTable(keys)
    case None if gaps && many.isExact => many.toBitmap
    case None => bloom.getOrElse(ranges)
  }

  /** A bitmap is one look-up without a hash; a table is smaller for a few keys far apart. */
  private def fitsBitmap(keys: Array[Long]): Boolean = {
    val words = (keys.last >> 6) - (keys.head >> 6) + 1
    words <= 1024 || (words <= LongKeys.MostBitmapWords && words <= keys.length.toLong * 16)
  }

  def kind: String = if (isExact) "set" else if (bloom.isDefined) "bloom" else "range"
}

object LongKeys {
  private final val FirstLook = 1024
  private final val MostRanges = 1 << 16
  private final val MostBitmapWords = 1 << 20
}

/** Keys that are byte strings: tested by hash, kept one by one (for the packs' bounds) while they are few and short. */
final class ByteKeys(limits: KeyLimits) extends Serializable {
  val hashes = new LongKeys(limits, gaps = false)
  private var values = if (limits.exact) new java.util.HashMap[Long, Array[Byte]] else null
  private var bytes = 0L
  var min: Array[Byte] = null
  var max: Array[Byte] = null

  def add(value: Array[Byte]): Unit = {
    val hash = KeyDomain.hash(value, 0L)
    hashes.add(hash)
    if (min == null || java.util.Arrays.compareUnsigned(value, min) < 0) min = value.clone()
    if (max == null || java.util.Arrays.compareUnsigned(value, max) > 0) max = value.clone()
    keep(hash, value)
  }

  /** Two values of one hash: the map would hold one of them only, so neither is claimed to be known. */
  private def keep(hash: Long, value: Array[Byte]): Unit = if (values != null) {
    val before = values.putIfAbsent(hash, value.clone())
    if (before == null) bytes += value.length
    if (bytes > ByteKeys.MostBytes || values.size > math.min(limits.maxKeys, ByteKeys.MostValues) ||
        (before != null && !java.util.Arrays.equals(before, value))) values = null
  }

  def addAll(other: ByteKeys): Unit = if (other.min != null) {
    hashes.addAll(other.hashes)
    if (min == null || java.util.Arrays.compareUnsigned(other.min, min) < 0) min = other.min
    if (max == null || java.util.Arrays.compareUnsigned(other.max, max) > 0) max = other.max
    if (other.values == null) values = null else other.values.forEach((hash, value) => keep(hash, value))
  }

  /** What a hash table takes besides the values: some 100 bytes an entry. */
  def memoryBytes: Long = hashes.memoryBytes + (if (values == null) 0L else bytes + 100L * values.size)

  /** All distinct values in byte order, if they were kept. */
  lazy val sorted: Option[Array[Array[Byte]]] = Option(values).map { kept =>
    val all = kept.values.toArray(Array.empty[Array[Byte]])
    java.util.Arrays.sort(all, (a: Array[Byte], b: Array[Byte]) => java.util.Arrays.compareUnsigned(a, b))
    all
  }
}

object ByteKeys {
  private final val MostBytes = 16L << 20
  private final val MostValues = 200000
}
