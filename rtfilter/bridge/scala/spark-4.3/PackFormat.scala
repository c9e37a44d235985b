package org.apache.spark.sql.execution.rtfilter

import java.io.ByteArrayInputStream
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.US_ASCII
import java.time.ZoneId
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.mapred.{FileSplit, JobConf}
import org.apache.hadoop.mapreduce.{JobID, RecordReader, TaskAttemptID, TaskID, TaskType}
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.parquet.{HadoopReadOptions, VersionParser}
import org.apache.parquet.filter2.compat.FilterCompat
import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate}
import org.apache.parquet.hadoop.{ParquetFileReader, ParquetInputSplit, ParquetRecordReader}
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.hadoop.metadata.ParquetMetadata
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.io.SeekableInputStream
import org.apache.parquet.schema.MessageType
import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.JoinedRow
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeProjection
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.catalyst.util.{DateTimeUtils, RebaseDateTime}
import org.apache.spark.sql.execution.datasources.{DataSourceUtils, FileFormat, PartitionedFile, RecordReaderIterator}
import org.apache.spark.sql.execution.datasources.parquet._
import org.apache.spark.sql.internal.{LegacyBehaviorPolicy, SQLConf}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.SerializableConfiguration
import scala.jdk.CollectionConverters._
import scala.util.Try

/**
 * Spark's Parquet format, reading only the row groups that a selection keeps, with the filters in the reader.
 *
 * Files that the selection does not know go to Spark's own reader. For the others the same parts of Spark are put together as its
 * own reader does it on 4.3 (docs/decisions/0001-own-reader-closure.md says why that can't be had by settings alone).
 */
class PackFormat(val selection: PackSelection, val predicates: Seq[KeyPredicate], val keyFirst: Option[KeyFirst], metrics: PackMetrics) extends ParquetFileFormat {
  /** ParquetFileFormat says that any two Parquet formats are equal; stage reuse must not believe that. */
  override def equals(other: Any): Boolean = other match { case that: PackFormat => selection == that.selection && predicates == that.predicates && keyFirst == that.keyFirst; case _ => false }
  override def hashCode: Int = selection.hashCode

  override def buildReaderWithPartitionValues(session: SparkSession, dataSchema: StructType, partitionSchema: StructType,
      requiredSchema: StructType, filters: Seq[Filter], options: Map[String, String], hadoopConf: Configuration)
    : PartitionedFile => Iterator[InternalRow] = {
    // Spark's own reader also leaves in hadoopConf all that the readers look for there.
    val whole = super.buildReaderWithPartitionValues(session, dataSchema, partitionSchema, requiredSchema, filters, options, hadoopConf)
    val shared = BroadcastValue(session.sparkContext, new NarrowedPacks(selection.forTasks, predicates, keyFirst, new SerializableConfiguration(hadoopConf)))
    val read = ReadSettings(partitionSchema, requiredSchema, filters, ParquetSettings(session.sessionState.conf, options, partitionSchema, requiredSchema))
    val counters = metrics
    file => {
      val selection = shared.value.selection
      selection.files.get(file.toPath.toString).filter(_.modifiedMs == file.modificationTime) match {
        case None => whole(file)
        // With Spark's own splits every file is listed.
        case Some(packs) if packs.keptCount == 0 => if (packs.bytes == file.fileSize) Iterator.empty else whole(file)
        case Some(packs) =>
          val stretched = selection.stretch.map(packs.keptIn(file.start, file.start + file.length, _))
          // Of a stretched file the first split has a pack, and finds out whether the file is another one by now; of others each has to look itself.
          if (stretched.exists(_.isEmpty)) Iterator.empty
          else new PackFile(file, packs, stretched, shared.value, read, counters).rows(whole)
      }
    }
  }
}

/** What all tasks share. Each file's reader copies a configuration that is no JobConf, entry by entry; Spark's vectorised one only reads it (checked on 4.3). */
final class NarrowedPacks(val selection: PackSelection, val predicates: Seq[KeyPredicate], keyFirst: Option[KeyFirst], sent: SerializableConfiguration) extends Serializable {
  @transient lazy val conf: JobConf = new JobConf(sent.value)
  @transient lazy val soFar: Option[KeyFirstSoFar] = keyFirst.map(new KeyFirstSoFar(_))
}

