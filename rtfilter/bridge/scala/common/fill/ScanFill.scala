package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import java.nio.{ByteBuffer, ByteOrder}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import scala.collection.mutable.ArrayBuffer

/** A placeholder whose keys are there. */
final case class FilledKey(placeholder: RuntimeFilter, key: PlacedKey, sink: KeySink, buildRows: Option[BigInt]) {
  def columns: Seq[Attribute] = placeholder.children.map(_.asInstanceOf[Attribute])
}

/** Arrays for a request's body: eight-byte ones first, so that every slice is aligned. */
final class BodyParts {
  private val wide = ArrayBuffer.empty[(ObjectNode, Array[Byte])]
  private val bytes = ArrayBuffer.empty[(ObjectNode, Array[Byte])]

  def longs(values: Array[Long]): ObjectNode = {
    val bytes = ByteBuffer.allocate(values.length * 8)
    bytes.order(ByteOrder.LITTLE_ENDIAN).asLongBuffer.put(values)
    add(wide, bytes.array, values.length)
  }
  def raw(values: Array[Byte]): ObjectNode = add(bytes, values, values.length)
  private def add(to: ArrayBuffer[(ObjectNode, Array[Byte])], values: Array[Byte], count: Int): ObjectNode =
    { val slice = Json.obj("at" -> 0, "count" -> count); to += slice -> values; slice }

  /** The body, once everything is added; fills in where each slice is. */
  def layOut(): Seq[Array[Byte]] = {
    var at = 0
    (wide ++ bytes).map { case (slice, values) => slice.put("at", at); at += values.length; values }.toSeq
  }
}

/** A scan with filled keys: the question about it, and what comes of the answer. */
final class ScanFill(layer: LayerSession, val scan: FileSourceScanExec, val keys: Seq[FilledKey]) {
  val files: ScanFiles = QueryLog.files(layer, scan)
  private val static = RuntimeFilter.static(scan)
  /** How many filters the answer has to speak of. */
  def expected: Int = keys.size + static.size
  def columns: Seq[String] = keys.flatMap(_.columns.map(_.name)).distinct

  def request(number: Int, body: BodyParts): ObjectNode =
    Json.obj("scan" -> number, "files" -> files.digest, "table" -> Snapshot.tableName(scan), "hints" -> TableHint.of(scan),
      "static" -> static.map(f => Json.obj("id" -> f.id, "predicate" -> Json.parse(f.predicate))), "filters" -> keys.map { k =>
      val longs = k.sink.longs
      val json = Json.obj("id" -> k.placeholder.id, "columns" -> k.columns.map(_.name), "types" -> k.key.types.map(_.catalogString), "kinds" -> k.key.kinds,
        "ahead" -> k.key.ahead, "keep_nulls" -> k.key.keepNulls, "kind" -> longs.kind, "distinct" -> longs.count,
        "build_rows" -> k.buildRows.getOrElse(BigInt(longs.seen)))
      if (!k.sink.isComposite && k.sink.bytes.isEmpty && !longs.isEmpty) json.put("min", longs.min).put("max", longs.max)
      k.sink.bloom.foreach(b => json.set[ObjectNode]("bloom", body.raw(b)))
      forPacks(k.sink, body).foreach { case (name, value) => Json.put(json, name, value) }
      json
    })

  private def forPacks(sink: KeySink, body: BodyParts): Seq[(String, Any)] =
    if (sink.isComposite) Seq("form" -> "none")
    else if (sink.isEmpty) Seq("form" -> "empty")
    else sink.bytes match {
      case Some(bytes) =>
        val values = bytes.sorted.getOrElse(Array(bytes.min, bytes.max))
        Seq("form" -> (if (bytes.sorted.isDefined) "set" else "ranges"), "offsets" -> body.longs(values.scanLeft(0L)(_ + _.length)),
          "blob" -> body.raw(values.flatten))
      case None => sink.distinct match {
        case Some(distinct) => Seq("form" -> "set", "keys" -> body.longs(distinct))
        case None => Seq("form" -> "ranges", "lows" -> body.longs(sink.ranges.lows), "highs" -> body.longs(sink.ranges.highs))
      }
    }

