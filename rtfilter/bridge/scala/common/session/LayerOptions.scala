package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.sql.SparkSession
import scala.jdk.CollectionConverters._

/**
 * The options that count for a query. What a call was scoped to (`@rtfilter.pruned`) comes first, then `rtfilter.X` of the session, then
 * `spark.rtfilter.X` of the session, which Spark fills from the SparkConf. An option that names a program is the SparkConf's alone, and so
 * are those that name files and folders where the driver serves several users.
 */
final class LayerOptions(session: SparkSession) {
  import LayerOptions._
  private def conf = session.sessionState.conf
  private def spark: SparkConf = session.sparkContext.conf

  def get(key: String): Option[String] =
    scoped.get(key).orElse(if (!Places(key) || sessionsNamePlaces) ofSession(key) else ofSpark(key))

  def all: Map[String, String] = {
    val entries = conf.getAllConfs
    val inherited = entries.collect { case (key, value) if isOption(key) => key.stripPrefix(Spark) -> value }
    val own = entries.filter(_._1.startsWith(Prefix))
    val places = if (sessionsNamePlaces) Map.empty else Places.flatMap(key => ofSpark(key).map(key -> _)).toMap
    ((inherited ++ own).filterNot { case (key, _) => key == Python || Places(key) && !sessionsNamePlaces } ++ places) ++ scoped
  }

  def python: Option[String] = ofSpark(Python)

  /** What the session says and nobody follows, as sentences. */
  def ignored: Seq[String] =
    (if (sessionsNamePlaces) Seq(Python) else Python +: Places.toSeq.sorted).filter(key => Option(conf.getConfString(key, null)).exists(said => !ofSpark(key).contains(said))).map(key =>
      s"$key of the session is not used: " + (if (key == Python) s"the interpreter comes from $Spark$key of the SparkConf." else s"this driver serves several users, so it comes " +
        s"from $Spark$key of the SparkConf ($SessionPaths=true there lets sessions name files and folders)."))

  private def ofSession(key: String): Option[String] = Option(conf.getConfString(key, null)).orElse(Option(conf.getConfString(Spark + key, null)))
  private def ofSpark(key: String): Option[String] = spark.getOption(Spark + key).orElse(spark.getOption(key))
  private def sessionsNamePlaces: Boolean = !isShared(session.sparkContext) || isYes(spark, SessionPaths)

  private def scoped: Map[String, String] =
    if (conf.getConfString(OfFrame, "false") == "true") Map.empty
    else Option(session.sparkContext.getLocalProperty(Scope)).map(text => entries(Json.parse(text))).getOrElse(Map.empty)
}

object LayerOptions {
  private val Prefix = "rtfilter."
  private val Spark = "spark."
  val Python = "rtfilter.python"
  val LogPath = "rtfilter.log.path"
  /** As the column "set by" of rtfilter/options.py has it. */
  val Places: Set[String] = Set("rtfilter.store.location", "rtfilter.store.cacheDirectory", "rtfilter.store.cacheBytes", "rtfilter.log.path", "rtfilter.log.maxBytes", "rtfilter.log.literals",
    "rtfilter.feedback.path")
  private val Shared = "spark.rtfilter.shared"
  private val SessionPaths = "spark.rtfilter.session.paths"
  /** Entries of a session that say what it was cloned for; no options. */
  private val Own = "spark.rtfilter.internal."
  /** "true" in a session that was made for one frame: its options are the frame's. */
  val OfFrame: String = Own + "frame"
  /** The session that a session was cloned from. */
  val Family: String = Own + "family"
  /** A local property, which threads that Spark starts for a query get too: options as JSON for what a thread runs. */
  val Scope = "rtfilter.scope"

  /** Main classes of drivers that run other people's queries. */
  private val Servers = Seq("org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "org.apache.spark.sql.connect.service.SparkConnectServer",
    "org.apache.kyuubi.", "org.apache.livy.")
  private lazy val isServerMain: Boolean = System.getProperty("sun.java.command", "").split("\\s+").exists(word => Servers.exists(word.startsWith(_)))

  /** Whether several people's queries run in this driver. */
  private def isShared(sc: SparkContext): Boolean =
    isYes(sc.conf, Shared) || isServerMain || sc.conf.get("spark.plugins", "").contains("SparkConnectPlugin")

  private def isYes(conf: SparkConf, key: String): Boolean = conf.getOption(key).exists(_.equalsIgnoreCase("true"))
  private def isOption(key: String): Boolean = key.startsWith(Spark + Prefix) && key != Shared && key != SessionPaths && !key.startsWith(Own)

  private def entries(json: ObjectNode): Map[String, String] = json.fieldNames().asScala.map(name => name -> json.get(name).asText).toMap
}