final case class ReadSettings(partitionSchema: StructType, requiredSchema: StructType, filters: Seq[Filter], parquet: ParquetSettings)

/** The settings that Spark's Parquet reader takes from the session, read on the driver (list checked on 4.3). */
final case class ParquetSettings(vectorized: Boolean, returningBatch: Boolean, offHeap: Boolean, batchRows: Int, recordFilter: Boolean,
    int96Conversion: Boolean, pushDown: Boolean, pushDownDate: Boolean, pushDownTimestamp: Boolean, pushDownDecimal: Boolean,
    pushDownString: Boolean, inThreshold: Int, caseSensitive: Boolean, datetimeRebase: String, int96Rebase: String)

object ParquetSettings {
  def apply(conf: SQLConf, options: Map[String, String], partitionSchema: StructType, requiredSchema: StructType): ParquetSettings = {
    val parquet = new ParquetOptions(options, conf)
    val result = StructType(partitionSchema.fields ++ requiredSchema.fields)
    ParquetSettings(
      vectorized = ParquetUtils.isBatchReadSupportedForSchema(conf, result),
      returningBatch = conf.parquetVectorizedReaderEnabled && options.get(FileFormat.OPTION_RETURNING_BATCH).contains("true"),
      offHeap = conf.offHeapColumnVectorEnabled, batchRows = conf.parquetVectorizedReaderBatchSize,
      recordFilter = conf.parquetRecordFilterEnabled, int96Conversion = conf.isParquetINT96TimestampConversion,
      pushDown = conf.parquetFilterPushDown, pushDownDate = conf.parquetFilterPushDownDate,
      pushDownTimestamp = conf.parquetFilterPushDownTimestamp, pushDownDecimal = conf.parquetFilterPushDownDecimal,
      pushDownString = conf.parquetFilterPushDownStringPredicate, inThreshold = conf.parquetFilterPushDownInFilterThreshold,
      caseSensitive = conf.caseSensitiveAnalysis, datetimeRebase = parquet.datetimeRebaseModeInRead, int96Rebase = parquet.int96RebaseModeInRead)
  }
}

