package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.util.Utils

/** What the rules need of a session: its options as text, its planner host, the execution that it is in. */
final class LayerSession(val session: SparkSession) extends Logging {
  private def conf = session.sessionState.conf
  private val chosen = new LayerOptions(session)

  /** Anything but "false" is the planner's to judge: it refuses what is no boolean. */
  def enabled: Boolean = !chosen.get("rtfilter.enabled").forall(_.equalsIgnoreCase("false"))

  def adaptive: Boolean = conf.adaptiveExecutionEnabled

  def verify: Boolean = chosen.get("rtfilter.verify").exists(_.equalsIgnoreCase("true"))

  /** Whether each query leaves a line in the query log. */
  def logs: Boolean = chosen.get(LayerOptions.LogPath).exists(_.nonEmpty)

  def usesStarTrees: Boolean = !chosen.get("rtfilter.startree.enabled").exists(_.equalsIgnoreCase("false"))

  def storeLocation: String = chosen.get("rtfilter.store.location").getOrElse("")

  def options: Map[String, String] = chosen.all

  def ask(op: String, fields: Seq[(String, Any)], body: Seq[Array[Byte]] = Nil, timeoutMs: Option[Long] = None): Answer = {
    val own = options
    val host = PlannerHost.of(session)
    val message = Json.obj(Seq("op" -> op, "conf" -> own, "spark" -> Map("adaptive" -> adaptive,
      "case_sensitive" -> conf.caseSensitiveAnalysis, "field_id_read" -> conf.parquetFieldIdReadEnabled, "reuse" -> conf.exchangeReuseEnabled,
      "cores" -> LayerSession.cores(session.sparkContext), "version" -> session.sparkContext.version, "master" -> session.sparkContext.master)) ++ fields: _*)
    val answer = host.ask(python, timeoutMs.getOrElse(number("rtfilter.planner.timeoutMs", 2000L)), message, body)
    LayerTime.elsewhere(s"host: $op", (answer.json.path("took_ms").asDouble(0.0) * 1e6).toLong)
    if (!answer.json.path("ok").asBoolean(false)) throw new Refused(answer.json.path("error").asText("the planner gave no reason"))
    answer
  }

  def id: String = SparkVersion.sessionId(session)

  /** The id of the session that this one was cloned from, as Spark does for caches and streams and the layer for frames; else its own. */
  def family: String = conf.getConfString(LayerOptions.Family, id)

  /** What is cloned from the session from now on belongs to it. */
  def beginFamily(): Unit = if (conf.getConfString(LayerOptions.Family, null) == null) conf.setConfString(LayerOptions.Family, id)

  def python: String = chosen.python.orElse(PlannerHost.of(session).offeredPython).getOrElse("python3")

  /** Says once of each option of the session that it does not count. */
  def warnOfIgnored(): Unit = chosen.ignored.foreach(warnOnce(_))

  /** A whole number among the options; `otherwise` where neither the session nor the host knows one. */
  def number(option: String, otherwise: Long): Long =
    chosen.get(option).orElse(PlannerHost.of(session).default(option)).flatMap(_.toLongOption).filter(_ > 0).getOrElse(otherwise)

  def executionId: Option[Long] = Option(session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)).map(_.toLong)

  /**
   * Whether what is made of a plan's rows may not be in it. Checked on 4.3: an RDD of rows is planned outside of an execution, and so is a cached
   * frame, in a clone of its session with this setting off (CacheManager), where it stays when it is planned anew while some query runs.
   */
  def goesOn: Boolean = executionId.isEmpty || !conf.autoBucketedScanEnabled

  def description: Option[String] = Option(session.sparkContext.getLocalProperty(SparkContext.SPARK_JOB_DESCRIPTION))

  /** One warning for each text and session. */
  def warnOnce(text: String, cause: Option[Throwable] = None): Unit =
    if (LayerSession.warned.putIfAbsent((id, text), java.lang.Boolean.TRUE) == null) cause match {
      // The stack as text: messages of causes name places too. Utils.exceptionString: checked on 4.3.
      case Some(e) => logWarning(Masking(s"rtfilter: $text\n${Utils.exceptionString(e)}"))
      case None => logWarning(Masking(s"rtfilter: $text"))
    }
}

/** The planner answered that it will not: an option that does not exist, say. */
final class Refused(message: String) extends Exception(message)

object LayerSession {
  /** What went wrong, as a sentence with its full stop. */
  def sentence(e: Throwable): String = {
    val text = Option(e.getMessage).getOrElse(e.toString).trim
    if (text.isEmpty || ".!?".contains(text.last)) text else s"$text."
  }

  /** A session that ends does not say so. */
  private val warned = BoundedMap[(String, String), java.lang.Boolean](1000)

  /** How many tasks run side by side; spark.default.parallelism, where it is set, says something else. SparkContext.numDriverCores: checked on 4.3. */
  def cores(context: SparkContext): Int =
    if (!context.getConf.contains("spark.default.parallelism")) context.defaultParallelism
    else if (context.isLocal) SparkContext.numDriverCores(context.master)
    else math.max(context.getExecutorIds().size, 1) * context.getConf.getInt("spark.executor.cores", 1)
}
