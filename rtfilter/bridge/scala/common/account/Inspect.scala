package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.SparkEnv
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, AdaptiveSparkPlanHelper}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import scala.util.Try

/** A scan's metrics without the scan, whose pack selection may be large. */
final case class ScanMetrics(table: String, narrowed: Boolean, placeholders: Seq[String], metrics: Map[String, SQLMetric]) {
  def toJson: ObjectNode = {
    val json = Json.obj("table" -> table, "narrowed" -> narrowed, "placeholders" -> placeholders)
    metrics.foreach { case (name, metric) => Json.put(json, ScanMetrics.names.getOrElse(name, name), metric.value) }
    json
  }
}

object ScanMetrics {
  private val names = Map("packsTotal" -> "packs_total", "packsKept" -> "packs_kept", "packsRead" -> "packs_read", "rowsSkipped" -> "rows_skipped", "filesDropped" -> "files_dropped",
    "fillTime" -> "fill_ms", "packsByKeys" -> "packs_by_keys", "rowsWanted" -> "rows_wanted", "pagesTotal" -> "pages_total", "pagesKept" -> "pages_kept",
    "keyFirstStops" -> "key_first_stops")

  def apply(scan: FileSourceScanExec): ScanMetrics =
    ScanMetrics(Snapshot.tableName(scan), scan.isInstanceOf[NarrowedScan], RuntimeFilter.in(scan).map(_.id), scan.metrics)
}

/** A row filter's own counts. */
final case class RowMetrics(filter: String, metrics: Map[String, SQLMetric]) {
  def toJson: ObjectNode = Json.obj("filter" -> filter, "rows_tested" -> metrics("rowsTested").value, "rows_dropped" -> metrics("rowsDropped").value,
    "rows_passed" -> metrics("numOutputRows").value)
}

/** What Python asks of a session: reports, decisions of plans, metrics of executed plans. Answers are JSON texts. */
object Inspect extends AdaptiveSparkPlanHelper {
  private val EventsMs = 1000L

  /** `python`: for where the SparkConf names no interpreter. */
  def offerPython(session: SparkSession, python: String): Unit = PlannerHost.of(session).offeredPython = Some(python)
  def sessionId(session: SparkSession): String = SparkVersion.sessionId(session)
  def stateOf(session: SparkSession): AnyRef = SparkVersion.stateOf(session)
  /** Of the planner host that runs, −1 when none does. */
  def hostPid(session: SparkSession): Long = PlannerHost.of(session).pid
  def cores(session: SparkSession): Int = LayerSession.cores(session.sparkContext)
  def rootsOf(session: SparkSession): String = Json.mapper.writeValueAsString(StartHost.rootsOf(session).toArray)

  /** What broadcasts and cached tables take of this JVM's storage memory, in bytes. Checked on 4.3. */
  def storageBytes: Long = SparkEnv.get.memoryManager.storageMemoryUsed

  /** True when the session was made with the extension. */
  def hasExtension(session: SparkSession): Boolean = RtFilterExtension.isIn(session)

  /** The record of the latest execution in the session and those cloned from it, or null. Spark tells of some only when they have ended. */
  def lastRecord(session: SparkSession): String = {
    PlannerHost.of(session)
    Try(session.sparkContext.listenerBus.waitUntilEmpty(EventsMs))
    QueryLog.last(new LayerSession(session).family).map(r => Json.mapper.writeValueAsString(r.toJson)).orNull
  }

  /** The planner's answers for a plan that was prepared with the layer on (it need not have run). */
  def decisions(plan: SparkPlan): String = text(decisionTexts(plan).map(Json.parse))

  /** Why nothing was asked of the planner for such a plan. */
  def idle(session: SparkSession, plan: SparkPlan): String = QueryLog.whyIdle(new LayerSession(session), plan)

  def decisionTexts(plan: SparkPlan): Seq[String] = {
    val roots = plan +: collectWithSubqueries(plan) { case a: AdaptiveSparkPlanExec => a.initialPlan }
    roots.flatMap(root => root.collect { case p if p.getTagValue(PlacedKey.Decision).isDefined => p.getTagValue(PlacedKey.Decision).get } ++ UseStarTrees.decisions(root)).distinct
  }

  /** The planner's answer for a plan that adaptive execution has no part in; nothing is placed. */
  def judge(session: SparkSession, plan: SparkPlan): String = {
    val root = Snapshot.number(plan)
    val nodes = Snapshot.nodes(root)
    StaticPredicates.addTo(new LayerSession(session), root, nodes)
    text(Seq(new LayerSession(session).ask("plan", Seq("decision" -> PlaceFilters.nextDecision(), "nodes" -> nodes)).json))
  }

  /** Spark's own metrics of every file scan of an executed plan, subqueries and reused stages included once. */
  def scanMetrics(plan: SparkPlan): String =
    text(collectWithSubqueries(plan) { case scan: FileSourceScanExec => scan }.distinct.map(ScanMetrics(_).toJson))

  /** The same for the layer's row filters. */
  def rowMetrics(plan: SparkPlan): String =
    text(collectWithSubqueries(plan) { case rows: RowFilterExec => rows }.distinct.map(rows => RowMetrics(rows.filter, rows.metrics).toJson))

  /** By decision the rows that scans of a tree have put out, for caches too that the plan reads. */
  def treeRows(plan: SparkPlan): Map[String, Long] = withCaches(plan).flatMap(collectWithSubqueries(_) { case scan: FileSourceScanExec => scan }).distinct.collect {
    case TreeFiles(files, scan) => files.decision -> scan.metrics("numOutputRows").value
  }.groupMapReduce(_._1)(_._2)(_ + _)

  def withCaches(plan: SparkPlan): Seq[SparkPlan] = plan +: collectWithSubqueries(plan) { case scan: InMemoryTableScanExec => scan.relation.cachedPlan }

  private def text(items: Seq[JsonNode]): String = Json.mapper.writeValueAsString(Json.array(items))
}