  def outcome(answer: Answer, verdict: ObjectNode, filters: Seq[ObjectNode], fillMs: Long): FilledScan = {
    val applied = keys.flatMap(k => filters.find(f => f.get("id").asText == k.placeholder.id && f.get("decision").asText == "applied").map(k -> _))
    val said = static.flatMap(f => filters.find(a => a.get("id").asText == f.id && a.get("decision").asText == "applied").map(a => f.copy(state = packs(a))))
    val shown = said.toSeq ++ applied.map { case (k, f) => k.placeholder.copy(state =
      s"${f.get("kind").asText} of ${f.get("keys").asLong} keys, ${packs(f)}") }
    // In the order of the answer: the planner puts first what drops most.
    val rows = filters.filter(_.path("rows").asBoolean(false)).flatMap(f => applied.collectFirst { case (k, `f`) => rowFilter(k) })
    val changed = if (!verdict.path("apply").asBoolean(false)) FilledStage.withoutFilters(scan) else {
      val packs = perFile(answer, verdict)
      val selection = PackSelection(packs, if (keepsSplits) None else Some(stretch(packs)))
      val metrics = new PackMetrics(scan.relation.sparkSession.sparkContext, verdict.get("packs_total").asLong, verdict.get("packs_kept").asLong, selection.droppedFiles, fillMs)
      NarrowedScan(scan, selection, filters.flatMap(f => applied.collectFirst { case (k, `f`) => predicate(k, f) }.flatten), keyFirst(verdict), shown, metrics)
    }
    FilledScan(scan, changed, rows)
  }

  private def keyFirst(verdict: ObjectNode): Option[KeyFirst] = Option(verdict.get("key_first")).filterNot(_.isNull).map(limits =>
    KeyFirst(limits.get("most_share").asDouble, limits.get("groups").asInt, limits.get("worth").asDouble))

  /** Where something goes by the order of rows, or asks for files and their parts (`_metadata`). */
  private def keepsSplits: Boolean = scan.fileConstantMetadataColumns.nonEmpty || RuntimeFilter.in(scan).exists(_.keepSplits)

  /** Files that are read whole have their own lengths, beside which no other one may be stretched. */
  private def stretch(packs: Map[String, FilePacks]): Double = if (packs.size < files.paths.length) 1.0 else {
    val (sc, conf) = (scan.relation.sparkSession.sparkContext, scan.relation.sparkSession.sessionState.conf)
    PackSelection.stretch(packs.values, conf.filesMinPartitionNum.getOrElse(sc.defaultParallelism), conf.filesMaxPartitionBytes, conf.filesOpenCostInBytes)
  }

  private def packs(f: ObjectNode): String = s"${f.get("packs_kept").asLong} of ${f.get("packs_total").asLong} packs"

  private def rowFilter(k: FilledKey): SparkPlan => RowFilterExec = {
    val sc = scan.relation.sparkSession.sparkContext
    val test = new SharedTest(k.sink.test, BroadcastValue(sc, k.sink.test))
    child => RowFilterExec(k.columns, test, k.key.keepNulls, k.placeholder.id, child)(RowFilterExec.counts(sc))
  }

  /** Whole numbers go into the Parquet reader too; other types are left to packs and rows. */
  private def predicate(k: FilledKey, filter: ObjectNode): Option[KeyPredicate] =
    if (k.sink.isComposite || k.key.keepNulls || !KeyPredicate.takes(k.columns.head.dataType)) None
    else Some(filter.path("push").asText).collect { case "set" => k.sink.test; case "range" => k.sink.ranges }.map(values =>
      KeyPredicate(k.columns.head.name, k.columns.head.dataType, values, k.sink.ranges, filter.path("dictionary").asBoolean(false), filter.path("rows").asBoolean(false),
        filter.path("key_first").asBoolean(false)))

  private def perFile(answer: Answer, verdict: ObjectNode): Map[String, FilePacks] = {
    def of(name: String): ObjectNode = verdict.get(name).asInstanceOf[ObjectNode]
    val (counts, starts, kept) = (answer.ints(of("counts")), answer.longs(of("starts")), answer.bytes(of("keep")))
    if (counts.length != files.paths.length || starts.length != kept.length || counts.filter(_ > 0).sum != starts.length)
      throw new IllegalStateException("the planner's verdict does not fit the scan's files")
    val found = Map.newBuilder[String, FilePacks]
    var next = 0
    counts.indices.filter(counts(_) >= 0).foreach { i =>
      found += files.paths(i) -> FilePacks.of(starts, kept, next, next + counts(i), files.sizes(i), files.mtimes(i))
      next += counts(i)
    }
    found.result()
  }
}
