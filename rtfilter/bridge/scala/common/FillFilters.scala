package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.types.DateType
import scala.util.control.NonFatal

/** A placeholder whose keys are there. */
final case class FilledKey(placeholder: RuntimeFilter, key: PlacedKey, values: KeyColumn, buildRows: Option[BigInt])

/** Second hook, before a stage runs: reads the keys of finished build sides, asks which packs they reject, narrows the scans. */
class FillFilters(session: SparkSession) extends Rule[SparkPlan] {
  private lazy val layer = new LayerSession(session)

  override def apply(plan: SparkPlan): SparkPlan =
    if (!layer.enabled) plan
    else {
      val scans = plan.collect { case scan: FileSourceScanExec if RuntimeFilter.in(scan).nonEmpty => scan }
      if (scans.isEmpty) plan
      else try fill(plan, scans) catch { case NonFatal(e) => leaveAlone(plan, scans, e) }
    }

  private def fill(plan: SparkPlan, scans: Seq[FileSourceScanExec]): SparkPlan = {
    val started = System.nanoTime()
    val keys = collectKeys(plan, scans)
    val collected = System.nanoTime()
    val concerned = scans.distinct.map(scan => new ScanFill(layer, scan, RuntimeFilter.in(scan).flatMap(f => keys.get(f.id)))).filter(_.keys.nonEmpty)
    if (concerned.isEmpty) plan
    else {
      val answer = askForVerdicts(concerned)
      val asked = System.nanoTime()
      val fillMs = (asked - started) / 1000000
      val filters = Json.items(answer.json, "filters").map(_.asInstanceOf[ObjectNode])
      val verdicts = Json.items(answer.json, "scans")
      if (verdicts.size != concerned.size || filters.size != concerned.map(_.keys.size).sum)
        throw new IllegalStateException("The planner's answer does not fit what it was asked.")
      val narrowed = verdicts.flatMap { verdict =>
        val target = concerned(verdict.get("scan").asInt)
        target.narrow(answer, verdict.asInstanceOf[ObjectNode], filters, fillMs).map(target.scan -> _)
      }
      val record = Json.obj("ms" -> (asked - started) / 1e6, "collect_ms" -> (collected - started) / 1e6,
        "round_trip_ms" -> (asked - collected) / 1e6, "filters" -> filters)
      QueryLog.filled(layer, decisionIds(scans), record, narrowed.map(n => ScanMetrics(n._2)))
      replace(plan, narrowed)
    }
  }

  private def collectKeys(plan: SparkPlan, scans: Seq[FileSourceScanExec]): Map[String, FilledKey] = {
    val placeholders = scans.flatMap(RuntimeFilter.in).map(f => f.id -> f).toMap
    plan.collect { case join: BroadcastHashJoinExec => join }.flatMap { join =>
      val wanted = join.getTagValue(PlacedKey.OnJoin).getOrElse(Nil).filter(key => placeholders.contains(key.placeholder))
      val columns = if (wanted.isEmpty) None else BuildKeys.collect(join, wanted)
      columns.toSeq.flatMap(wanted.zip(_)).map { case (key, values) =>
        key.placeholder -> FilledKey(placeholders(key.placeholder), key, values, BuildKeys.buildRows(join))
      }
    }.toMap
  }

  /** One round trip; a second one only for a file list that the host does not know (it was restarted, say). */
  private def askForVerdicts(scans: Seq[ScanFill]): Answer = {
    val keys = scans.flatMap(_.keys).flatMap(k => k.values.distinct.map(k.placeholder.id -> _))
    val offsets = keys.map(_._2.length * 8).scanLeft(0)(_ + _)
    val slices = keys.map(_._1).zip(offsets).toMap
    val request = Seq("scans" -> scans.zipWithIndex.map { case (scan, i) => scan.request(i, slices) })
    def send() = layer.ask("fill", request, keys.map { case (_, values) => Body.of(values) })
    val answer = send()
    val unknown = Json.items(answer.json, "unknown_digests").map(_.asText).toSet
    if (unknown.isEmpty) answer
    else {
      scans.filter(s => unknown(s.files.digest)).foreach(s => Footers.fetch(layer, s.scan, s.files, s.columns))
      send()
    }
  }

  private def replace(plan: SparkPlan, narrowed: Seq[(FileSourceScanExec, SparkPlan)]): SparkPlan = plan.transformUp {
    case scan: FileSourceScanExec if RuntimeFilter.in(scan).nonEmpty && !scan.isInstanceOf[NarrowedScan] =>
      narrowed.collectFirst { case (old, changed) if old eq scan => changed }.getOrElse(FillFilters.asPlanned(scan))
  }

  private def decisionIds(scans: Seq[FileSourceScanExec]): Seq[String] = scans.flatMap(RuntimeFilter.in).map(_.id.takeWhile(_ != '.')).distinct

