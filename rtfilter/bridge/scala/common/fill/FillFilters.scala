package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.SparkException
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, IsNotNull, PredicateHelper}
import org.apache.spark.sql.catalyst.optimizer.BuildLeft
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{FileSourceScanExec, FilterExec, SparkPlan}
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import scala.util.control.NonFatal

/**
 * Second hook, before a stage runs: reads the keys of finished build sides, asks which packs they reject, narrows the scans. `atOnce`: when a plan
 * without stages is prepared, which need not run.
 */
class FillFilters(session: SparkSession, atOnce: Boolean = false) extends Rule[SparkPlan] {
  private lazy val layer = new LayerSession(session)

  override def apply(plan: SparkPlan): SparkPlan = {
    if (!atOnce) QueryLog.starts(layer)
    val scans = plan.collect { case scan: FileSourceScanExec if RuntimeFilter.in(scan).nonEmpty => scan }
    if (scans.isEmpty && !plan.exists(_.isInstanceOf[Gate])) plan
    else LayerTime.in(layer, "fill")(try {
      if (layer.enabled && scans.nonEmpty) fill(plan, scans) else FilledStage.asPlanned(plan)
    } catch {
      case e if FillFilters.isCancellation(e) => throw e
      case Survivable(e) => leaveAlone(plan, scans, e)
    })
  }

  private def fill(plan: SparkPlan, scans: Seq[FileSourceScanExec]): SparkPlan = {
    val started = System.nanoTime()
    val placeholders = scans.flatMap(RuntimeFilter.in).map(f => f.id -> f).toMap
    val sources = sourcesOf(plan, placeholders.keySet)
    val jobFromRows = layer.number("rtfilter.keys.jobFromRows", 65536L)
    val (missed, found) = sources.map(source => source -> LayerTime.in(layer, "collect keys")(source.collect(jobFromRows))).partitionMap {
      case (source, Left(why)) => Left(source.skipped(why))
      case (source, Right(sinks)) => Right(source.own.map(key =>
        FilledKey(placeholders(key.placeholder), key, sinks(source.all.indexWhere(_.nameless == key.nameless)), source.rows)))
    }
    val keys = found.flatten.map(k => k.placeholder.id -> k).toMap
    val collected = System.nanoTime()
    val concerned = scans.distinct.map(scan => new ScanFill(layer, scan, RuntimeFilter.in(scan).flatMap(f => keys.get(f.id)))).filter(_.expected > 0)
    LayerTime.in(layer, "list files")(concerned.foreach(_.files.digest))
    val answer = if (concerned.isEmpty) None else Some(LayerTime.in(layer, "ask for verdicts")(askForVerdicts(concerned)))
    val asked = System.nanoTime()
    val filters = answer.toSeq.flatMap(a => Json.items(a.json, "filters")).map(_.asInstanceOf[ObjectNode])
    val verdicts = answer.toSeq.flatMap(a => Json.items(a.json, "scans"))
    if (verdicts.size != concerned.size || filters.size != concerned.map(_.expected).sum)
      throw new IllegalStateException("The planner's answer does not fit what it was asked.")
    val fillMs = (asked - started) / 1000000
    val filled = verdicts.map(v => concerned(v.get("scan").asInt).outcome(answer.get, v.asInstanceOf[ObjectNode], filters, fillMs))
    val record = Json.obj("ms" -> (asked - started) / 1e6, "collect_ms" -> (collected - started) / 1e6,
      "round_trip_ms" -> (asked - collected) / 1e6, "footers" -> answer.map(_.json.path("footers")), "filters" -> (filters ++ missed.flatten))
    val result = LayerTime.in(layer, "narrow")(FilledStage(plan, filled))
    QueryLog.filled(layer, decisionIds(scans), record, result.collect { case scan: NarrowedScan => ScanMetrics(scan) },
      result.collect { case rows: RowFilterExec => RowMetrics(rows.filter, rows.metrics) })
    result
  }

  /** Gates, and broadcast joins whose probe scans are in this stage. */
  private def sourcesOf(plan: SparkPlan, ids: Set[String]): Seq[KeySource] = plan.collect {
    case gate: Gate => KeySource(gate.right, gate.buildKeys, gate.own.filter(k => ids(k.placeholder)), gate.all)
    case join: BroadcastHashJoinExec if join.getTagValue(PlacedKey.OnJoin).isDefined =>
      val wanted = join.getTagValue(PlacedKey.OnJoin).get.filter(k => ids(k.placeholder))
      val (build, keys) = if (join.buildSide == BuildLeft) (join.left, join.leftKeys) else (join.right, join.rightKeys)
      KeySource(build, keys, wanted, wanted)
  }.filter(_.own.nonEmpty)