/** One split of one file: of a stretched one the row groups with these ordinals are read, of others those kept ones that the split has by Parquet's own rule. */
final class PackFile(file: PartitionedFile, packs: FilePacks, stretched: Option[Array[Int]], shared: NarrowedPacks, read: ReadSettings,
    metrics: PackMetrics) {
  import metrics.{packsRead, rowsSkipped}
  import shared.{conf, predicates}
  private val settings = read.parquet
  private val bytes = packs.bytes
  private val split = new FileSplit(file.toPath, 0, bytes, Array.empty[String])

  /** A file that is not what the planner saw (another length or time, row groups elsewhere) is read whole: a stretched one by its first split. */
  def rows(whole: PartitionedFile => Iterator[InternalRow]): Iterator[InternalRow] = {
    val status = file.toPath.getFileSystem(conf).getFileStatus(file.toPath)
    def all(): Iterator[InternalRow] =
      if (stretched.isEmpty) whole(file.copy(fileSize = status.getLen))
      else if (file.start == 0) whole(file.copy(length = status.getLen, fileSize = status.getLen))
      else Iterator.empty
    if (status.getLen != bytes || !PackFile.sameTime(status.getModificationTime, file.modificationTime)) all()
    else {
      val input = HadoopInputFile.fromStatus(status, conf)
      val stream = input.newStream()
      var handedOver = false
      try {
        stretched.fold(footerOfSplit(input, stream))(ordinals => footerOf(ordinals, input, stream)) match {
          case None => all()
          case Some(footer) if footer.getBlocks.isEmpty => Iterator.empty
          case Some(footer) if settings.vectorized =>
            val result = vectorized(input, stream, footer)
            handedOver = true
            result
          case Some(footer) => rowBased(footer)
        }
      } finally if (!handedOver) stream.close()
    }
  }

  /** Of the footer, only what describes the wanted row groups is turned into objects; None where they are not there. */
  private def footerOf(ordinals: Array[Int], input: HadoopInputFile, stream: SeekableInputStream): Option[ParquetMetadata] = {
    val starts = ordinals.map(packs.starts(_))
    val footer = shortFooter(stream, ordinals, starts).getOrElse(wholeFooter(input, stream, ParquetMetadataConverter.offsets(starts: _*)))
    Option.when(footer.getBlocks.size == starts.length)(footer)
  }

  /** The row groups that Spark's reader would read in this split (checked on 4.3: those whose middle is in it), without those that are not kept. */
  private def footerOfSplit(input: HadoopInputFile, stream: SeekableInputStream): Option[ParquetMetadata] = {
    val footer = wholeFooter(input, stream, ParquetMetadataConverter.range(file.start, file.start + file.length))
    val kept = footer.getBlocks.asScala.map(block => packs.keeps(block.getStartingPos))
    Option.unless(kept.contains(None))(new ParquetMetadata(footer.getFileMetaData, footer.getBlocks.asScala.zip(kept).collect { case (block, Some(true)) => block }.asJava))
  }

  /** Row indexes count the rows of all row groups, so they need the whole footer; so does a file whose row groups are not in order. */
  private def shortFooter(stream: SeekableInputStream, ordinals: Array[Int], starts: Array[Long]): Option[ParquetMetadata] =
    if (!settings.vectorized || read.requiredSchema.fieldNames.contains(ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME)) None
    else {
      val end = new Array[Byte](8)
      stream.seek(bytes - end.length)
      stream.readFully(end)
      val length = ByteBuffer.wrap(end).order(ByteOrder.LITTLE_ENDIAN).getInt
      if (new String(end, 4, 4, US_ASCII) != "PAR1" || length <= 0 || length > bytes - end.length) None
      else {
        val footer = new Array[Byte](length)
        stream.seek(bytes - end.length - length)
        stream.readFully(footer)
        Try(new FooterBytes(footer).keeping(ordinals)).toOption.flatten.map { kept =>
          val converter = new ParquetMetadataConverter(HadoopReadOptions.builder(conf, file.toPath).build())
          converter.readParquetMetadata(new ByteArrayInputStream(kept), ParquetMetadataConverter.NO_FILTER)
        }.filter(_.getBlocks.asScala.map(_.getStartingPos).sameElements(starts))
      }
    }

  private def wholeFooter(input: HadoopInputFile, stream: SeekableInputStream, wanted: ParquetMetadataConverter.MetadataFilter): ParquetMetadata = {
    val options = HadoopReadOptions.builder(conf, file.toPath).withMetadataFilter(wanted).build()
    val reader = ParquetFileReader.open(input, options, stream)
    try { val footer = reader.getFooter; reader.detachFileInputStream(); footer } finally reader.close()
  }

  private def rebase(footer: ParquetMetadata): (RebaseDateTime.RebaseSpec, RebaseDateTime.RebaseSpec) = {
    val entries = footer.getFileMetaData.getKeyValueMetaData
    (DataSourceUtils.datetimeRebaseSpec(entries.get, settings.datetimeRebase), DataSourceUtils.int96RebaseSpec(entries.get, settings.int96Rebase))
  }

  private def convertZone(footer: ParquetMetadata): Option[ZoneId] =
    if (settings.int96Conversion && !footer.getFileMetaData.getCreatedBy.startsWith("parquet-mr"))
      Some(DateTimeUtils.getZoneId(conf.get(SQLConf.SESSION_LOCAL_TIMEZONE.key)))
    else None

  /** The query's own pushed filters, translated for this file as Spark does it. */
  private def pushed(footer: ParquetMetadata, datetime: RebaseDateTime.RebaseSpec): Option[FilterPredicate] =
    if (!settings.pushDown) None
    else {
      val translate = new ParquetFilters(footer.getFileMetaData.getSchema, settings.pushDownDate, settings.pushDownTimestamp,
        settings.pushDownDecimal, settings.pushDownString, settings.inThreshold, settings.caseSensitive, datetime, Some(read.requiredSchema))
      read.filters.flatMap(translate.createFilter).reduceOption(FilterApi.and)
    }

  /** Join keys as predicates; dates only where the file's calendar is today's. */
  private def runtime(footer: ParquetMetadata, datetime: RebaseDateTime.RebaseSpec): Seq[FilterPredicate] =
    predicates.filter(p => !p.isDate || datetime.mode == LegacyBehaviorPolicy.CORRECTED)
      .flatMap(_.in(footer.getFileMetaData.getSchema, settings.caseSensitive))

  private def keyColumns(footer: ParquetMetadata, datetime: RebaseDateTime.RebaseSpec): Seq[KeyColumn] = {
    val (schema, version) = (footer.getFileMetaData.getSchema, Try(VersionParser.parse(footer.getFileMetaData.getCreatedBy)).toOption.orNull)
    if (shared.soFar.isEmpty) Nil
    else predicates.filter(p => p.decodedFirst && (!p.isDate || datetime.mode == LegacyBehaviorPolicy.CORRECTED)).flatMap(p =>
      p.field(schema, settings.caseSensitive).map(field => new KeyColumn(schema.getColumnDescription(Array(field.getName)), p.kind, ColumnTest.of(p, 0), version)))
  }

  private def attempt(conf: JobConf): TaskAttemptContextImpl = new TaskAttemptContextImpl(conf, new TaskAttemptID(new TaskID(new JobID(), TaskType.MAP, 0), 0))

  private def vectorized(input: HadoopInputFile, stream: SeekableInputStream, narrowed: ParquetMetadata): Iterator[InternalRow] = {
    val (datetime, int96) = rebase(narrowed)
    val reader = new PackReader(convertZone(narrowed), datetime, int96, settings.offHeap && TaskContext.get() != null, settings.batchRows,
      BatchTest.of(predicates, read.requiredSchema, rowsSkipped))
    val rows = new RecordReaderIterator(reader)
    try {
      reader.initialize(split, attempt(conf), Some(input), Some(stream), Some(narrowed))
      val filter = (pushed(narrowed, datetime) ++ runtime(narrowed, datetime)).reduceOption(FilterApi.and)
      val options = HadoopReadOptions.builder(conf, file.toPath).withRange(0, bytes).withRecordFilter(filter.fold(FilterCompat.NOOP)(FilterCompat.get)).build()
      val keys = keyColumns(narrowed, datetime)
      shared.soFar.filter(_.isGoing && keys.nonEmpty) match {
        case Some(soFar) => reader.readByKeys(schema => new RangedFileReader(input, narrowed, options, stream, schema, keys, soFar, metrics))
        case None =>
          val blocks = filter.map(_ => reader.readThrough(new ParquetFileReader(input, narrowed, options, stream)))
          packsRead.add(blocks.getOrElse(narrowed.getBlocks.size).toLong)
      }
      reader.initBatch(read.partitionSchema, file.partitionValues)
      if (settings.returningBatch) reader.enableReturningBatches()
      rows.asInstanceOf[Iterator[InternalRow]]
    } catch { case e: Throwable => rows.close(); throw e }
  }

  /** parquet-java's row reader takes the offsets of the row groups to read; the filters stay at what Spark itself pushes. */
  private def rowBased(footer: ParquetMetadata): Iterator[InternalRow] = {
    val (datetime, int96) = rebase(footer)
    val starts = footer.getBlocks.asScala.map(_.getStartingPos).toArray
    // The filter of one file is left in it.
    val context = attempt(new JobConf(conf))
    val filter = pushed(footer, datetime)
    filter.foreach(org.apache.parquet.hadoop.ParquetInputFormat.setFilterPredicate(context.getConfiguration, _))
    val support = new ParquetReadSupport(convertZone(footer), false, datetime, int96)
    val reader = filter match {
      case Some(predicate) if settings.recordFilter => new ParquetRecordReader[InternalRow](support, FilterCompat.get(predicate, null))
      case _ => new ParquetRecordReader[InternalRow](support)
    }
    val indexed: RecordReader[Void, InternalRow] = ParquetRowIndexUtil.addRowIndexToRecordReaderIfNeeded(reader, read.requiredSchema)
    val rows = new RecordReaderIterator[InternalRow](indexed)
    try {
      indexed.initialize(new ParquetInputSplit(file.toPath, 0, bytes, bytes, Array.empty[String], starts), context)
      packsRead.add(starts.length)
      appendPartitionValues(rows)
    } catch { case e: Throwable => rows.close(); throw e }
  }

  private def appendPartitionValues(rows: RecordReaderIterator[InternalRow]): Iterator[InternalRow] = {
    val schema = toAttributes(read.requiredSchema) ++ toAttributes(read.partitionSchema)
    val toUnsafe = GenerateUnsafeProjection.generate(schema, schema)
    if (read.partitionSchema.isEmpty) rows.map(toUnsafe)
    else {
      val joined = new JoinedRow()
      rows.map(row => toUnsafe(joined(row, file.partitionValues)))
    }
  }
}

