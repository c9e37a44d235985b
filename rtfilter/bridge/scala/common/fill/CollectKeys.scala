package org.apache.spark.sql.execution.rtfilter

import java.util.WeakHashMap
import org.apache.spark.{MapOutputStatistics, SparkEnv, TaskContext}
import org.apache.spark.memory.{MemoryConsumer, MemoryMode}
import org.apache.spark.rdd.{DeterministicLevel, RDD}
import org.apache.spark.shuffle.sort.SortShuffleManager
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, BindReferences, BoundReference, Cast, Expression, UnsafeProjection}
import org.apache.spark.sql.execution.{CoalescedPartitionSpec, ProjectExec, ShufflePartitionSpec, SortExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, BroadcastQueryStageExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.joins.{HashJoin, HashedRelation, LongHashedRelation}
import org.apache.spark.sql.types.{DataType, IntegralType, LongType}
import org.apache.spark.util.Utils
import scala.util.control.NonFatal

/** A filter's keys, as values of the probe column, out of a row that holds the join's build keys at these ordinals. */
final class KeySink(ordinals: Array[Int], buildTypes: Array[DataType], probeTypes: Array[DataType], limits: KeyLimits, shift: Option[KeyShift])
    extends Serializable {
  private val single = ordinals.length == 1
  private val ofBytes = probeTypes.map(KeyDomain.isBytes)
  val bytes: Option[ByteKeys] = if (single && ofBytes.head) Some(new ByteKeys(limits)) else None
  private val ownLongs = if (bytes.isEmpty) new LongKeys(limits, gaps = single) else null
  def longs: LongKeys = bytes.map(_.hashes).getOrElse(ownLongs)
  def isComposite: Boolean = !single

  def isEmpty: Boolean = longs.isEmpty && !keepsOutside
  def memoryBytes: Long = bytes.map(_.memoryBytes).getOrElse(ownLongs.memoryBytes)
  /** The values one by one, if there are no others that are kept. */
  def distinct: Option[Array[Long]] = if (keepsOutside) None else longs.distinct
  lazy val test: KeyTest = shift.fold(longs.test)(_.test(longs.test))
  lazy val ranges: KeyRanges = shift.fold(longs.ranges)(_.ranges(longs.ranges))
  /** The bloom filter for packs, if there is one; a large one goes to the tasks only. */
  def bloom: Option[Array[Byte]] = if (!single || keepsOutside) None else Some(longs.test).collect { case b: KeyBloom if b.memoryBytes <= (2 << 20) => b.bytes }
  private def keepsOutside: Boolean = shift.exists(_.keepsOutside)

  @transient private lazy val longReaders = ordinals.indices.map(i =>
    if (ofBytes(i)) null else KeyDomain.longReader(buildTypes(i), probeTypes(i))).toArray
  @transient private lazy val byteReaders = ordinals.indices.map(i =>
    if (ofBytes(i)) KeyDomain.bytesReader(buildTypes(i), probeTypes(i)) else null).toArray

  def add(row: InternalRow): Unit = if (!single) addTuple(row)
    else if (!row.isNullAt(ordinals(0))) {
      if (bytes.isDefined) { val value = byteReaders(0)(row, ordinals(0)); if (value != null) bytes.get.add(value) }
      else if (longReaders(0).has(row, ordinals(0))) addLong(longReaders(0).read(row, ordinals(0)))
    }

  private def addLong(key: Long): Unit = shift match {
    case None => ownLongs.add(key)
    case Some(moved) => val value = moved.value(key); if (moved.covers(value)) ownLongs.add(value)
  }

  private def addTuple(row: InternalRow): Unit = {
    var hash = 0L
    var i = 0
    while (i < ordinals.length) {
      val at = ordinals(i)
      if (row.isNullAt(at)) return
      if (ofBytes(i)) {
        val value = byteReaders(i)(row, at)
        if (value == null) return
        hash = KeyDomain.hash(value, hash)
      } else {
        if (!longReaders(i).has(row, at)) return
        hash = KeyDomain.hash(longReaders(i).read(row, at), hash)
      }
      i += 1
    }
    ownLongs.add(hash)
  }

  def addAll(other: KeySink): Unit = bytes match {
    case Some(mine) => mine.addAll(other.bytes.get)
    case None => ownLongs.addAll(other.ownLongs)
  }
}

/**
 * What a task holds of keys, asked of Spark's memory manager, which makes others spill for it. Three times the keys: they are written out
 * at the end. Checked on 4.3 (MemoryConsumer; a task that ends with memory not given back is a leak to Spark).
 */
final class KeyMemory(context: TaskContext, sinks: Array[KeySink]) extends MemoryConsumer(context.taskMemoryManager, MemoryMode.ON_HEAP) {
  private var rows = 0L
  /** Called before each row; false when there is no room for more keys. */
  def suffices(): Boolean = { rows += 1; rows % 1024 != 1 || enough(3 * sinks.map(_.memoryBytes).sum - getUsed) }
  private def enough(more: Long): Boolean = more <= 0 || acquireMemory(more) >= more
  override def spill(size: Long, trigger: MemoryConsumer): Long = 0L
}

/** Why a build side's keys were not collected: a reason code and its sentence. */
final case class NotCollected(reason: String, detail: String)

/** The keys of finished build sides. */
object CollectKeys {
  type Collected = Either[NotCollected, Seq[KeySink]]

  /**
   * Keys by finished shuffle and by what was wanted of it, so that several scans that wait for one build side cost one job. The shuffle is told
   * by its statistics, an object of its own that all uses of one shuffle share: plans of two queries over changed files can be equal.
   */
  private val cache = new WeakHashMap[MapOutputStatistics, Map[Seq[Any], Seq[KeySink]]]

  /** One sink for each wanted filter, all filled in one pass; `keys` are the join's build keys over what the stage puts out. */
  def from(source: SparkPlan, keys: Seq[Expression], wanted: Seq[PlacedKey], jobFromRows: Long): Collected = source match {
    case SortExec(_, _, child, _) => from(child, keys, wanted, jobFromRows)
    case AQEShuffleReadExec(child, _) => from(child, keys, wanted, jobFromRows)
    case project: ProjectExec => from(project.child, keys.map(below(project, _)), wanted, jobFromRows)
    case stage: BroadcastQueryStageExec if stage.isMaterialized => limited(stage.getRuntimeStatistics.rowCount, wanted)(fromRelation(stage, keys, wanted))
    case stage: ShuffleQueryStageExec if stage.isMaterialized => limited(stage.getRuntimeStatistics.rowCount, wanted)(fromShuffle(stage, keys, wanted, jobFromRows))
    case other => Left(NotCollected("SOURCE_NOT_READY", s"The build side (${other.nodeName}) was not finished before the probe side started."))
  }

  def rows(source: SparkPlan): Option[BigInt] = source.collectFirst {
    case stage: BroadcastQueryStageExec if stage.isMaterialized => stage.getRuntimeStatistics.rowCount
    case stage: ShuffleQueryStageExec if stage.isMaterialized => stage.getRuntimeStatistics.rowCount
  }.flatten

  private def below(project: ProjectExec, key: Expression): Expression = key.transform {
    case a: Attribute => project.projectList.find(_.exprId == a.exprId).map { case alias: Alias => alias.child; case named => named }.getOrElse(a)
  }

  private def limited(rows: Option[BigInt], wanted: Seq[PlacedKey])(collect: => Collected): Collected = {
    val most = wanted.map(_.maxBuildRows).max
    if (rows.exists(_ > most))
      Left(NotCollected("BUILD_TOO_LARGE", "The build side has %,d rows; the keys of at most %,d are read.".formatLocal(java.util.Locale.ROOT, rows.get.toLong, most)))
    else collect
  }

  private def sinks(types: Seq[DataType], wanted: Seq[PlacedKey], rows: Long): Seq[KeySink] =
    wanted.map(w => new KeySink(w.keys.toArray, w.keys.map(types(_)).toArray, w.types.toArray, w.limits(rows), w.shift))

  /**
   * Checked on 4.3: rows with a null key are not in the relation; several integral keys are packed into one long where they fit
   * (HashJoin.rewriteKeyExpr); iterating uses shared buffers, hence the read-only copy.
   */
  private def fromRelation(stage: BroadcastQueryStageExec, keys: Seq[Expression], wanted: Seq[PlacedKey]): Collected =
    stage.broadcast.relationFuture.get().value match {
      case relation: HashedRelation =>
        val types = keys.map(_.dataType)
        val found = sinks(types, wanted, stage.getRuntimeStatistics.rowCount.map(_.toLong).getOrElse(Long.MaxValue >> 1))
        val unpack = Some(relation).collect { case _: LongHashedRelation => UnsafeProjection.create(types.indices.map(unpacked(keys, _))) }
        relation.asReadOnlyCopy().keys().foreach { row =>
          val keyRow = unpack.map(_(row)).getOrElse(row)
          found.foreach(_.add(keyRow))
        }
        Right(found)
      case other => Left(NotCollected("SOURCE_NOT_READY", s"The build side is a ${other.getClass.getSimpleName}, not a hashed relation."))
    }

  private def unpacked(keys: Seq[Expression], i: Int): Expression =
    if (keys.size > 1) HashJoin.extractKeyExprAt(keys, i)
    else keys.head.dataType match {
      case _: IntegralType => Cast(BoundReference(0, LongType, nullable = false), keys.head.dataType, ansiEnabled = false)
      case other => BoundReference(0, other, nullable = false)
    }

  private def fromShuffle(stage: ShuffleQueryStageExec, keys: Seq[Expression], wanted: Seq[PlacedKey], jobFromRows: Long): Collected = {
    val rows = stage.getRuntimeStatistics.rowCount.map(_.toLong).getOrElse(Long.MaxValue >> 1)
    def empty = sinks(keys.map(_.dataType), wanted, rows)
    if (keys.exists(!_.references.subsetOf(stage.outputSet))) Left(NotCollected("SOURCE_NOT_READY", "The build side does not put out the join's keys."))
    else stage.mapStats match {
      case None => Right(empty) // a shuffle of nothing
      case Some(statistics) =>
        val bound = BindReferences.bindReferences(keys, stage.output)
        val what: Seq[Any] = bound.map(_.canonicalized) ++ wanted.map(_.nameless)
        cache.synchronized(Option(cache.get(statistics)).flatMap(_.get(what))).map(Right(_)).getOrElse {
          val shuffled = stage.shuffle.getShuffleRDD(readTogether(stage, statistics).toArray).asInstanceOf[RDD[InternalRow]]
          // A build side that could come out differently when a lost part of it is computed again must not decide what is read.
          if (shuffled.outputDeterministicLevel == DeterministicLevel.INDETERMINATE)
            Left(NotCollected("NOT_DETERMINISTIC", "The build side's rows may change when a lost part of its shuffle is computed again."))
          else {
            val small = rows < jobFromRows && statistics.bytesByPartitionId.sum <= TaskBytes
            val found = Some(empty).filter(small && here(shuffled, bound, _)).map(Right(_)).getOrElse(run(shuffled, bound, empty))
            found.foreach(all => cache.synchronized(
              cache.put(statistics, Option(cache.get(statistics)).getOrElse(Map.empty[Seq[Any], Seq[KeySink]]) + (what -> all))))
            found
          }
        }
    }
  }

  /** Neighbouring shuffle partitions as one task each, as many as there are cores, and at least `TaskBytes` of data in each. */
  private def readTogether(stage: ShuffleQueryStageExec, statistics: MapOutputStatistics): Seq[ShufflePartitionSpec] = {
    val sizes = statistics.bytesByPartitionId
    val target = math.max(TaskBytes, sizes.sum / math.max(1, stage.session.sparkContext.defaultParallelism) + 1)
    val specs = Seq.newBuilder[ShufflePartitionSpec]
    var start = 0
    var size = 0L
    sizes.indices.foreach { i =>
      size += sizes(i)
      if (size >= target || i == sizes.length - 1) { specs += CoalescedPartitionSpec(start, i + 1, size); start = i + 1; size = 0 }
    }
    specs.result()
  }
  private val TaskBytes = 1L << 20

  /**
   * Whether a small shuffle could be read without a job, which would wait for a core behind tasks of other stages. If it can't be (lost files,
   * executors that the driver does not reach) it is not tried again. Checked on 4.3 (SortShuffleManager's reader asks its context for
   * metrics and for being called at the end, nothing else).
   */
  private def here(rows: RDD[InternalRow], keys: Seq[Expression], sinks: Seq[KeySink]): Boolean =
    readsHere && SparkEnv.get.shuffleManager.isInstanceOf[SortShuffleManager] && {
      val context = TaskContext.empty()
      val project = UnsafeProjection.create(keys)
      try rows.partitions.foreach(rows.iterator(_, context).foreach { row => val keyRow = project(row); sinks.foreach(_.add(keyRow)) })
      catch { case NonFatal(_) => readsHere = false }
      finally context.markTaskCompleted(None)
      readsHere
    }
  @volatile private var readsHere = true

  /** Sinks travel as Java objects whatever `spark.serializer` is: Kryo may be told to refuse classes that it does not know. */
  private def run(rows: RDD[InternalRow], keys: Seq[Expression], sinks: Seq[KeySink]): Collected = {
    val sc = rows.sparkContext
    val empty = Utils.serialize(sinks.toArray)
    val task = (context: TaskContext, part: Iterator[InternalRow]) =>
      if (part.isEmpty) Array.emptyByteArray
      else {
        val mine = CollectKeys.sinksIn(empty)
        val memory = new KeyMemory(context, mine)
        val project = UnsafeProjection.create(keys)
        try {
          while (part.hasNext && memory.suffices()) { val keyRow = project(part.next()); var i = 0; while (i < mine.length) { mine(i).add(keyRow); i += 1 } }
          if (part.hasNext) CollectKeys.NoRoom else Utils.serialize(mine)
        } finally memory.freeMemory(memory.getUsed)
      }
    var room = true
    val before = sc.getLocalProperty(DescriptionKey)
    sc.setLocalProperty(DescriptionKey, "rtfilter: keys of a build side")
    try sc.runJob[InternalRow, Array[Byte]](rows, task, rows.partitions.indices, (_: Int, part: Array[Byte]) =>
      if (part.length == NoRoom.length) room = false
      else if (part.nonEmpty) sinks.zip(sinksIn(part)).foreach { case (all, some) => all.addAll(some) })
    finally sc.setLocalProperty(DescriptionKey, before)
    if (room) Right(sinks) else Left(NotCollected("NO_MEMORY", "A task that collected the build side's keys was not given the memory for them."))
  }
  private val NoRoom = Array[Byte](0)

  private def sinksIn(bytes: Array[Byte]): Array[KeySink] = Utils.deserialize[Array[KeySink]](bytes, classOf[KeySink].getClassLoader)
  private val DescriptionKey = "spark.job.description"
}
