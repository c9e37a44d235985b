package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.{Expression, PlanExpression}
import org.apache.spark.sql.execution.{CommandResultExec, FileSourceScanExec, LocalTableScanExec, SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, AdaptiveSparkPlanHelper, QueryStageExec}
import org.apache.spark.sql.execution.command.ExecutedCommandExec
import org.apache.spark.sql.execution.datasources.v2.V2CommandExec
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import scala.collection.mutable
import scala.util.Try

/**
 * What the layer did in one execution, in a session with these options; `report.py` makes a report of it. Stages of a frame whose RDD is asked
 * for run without an execution: such a record has none.
 */
final class QueryRecord(val execution: Option[Long], val session: String, description: Option[String], val options: Map[String, String], val python: String) {
  private val decisions = mutable.LinkedHashMap.empty[String, ObjectNode]
  private val fills = mutable.ArrayBuffer.empty[ObjectNode]
  private val scans = mutable.ArrayBuffer.empty[ScanMetrics]
  private val rowFilters = mutable.ArrayBuffer.empty[RowMetrics]

  /** By thread: adaptive execution makes all plans of a query in one, those of a subquery in another. Checked on 4.3. */
  val answers = mutable.Map.empty[Thread, ReusableAnswer]
  /** What the layer held the query up for. */
  val own = new LayerTime
  val files = mutable.Map.empty[(Int, Seq[Expression]), ScanFiles]
  private var ended = false
  /** As it was at its end: a plan that runs again counts anew. */
  private var atEnd: Option[ObjectNode] = None
  /** Some answer asked for the plan as it will have run. */
  @volatile var wantsEnd = false
  /** Why the layer has no part, where it has none: `whyIdle`. */
  @volatile var idle = "NOTHING_DUE"
  def logs: Boolean = options.get(LayerOptions.LogPath).exists(_.nonEmpty)
  def isEmpty: Boolean = synchronized(decisions.isEmpty && fills.isEmpty)
  /** Decisions of plans that it ran, whatever became of them in later plans. */
  private val ofPlans = mutable.Set.empty[String]
  private var treeRows = Map.empty[String, Long]
  def readTrees(rows: Map[String, Long]): Unit = synchronized { treeRows = rows }
  def ran(ids: Seq[String]): Unit = synchronized(ofPlans ++= ids)
  def has(id: String): Boolean = synchronized(decisions.contains(id) || ofPlans(id))
  def end(): Unit = synchronized { atEnd = Some(toJson); ended = true; answers.clear(); files.clear() }
  def remember(answer: ReusableAnswer): Unit = synchronized { wantsEnd ||= answer.wantsEnd; if (!ended) answers(Thread.currentThread) = answer }

  def decided(id: String, decision: ObjectNode): Unit = synchronized { decisions.getOrElseUpdate(id, decision); () }
  def filled(fill: ObjectNode, narrowed: Seq[ScanMetrics], rows: Seq[RowMetrics]): Unit = synchronized { fills += fill; scans ++= narrowed; rowFilters ++= rows }

  def toJson: ObjectNode = synchronized {
    atEnd.getOrElse(Json.obj("execution" -> execution, "session" -> session, "description" -> description, "idle" -> idle, "decisions" -> decisions.values, "tree_rows" -> treeRows, "fills" -> fills,
      "scans" -> scans.map(_.toJson), "row_filters" -> rowFilters.map(_.toJson), "own_ms" -> own.toMs))
  }
}

/** The latest executions, and decisions of plans that have not run yet. Bounded. */
object QueryLog extends AdaptiveSparkPlanHelper with Logging {
  private val Kept = 200
  private val NoExecution = "rtfilter.rdd"
  private val records = new mutable.LinkedHashMap[Run, QueryRecord]
  /** By decision: what was decided, and the run without an execution that it may be for. */
  private val planned = new mutable.LinkedHashMap[String, (ObjectNode, Option[Run])]
  /** By execution: what the query log has of one of which there is no record. */
  private val unstaged = new mutable.LinkedHashMap[Long, QueryRecord]
  private var lastExecution = -1L
  private var rdds = 0

  /** Ordered as they began: `rdd` counts what ran without an execution after that one. */
  private final case class Run(execution: Long, rdd: Int)

  /** A plan is prepared or planned anew. What is prepared outside an execution may never run: it has no record until a stage of it starts. */
  def prepared(layer: LayerSession, plan: SparkPlan, atOnce: Boolean): Unit = if (!plan.exists(_.isInstanceOf[QueryStageExec])) synchronized {
    val why = whyIdle(layer, plan)
    if (layer.executionId.isDefined) record(layer).filter(_.isEmpty).foreach(_.idle = why)
    // Spark does not tell when a plan without stages starts: what is decided of it is of no run before.
    else if (atOnce) layer.session.sparkContext.setLocalProperty(NoExecution, null)
    else { rdds += 1; layer.session.sparkContext.setLocalProperty(NoExecution, s"$lastExecution $rdds $why") }
  }