object PackFile {
  /** Some stores list files with ms and tell whole seconds of a single one (MinIO), or the other way round. */
  def sameTime(one: Long, other: Long): Boolean = one == other || (one / 1000 == other / 1000 && (one % 1000 == 0 || other % 1000 == 0))
}

/**
 * Spark's vectorised reader over a ParquetFileReader of our own. Its options come from a Hadoop configuration, where a filter travels
 * as a serialised object that parquet-java can't load from a jar of `spark.jars`; so the file reader inside is exchanged instead.
 * Checked on 4.3 (the private class ParquetRowGroupReaderImpl with its one field `reader`; `nextKeyValue` goes through `nextBatch`, which fills
 * the batch that `resultBatch` hands out, columns in the order of the schema that was asked for).
 */
final class PackReader(zone: Option[ZoneId], datetime: RebaseDateTime.RebaseSpec, int96: RebaseDateTime.RebaseSpec, offHeap: Boolean, batchRows: Int,
    test: Option[BatchTest])
  extends VectorizedParquetRecordReader(zone.orNull, datetime.mode.toString, datetime.timeZone, int96.mode.toString, int96.timeZone,
    offHeap, batchRows) {

  private val task = Option(TaskContext.get())
  private var byKeys: Option[RangedFileReader] = None
  private var handedOn = 0L

  /** Leaves batches out in which no row has a partner. Between two batches that it hands out Spark looks whether the task was killed; so does this. */
  override def nextBatch(): Boolean = {
    var more = advance()
    while (more && test.exists(!_.mightMatch(resultBatch()))) {
      task.foreach(_.killTaskIfInterrupted())
      more = advance()
    }
    more
  }

  /** How many rows will come is not known before their keys are: Spark's reader hears of those of a row group once it has read those before it. */
  private def advance(): Boolean = {
    byKeys.foreach(ranged => if (handedOn == totalRowCount) totalRowCount += ranged.prepare())
    val more = super.nextBatch()
    if (more) handedOn += resultBatch().numRows
    more
  }

  def readByKeys(make: MessageType => RangedFileReader): Unit = {
    val ranged = make(requestedSchema)
    exchange(ranged)
    byKeys = Some(ranged)
    totalRowCount = 0
  }

  /** Reads through `replacement` from now on; returns the number of row groups that it will read. */
  def readThrough(replacement: ParquetFileReader): Int = {
    replacement.setRequestedSchema(requestedSchema)
    exchange(replacement)
    totalRowCount = replacement.getFilteredRecordCount
    replacement.getRowGroups.size
  }

  private def exchange(replacement: ParquetFileReader): Unit = {
    val rowGroups: AnyRef = reader
    val field = rowGroups.getClass.getDeclaredField("reader")
    field.setAccessible(true)
    field.set(rowGroups, replacement)
  }
}