  private def leaveAlone(plan: SparkPlan, scans: Seq[FileSourceScanExec], e: Throwable): SparkPlan = {
    val cause = e match { case _: Refused | _: HostUnavailable => None; case other => Some(other) }
    val text = s"${Option(e.getMessage).getOrElse(e.toString)} The query runs as Spark planned it."
    layer.warnOnce(text, cause)
    val failed = scans.flatMap(RuntimeFilter.in).map(f => Json.obj("id" -> f.id, "decision" -> "failed", "reason" -> "PLANNER_FAILED", "detail" -> text))
    QueryLog.filled(layer, decisionIds(scans), Json.obj("error" -> text, "filters" -> failed), Nil)
    plan.transformUp { case scan: FileSourceScanExec if RuntimeFilter.in(scan).nonEmpty => FillFilters.asPlanned(scan) }
  }
}

object FillFilters {
  /** The scan without placeholders: what Spark planned. */
  def asPlanned(scan: FileSourceScanExec): FileSourceScanExec = {
    val plain = scan.copy(dataFilters = RuntimeFilters.without(scan))
    plain.copyTagsFrom(scan)
    plain
  }
}

/** A scan with filled keys: the question about it, and the scan that comes of the answer. */
final class ScanFill(layer: LayerSession, val scan: FileSourceScanExec, val keys: Seq[FilledKey]) {
  lazy val files: ScanFiles = ScanFiles.of(scan)
  def columns: Seq[String] = keys.map(columnName).distinct

  private def column(key: FilledKey) = scan.output.find(_.semanticEquals(key.placeholder.child)).get
  private def columnName(key: FilledKey): String = column(key).name

  def request(number: Int, slices: Map[String, Int]): ObjectNode = Json.obj("scan" -> number, "files" -> files.digest, "filters" -> keys.map { k =>
    val exact = k.values.distinct
    val some = k.values.seen > 0
    Json.obj("id" -> k.placeholder.id, "column" -> columnName(k), "type" -> column(k).dataType.catalogString, "kinds" -> k.key.kinds,
      "complete" -> exact.isDefined, "min" -> Option.when(some)(k.values.min), "max" -> Option.when(some)(k.values.max),
      "distinct" -> exact.map(_.length.toLong).getOrElse(k.values.seen), "build_rows" -> k.buildRows.getOrElse(BigInt(k.values.seen)),
      "keys" -> exact.map(values => Json.obj("at" -> slices(k.placeholder.id), "count" -> values.length)))
  })

  /** The narrowed scan, or None when the answer is to leave it. */
  def narrow(answer: Answer, verdict: ObjectNode, filters: Seq[ObjectNode], fillMs: Long): Option[NarrowedScan] =
    if (!verdict.path("apply").asBoolean(false)) None
    else {
      val selection = PackSelection(perFile(answer, verdict), showsLengths = scan.fileConstantMetadataColumns.nonEmpty)
      val applied = keys.flatMap(k => filters.find(f => f.get("id").asText == k.placeholder.id && f.get("decision").asText == "applied").map(k -> _))
      val shown = applied.map { case (k, f) => k.placeholder.copy(state =
        s"${f.get("kind").asText} of ${f.get("keys").asLong} keys, ${f.get("packs_kept").asLong} of ${f.get("packs_total").asLong} packs") }
      val metrics = new PackMetrics(scan.relation.sparkSession.sparkContext, verdict.get("packs_total").asLong, selection.droppedFiles, fillMs)
      Some(NarrowedScan(scan, selection, applied.map { case (k, f) => predicate(k, f) }, shown, metrics))
    }

  private def predicate(key: FilledKey, filter: ObjectNode): KeyPredicate = {
    val values = key.values.distinct.filter(_ => filter.path("push").asText == "set").map(new KeySet(_)).getOrElse(KeyRange(key.values.min, key.values.max))
    KeyPredicate(columnName(key), column(key).dataType == DateType, values, filter.path("dictionary").asBoolean(false))
  }

  private def perFile(answer: Answer, verdict: ObjectNode): Map[String, FilePacks] = {
    val counts = answer.ints(verdict.get("counts").asInstanceOf[ObjectNode])
    val starts = answer.longs(verdict.get("starts").asInstanceOf[ObjectNode])
    val kept = answer.bytes(verdict.get("keep").asInstanceOf[ObjectNode])
    if (counts.length != files.paths.length || starts.length != kept.length || counts.filter(_ > 0).sum != starts.length)
      throw new IllegalStateException("the planner's verdict does not fit the scan's files")
    var next = 0
    files.paths.indices.filter(counts(_) >= 0).map { i =>
      val order = (next until next + counts(i)).sortBy(starts(_))
      next += counts(i)
      files.paths(i) -> new FilePacks(order.map(starts(_)).toArray, order.map(kept(_)).toArray, files.sizes(i))
    }.toMap
  }
}