  /** A plan without stages is about to run, whose options are the session's of this moment. */
  def begun(layer: LayerSession, plan: SparkPlan): Unit = Try(for (id <- layer.executionId if layer.logs && !synchronized(records.contains(Run(id, 0)))) synchronized {
    unstaged.getOrElseUpdate(id, { val found = newRecord(layer, Some(id)); found.idle = whyIdle(layer, plan); found })
    trim(unstaged)
  })

  /** A stage is about to start. */
  def starts(layer: LayerSession): Unit = synchronized {
    record(layer)
    if (layer.executionId.isEmpty) for ((run, why) <- rddRun(layer)) {
      val found = records.getOrElseUpdate(run, newRecord(layer, None))
      if (found.isEmpty) found.idle = why
      planned.foreach { case (id, (decision, Some(`run`))) => found.decided(id, decision); case _ => }
      trim(records)
    }
  }

  /** Why nothing is asked of the planner for a plan; the planner's own reasons are other ones. */
  def whyIdle(layer: LayerSession, plan: SparkPlan): String =
    if (!layer.enabled) "LAYER_OFF"
    else if (!layer.adaptive) "ADAPTIVE_OFF"
    else if (find(plan)(_.isInstanceOf[BaseJoinExec]).isEmpty) "NO_JOIN"
    else if (find(plan)(PlaceFilters.hasKeys).isEmpty) "NO_EQUALITY"
    else if (find(plan)(_.isInstanceOf[FileSourceScanExec]).isEmpty) "NO_FILE_SCAN"
    else "NOTHING_DUE"

  def planned(layer: LayerSession, id: String, decision: ObjectNode): Unit = synchronized {
    planned(id) = (decision, if (layer.executionId.isDefined) None else rddRun(layer).map(_._1))
    trim(planned)
    record(layer).foreach(_.decided(id, decision))
  }

  def remember(layer: LayerSession, answer: ReusableAnswer): Unit = synchronized(record(layer).foreach(_.remember(answer)))
  def spent(layer: LayerSession, steps: Seq[(String, Long)]): Unit = synchronized(layer.executionId.flatMap(id => records.get(Run(id, 0)))).foreach(r => steps.foreach((r.own.add _).tupled))

  /**
   * The files of a scan, listed once an execution: they are asked for ahead of its stage, when its keys are there, and for each new plan. A list that has become
   * old meanwhile does no harm: a file is narrowed only while it has the size and time that it had, and others are read whole. Partition filters that hold a
   * subquery (dynamic partition pruning) are left out: the list may only be too long.
   */
  def files(layer: LayerSession, scan: FileSourceScanExec): ScanFiles = synchronized {
    val (location, static) = (scan.relation.location, scan.partitionFilters.filterNot(_.exists(_.isInstanceOf[PlanExpression[_]])))
    layer.executionId.flatMap(_ => record(layer)).fold(mutable.Map.empty[(Int, Seq[Expression]), ScanFiles])(_.files)
      .getOrElseUpdate((System.identityHashCode(location), static), new ScanFiles(location, static))
  }

  def answer(layer: LayerSession): Option[ReusableAnswer] = synchronized(record(layer).flatMap(_.answers.get(Thread.currentThread)))

  def filled(layer: LayerSession, decisionIds: Iterable[String], fill: ObjectNode, narrowed: Seq[ScanMetrics], rows: Seq[RowMetrics]): Unit = synchronized {
    record(layer).foreach { r =>
      decisionIds.foreach(id => planned.get(id).foreach(p => r.decided(id, p._1)))
      r.filled(fill, narrowed, rows)
    }
  }

  /** An execution has ended: one that made no plan of its own ran one that was finished before, or none that the hooks get to see. */
  private def ended(end: SparkListenerSQLExecutionEnd): Option[QueryRecord] = synchronized {
    val run = Run(end.executionId, 0)
    lastExecution = math.max(lastExecution, end.executionId)
    val own = records.get(run)
    val ids = if (end.qe == null) Nil else Try(decisionsOf(end.qe.executedPlan)).getOrElse(Nil)
    own.filterNot(_.isEmpty).foreach(_.ran(ids))
    if (end.qe != null) own.foreach(r => Try(r.readTrees(Inspect.treeRows(end.qe.executedPlan))))
    if (end.qe != null && own.forall(_.isEmpty)) {
      val before = if (own.isDefined) None else records.values.find(r => ids.exists(r.has))
      before.foreach(records(run) = _)
      // Commands that read nothing, SET among them, are no queries.
      if (before.isEmpty && (own.isDefined || readsSomething(end.qe.executedPlan))) {
        val layer = new LayerSession(end.qe.sparkSession)
        val found = records.getOrElseUpdate(run, newRecord(layer, Some(end.executionId)))
        if (own.isEmpty) found.idle = whyIdle(layer, end.qe.executedPlan)
        ids.filterNot(id => records.values.exists(_.has(id))).foreach(id => planned.get(id).foreach(p => found.decided(id, p._1)))
      }
      trim(records)
    }
    own.foreach(_.end())
    // A plan that runs once more has its decisions in the record of the first time.
    own.orElse(unstaged.remove(end.executionId)).orElse(Option(end.qe).map(q => newRecord(new LayerSession(q.sparkSession), Some(end.executionId)))).filter(r => !r.isEmpty || r.logs)
  }

