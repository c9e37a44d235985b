package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths, StandardOpenOption}
import org.apache.spark.internal.Logging
import scala.collection.mutable
import scala.util.control.NonFatal

/** What the layer did in one execution; `report.py` makes a report of it. */
final class QueryRecord(val execution: Long, val session: String, description: Option[String], logPath: String) {
  private val decisions = mutable.LinkedHashMap.empty[String, ObjectNode]
  private val fills = mutable.ArrayBuffer.empty[ObjectNode]
  private val scans = mutable.ArrayBuffer.empty[ScanMetrics]
  private val rowFilters = mutable.ArrayBuffer.empty[RowMetrics]

  def decided(id: String, decision: ObjectNode): Unit = synchronized { decisions.getOrElseUpdate(id, decision); () }
  def filled(fill: ObjectNode, narrowed: Seq[ScanMetrics], rows: Seq[RowMetrics]): Unit = synchronized {
    fills += fill
    scans ++= narrowed
    rowFilters ++= rows
  }

  def toJson: ObjectNode = synchronized {
    Json.obj("execution" -> execution, "session" -> session, "description" -> description, "decisions" -> decisions.values, "fills" -> fills,
      "scans" -> scans.map(_.toJson), "row_filters" -> rowFilters.map(_.toJson))
  }

  def appendToLog(): Unit = if (logPath.nonEmpty)
    Files.write(Paths.get(logPath), (Json.mapper.writeValueAsString(toJson) + "\n").getBytes(UTF_8), StandardOpenOption.CREATE, StandardOpenOption.APPEND)
}

/** The latest executions with the layer on, and decisions of plans that have not run yet. Bounded. */
object QueryLog extends Logging {
  private val Kept = 200
  private val records = new mutable.LinkedHashMap[Long, QueryRecord]
  private val planned = new mutable.LinkedHashMap[String, ObjectNode]

  def planned(layer: LayerSession, id: String, decision: ObjectNode): Unit = synchronized {
    planned(id) = decision
    trim(planned)
    record(layer).foreach(_.decided(id, decision))
  }

  def filled(layer: LayerSession, decisionIds: Iterable[String], fill: ObjectNode, narrowed: Seq[ScanMetrics], rows: Seq[RowMetrics]): Unit = synchronized {
    record(layer).foreach { r =>
      decisionIds.foreach(id => planned.get(id).foreach(r.decided(id, _)))
      r.filled(fill, narrowed, rows)
    }
  }

  def finished(execution: Long): Unit = {
    val record = synchronized(records.get(execution))
    try record.foreach(_.appendToLog())
    catch { case NonFatal(e) => logWarning(s"rtfilter: the query log can't be written (rtfilter.log.path): $e") }
  }

  def last(sessions: Set[String]): Option[QueryRecord] = synchronized(records.values.toSeq.reverseIterator.find(r => sessions(r.session)))

  private def record(layer: LayerSession): Option[QueryRecord] = layer.executionId.map { id =>
    val found = records.getOrElseUpdate(id, new QueryRecord(id, layer.id, layer.description,
      layer.session.sessionState.conf.getConfString("rtfilter.log.path", "")))
    trim(records)
    found
  }

  private def trim[K](map: mutable.LinkedHashMap[K, _]): Unit = while (map.size > Kept) map.remove(map.head._1)
}