  /** One round trip; a second one only for a file list that the host does not know (it was restarted, say). */
  private def askForVerdicts(scans: Seq[ScanFill]): Answer = {
    val body = new BodyParts
    val request = Seq("scans" -> scans.zipWithIndex.map { case (scan, i) => scan.request(i, body) })
    val parts = body.layOut()
    def send() = layer.ask("fill", request, parts)
    val answer = send()
    val unknown = Json.items(answer.json, "unknown_digests").map(_.asText).toSet
    if (unknown.isEmpty) answer
    else {
      scans.filter(s => unknown(s.files.digest)).foreach(s => Footers.tell(layer, s.scan, s.files, s.columns))
      send()
    }
  }

  private def decisionIds(scans: Seq[FileSourceScanExec]): Seq[String] = scans.flatMap(RuntimeFilter.in).map(_.id.takeWhile(_ != '.')).distinct

  private def leaveAlone(plan: SparkPlan, scans: Seq[FileSourceScanExec], e: Throwable): SparkPlan = {
    val cause = e match { case _: Refused | _: HostUnavailable => None; case other => Some(other) }
    val text = s"${LayerSession.sentence(e)} The query runs as Spark planned it."
    layer.warnOnce(text, cause)
    val failed = scans.flatMap(RuntimeFilter.in).map(f => Json.obj("id" -> f.id, "decision" -> "failed", "reason" -> "PLANNER_FAILED", "detail" -> text))
    QueryLog.filled(layer, decisionIds(scans), Json.obj("error" -> text, "filters" -> failed), Nil, Nil)
    FilledStage.asPlanned(plan)
  }
}

/** What must not end a query: a Spark that was built otherwise, or a plan too deep for the stack, among it. */
object Survivable {
  def unapply(e: Throwable): Option[Throwable] = e match {
    case _: LinkageError | _: StackOverflowError => Some(e)
    case other => NonFatal.unapply(other)
  }
}

object FillFilters {
  /** A query that is cancelled while its keys are collected must end, not go on without a filter. */
  def isCancellation(e: Throwable): Boolean = e match {
    case _: InterruptedException => true
    case spark: SparkException if spark.getCondition == "SPARK_JOB_CANCELLED" => true
    case other => other.getCause != null && (other.getCause ne other) && isCancellation(other.getCause)
  }
}

/** A finished build side and what is read out of it. */
final case class KeySource(build: SparkPlan, keys: Seq[Expression], own: Seq[PlacedKey], all: Seq[PlacedKey]) {
  def collect(jobFromRows: Long): CollectKeys.Collected = CollectKeys.from(build, keys, all, jobFromRows)
  lazy val rows: Option[BigInt] = CollectKeys.rows(build)
  def skipped(why: NotCollected): Seq[ObjectNode] = own.map(key => Json.obj("id" -> key.placeholder, "decision" -> "skipped",
    "reason" -> why.reason, "detail" -> why.detail, "build_rows" -> rows))
}

/** What becomes of one scan: itself or a narrowed one, and the row filters above it. */
final case class FilledScan(scan: FileSourceScanExec, changed: FileSourceScanExec, rows: Seq[SparkPlan => RowFilterExec])

/** A stage's plan with its scans filled, without gates and without placeholders. */
object FilledStage extends PredicateHelper {
  def asPlanned(plan: SparkPlan): SparkPlan = apply(plan, Nil)

  def apply(plan: SparkPlan, filled: Seq[FilledScan]): SparkPlan = plan match {
    case gate: Gate => apply(gate.left, filled)
    case filter @ FilterExec(condition, scan: FileSourceScanExec) if RuntimeFilter.in(scan).nonEmpty =>
      val outcome = of(scan, filled)
      // A question for nulls reads the column it asks about, so rows are dropped before it; other conditions may cost less than a test, or fail.
      if (splitConjunctivePredicates(condition).forall { case IsNotNull(_: Attribute) => true; case _ => false })
        filter.withNewChildren(Seq(withRows(outcome.changed, outcome)))
      else withRows(filter.withNewChildren(Seq(outcome.changed)), outcome)
    case scan: FileSourceScanExec if RuntimeFilter.in(scan).nonEmpty && !scan.isInstanceOf[NarrowedScan] =>
      val outcome = of(scan, filled)
      withRows(outcome.changed, outcome)
    case other => other.mapChildren(apply(_, filled))
  }

  private def withRows(plan: SparkPlan, outcome: FilledScan): SparkPlan = outcome.rows.foldLeft(plan)((below, rows) => rows(below))

  private def of(scan: FileSourceScanExec, filled: Seq[FilledScan]): FilledScan =
    filled.find(_.scan eq scan).getOrElse(FilledScan(scan, withoutFilters(scan), Nil))

  /** The scan that Spark planned. */
  def withoutFilters(scan: FileSourceScanExec): FileSourceScanExec = {
    val plain = scan.copy(dataFilters = RuntimeFilter.without(scan))
    plain.copyTagsFrom(scan)
    plain
  }
}
