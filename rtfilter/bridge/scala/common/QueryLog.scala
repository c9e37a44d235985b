package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, AdaptiveSparkPlanHelper}
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import scala.collection.mutable
import scala.util.Try
import scala.util.control.NonFatal

/** What the layer did in one execution, in a session with these options; `report.py` makes a report of it. */
final class QueryRecord(val execution: Long, val session: String, description: Option[String], val options: Map[String, String], val python: String) {
  private val decisions = mutable.LinkedHashMap.empty[String, ObjectNode]
  private val fills = mutable.ArrayBuffer.empty[ObjectNode]
  private val scans = mutable.ArrayBuffer.empty[ScanMetrics]
  private val rowFilters = mutable.ArrayBuffer.empty[RowMetrics]

  /** By thread: adaptive execution makes all plans of a query in one, those of a subquery in another. Checked on 4.3. */
  val answers = mutable.Map.empty[Thread, LastAnswer]
  private var ended = false
  /** Some answer asked for the plan as it will have run. */
  @volatile var wantsEnd = false
  def end(): Unit = synchronized { ended = true; answers.clear() }
  def remember(answer: LastAnswer): Unit = synchronized { wantsEnd ||= answer.wantsEnd; if (!ended) answers(Thread.currentThread) = answer }

  def decided(id: String, decision: ObjectNode): Unit = synchronized { decisions.getOrElseUpdate(id, decision); () }
  def filled(fill: ObjectNode, narrowed: Seq[ScanMetrics], rows: Seq[RowMetrics]): Unit = synchronized { fills += fill; scans ++= narrowed; rowFilters ++= rows }

  def toJson: ObjectNode = synchronized {
    Json.obj("execution" -> execution, "session" -> session, "description" -> description, "decisions" -> decisions.values, "fills" -> fills,
      "scans" -> scans.map(_.toJson), "row_filters" -> rowFilters.map(_.toJson))
  }
}

/** The latest executions with the layer on, and decisions of plans that have not run yet. Bounded. */
object QueryLog extends AdaptiveSparkPlanHelper with Logging {
  private val Kept = 200
  private val records = new mutable.LinkedHashMap[Long, QueryRecord]
  private val planned = new mutable.LinkedHashMap[String, ObjectNode]

  def planned(layer: LayerSession, id: String, decision: ObjectNode): Unit = synchronized {
    planned(id) = decision
    trim(planned)
    record(layer).foreach(_.decided(id, decision))
  }

  def remember(layer: LayerSession, answer: LastAnswer): Unit = synchronized(record(layer).foreach(_.remember(answer)))
  def answer(layer: LayerSession): Option[LastAnswer] = synchronized(record(layer).flatMap(_.answers.get(Thread.currentThread)))

  def filled(layer: LayerSession, decisionIds: Iterable[String], fill: ObjectNode, narrowed: Seq[ScanMetrics], rows: Seq[RowMetrics]): Unit = synchronized {
    record(layer).foreach { r =>
      decisionIds.foreach(id => planned.get(id).foreach(r.decided(id, _)))
      r.filled(fill, narrowed, rows)
    }
  }

  /** The host writes the log and learns from the figures; the query has its rows by now. */
  def finished(host: PlannerHost, end: SparkListenerSQLExecutionEnd): Unit = synchronized(records.get(end.executionId).tapEach(_.end())).foreach { record =>
    try {
      val ran = if (record.wantsEnd) Try(plansThatRan(end)).getOrElse(Nil) else Nil
      val answer = host.ask(record.python, 5000, Json.obj("op" -> "executed", "conf" -> record.options, "record" -> record.toJson, "plans" -> ran)).json
      // Wrong options were warned of when the query was planned.
      if (!answer.path("ok").asBoolean(false) && answer.path("kind").asText != "option") logWarning(s"rtfilter: ${answer.path("error").asText}")
    } catch { case NonFatal(e) => if (record.options.contains("rtfilter.log.path")) logWarning(s"rtfilter: execution ${end.executionId} is not logged: ${e.getMessage}") }
  }

  /**
   * The query's own and those of its subqueries, told as they were planned: with the session's time zone, and with sizes of tables as they were
   * added up then. Checked on 4.3: `qe` is set on what is posted.
   */
  private def plansThatRan(end: SparkListenerSQLExecutionEnd): Seq[Seq[ObjectNode]] =
    SQLExecution.withExecutionId(end.qe.sparkSession, end.executionId.toString)(end.qe.sparkSession.withActive(
      collectWithSubqueries(end.qe.executedPlan) { case adaptive: AdaptiveSparkPlanExec => Snapshot.nodes(Snapshot.number(adaptive.executedPlan)) }))

  def last(sessions: Set[String]): Option[QueryRecord] = synchronized(records.values.toSeq.reverseIterator.find(r => sessions(r.session)))

  private def record(layer: LayerSession): Option[QueryRecord] = layer.executionId.map { id =>
    val found = records.getOrElseUpdate(id, new QueryRecord(id, layer.id, layer.description, layer.options, layer.python))
    trim(records)
    found
  }

  private def trim[K](map: mutable.LinkedHashMap[K, _]): Unit = while (map.size > Kept) map.remove(map.head._1)
}