  private def readsSomething(plan: SparkPlan): Boolean = collect(plan) { case leaf if leaf.children.isEmpty => leaf }
    .exists { case _: ExecutedCommandExec | _: CommandResultExec | _: V2CommandExec | _: LocalTableScanExec => false; case _ => true }

  /** Of the plan itself and of caches that it reads. */
  private def decisionsOf(plan: SparkPlan): Seq[String] =
    Inspect.withCaches(plan).flatMap(Inspect.decisionTexts).map(text => Json.parse(text).path("decision").asText).filter(_.nonEmpty).distinct

  /** The host writes the log and learns from the figures; the query has its rows by now. */
  def finished(host: PlannerHost, end: SparkListenerSQLExecutionEnd): Unit = ended(end).foreach { record =>
    try {
      val ran = if (record.wantsEnd) Try(plansThatRan(end)).getOrElse(Nil) else Nil
      // Of a plan that can't be told the log says that much.
      val (asked, again) = if (!record.logs) (Nil, false) else try asPlanned(end)(AskedPlans.of(end.qe, end.executionId)) catch { case Survivable(_) => (Seq(Nil), false) }
      if (!record.isEmpty || asked.nonEmpty) {
        val answer = host.ask(record.python, 5000, Json.obj("op" -> "executed", "conf" -> record.options, "record" -> record.toJson, "plans" -> ran, "asked" -> asked, "again" -> again,
          "ms" -> end.duration / 1e6, "failed" -> end.errorMessage.exists(_.nonEmpty))).json
        val error = answer.path("error").asText
        // Wrong options were warned of when the query was planned, with the layer on.
        if (answer.path("kind").asText == "option") { if (asked.nonEmpty) new LayerSession(end.qe.sparkSession).warnOnce(error) }
        else if (!answer.path("ok").asBoolean(false)) logWarning(Masking(s"rtfilter: $error"))
      }
    } catch { case Survivable(e) => if (record.logs) logWarning(Masking(s"rtfilter: execution ${end.executionId} is not logged: ${e.getMessage}")) }
  }

  /**
   * The query's own and those of its subqueries, told as they were planned: with the session's time zone, and with sizes of tables as they were
   * added up then. Checked on 4.3: `qe` is set on what is posted.
   */
  private def plansThatRan(end: SparkListenerSQLExecutionEnd): Seq[Seq[ObjectNode]] =
    asPlanned(end)(collectWithSubqueries(end.qe.executedPlan) { case adaptive: AdaptiveSparkPlanExec => Snapshot.nodes(Snapshot.number(adaptive.executedPlan)) })

  private def asPlanned[T](end: SparkListenerSQLExecutionEnd)(body: => T): T =
    SQLExecution.withExecutionId(end.qe.sparkSession, end.executionId.toString)(end.qe.sparkSession.withActive(body))

  /** The latest run in a session or in one that was cloned from it. */
  def last(session: String): Option[QueryRecord] = synchronized(
    records.toSeq.filter(_._2.session == session).maxByOption { case (Run(execution, rdd), _) => (execution, rdd) }.map(_._2))

  private def record(layer: LayerSession): Option[QueryRecord] = layer.executionId.map { id =>
    lastExecution = math.max(lastExecution, id)
    val found = records.getOrElseUpdate(Run(id, 0), newRecord(layer, Some(id)))
    trim(records)
    found
  }.orElse(rddRun(layer).flatMap { case (run, _) => records.get(run) })

  private def newRecord(layer: LayerSession, execution: Option[Long]): QueryRecord =
    new QueryRecord(execution, layer.family, layer.description, layer.options, layer.python)

  private def rddRun(layer: LayerSession): Option[(Run, String)] =
    Option(layer.session.sparkContext.getLocalProperty(NoExecution)).map(_.split(' ')).map { case Array(after, number, why) => (Run(after.toLong, number.toInt), why) }

  private def trim[K](map: mutable.LinkedHashMap[K, _]): Unit = while (map.size > Kept) map.remove(map.head._1)
}
