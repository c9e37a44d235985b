package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import java.util.concurrent.{ConcurrentHashMap, Executors, ExecutorService, ThreadFactory}
import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd, SparkListenerEvent}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

/** The planner host of one Spark application: started ahead of need, restarted with back-off, ended with the application. */
final class PlannerHost(sc: SparkContext) extends Logging {
  private var process: Option[HostProcess] = None
  private var failures = 0
  private var notBefore = 0L
  private var lastFailure = ""
  private var ended = false
  @volatile private var optionDefaults: Map[String, String] = Map.empty

  sc.addSparkListener(new SparkListener {
    override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = close()
    override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
      case end: SparkListenerSQLExecutionEnd => QueryLog.finished(PlannerHost.this, end)
      case _ =>
    }
  })

  /** The interpreter of the process that has attached to the application, for where the SparkConf names none. */
  @volatile var offeredPython: Option[String] = None
  def default(option: String): Option[String] = optionDefaults.get(option)
  def pid: Long = synchronized(process.filter(_.alive).map(_.pid).getOrElse(-1L))

  @volatile private var wanted = false

  /** Starts the host in the background, once, while Spark still optimises the query that will ask it. */
  def startAhead(python: => String): Unit = if (!wanted) {
    wanted = true
    PlannerHost.greeters.execute(() => try running(python) catch { case NonFatal(e) => logWarning(Masking(s"rtfilter: ${e.getMessage}")) })
  }
  def isWanted: Boolean = wanted

  def ask(python: String, timeoutMs: Long, message: ObjectNode, body: Seq[Array[Byte]] = Nil): Answer = {
    val began = System.nanoTime()
    val host = running(python)
    try {
      host.awaitReady(timeoutMs)
      val answer = host.ask(message, body, math.max(1L, timeoutMs - (System.nanoTime() - began) / 1000000))
      synchronized { failures = 0 }
      answer
    } catch { case e: HostUnavailable => if (!host.alive) retire(host, e.getMessage); throw e }
  }

  private def running(python: String): HostProcess = synchronized {
    if (ended) throw new HostUnavailable("the application has ended")
    process.filterNot(_.alive).foreach(dead => retire(dead, "it ended"))
    process.getOrElse {
      val wait = notBefore - System.currentTimeMillis()
      if (wait > 0) throw new HostUnavailable(lastFailure)
      val host = try new HostProcess(python) catch {
        case NonFatal(e) => retire(null, s"the planner host can't be started with spark.rtfilter.python=$python: ${e.getMessage}"); throw new HostUnavailable(lastFailure, e)
      }
      process = Some(host)
      PlannerHost.greeters.execute(() => greet(host))
      host
    }
  }

  private def greet(host: HostProcess): Unit = try {
    val answer = host.ask(Json.obj("op" -> "hello", "protocol" -> PlannerHost.Protocol), Nil, PlannerHost.StartMs)
    val spoken = answer.json.path("protocol").asInt
    if (spoken != PlannerHost.Protocol) throw new HostUnavailable(s"the planner host speaks protocol $spoken, this jar ${PlannerHost.Protocol}: rebuild the jar")
    val defaults = answer.json.get("defaults")
    host.pipeBytes = answer.json.path("pipe_bytes").asInt
    host.ready.complete(())
    optionDefaults = defaults.fieldNames().asScala.map(name => name -> defaults.get(name).asText).toMap
  } catch { case NonFatal(e) =>
    host.fail(String.valueOf(e.getMessage))
    retire(host, String.valueOf(e.getMessage))
    host.ready.completeExceptionally(e)
  }

  private def retire(host: HostProcess, reason: String): Unit = synchronized {
    if (host == null || process.contains(host)) {
      process = None
      failures += 1
      lastFailure = reason
      notBefore = System.currentTimeMillis() + math.min(60000L, 1000L << math.min(failures - 1, 6))
    }
  }

  private def close(): Unit = {
    val last = synchronized { ended = true; val p = process; process = None; p }
    last.foreach(_.close())
    PlannerHost.forget(sc)
  }
}

object PlannerHost {
  val Protocol = 3
  private val StartMs = 15000L
  private val hosts = new ConcurrentHashMap[SparkContext, PlannerHost]

  /** Listing files and fetching footers ahead of the fill. */
  val background: ExecutorService = Executors.newFixedThreadPool(4, daemons("rtfilter-background"))
  private val greeters = Executors.newCachedThreadPool(daemons("rtfilter-greeter"))

  private def daemons(name: String): ThreadFactory = (work: Runnable) => { val t = new Thread(work, name); t.setDaemon(true); t }

  def of(session: SparkSession): PlannerHost = hosts.computeIfAbsent(session.sparkContext, sc =>
    if (sc.isStopped) throw new HostUnavailable("the application has ended") else new PlannerHost(sc))
  private def forget(sc: SparkContext): Unit = hosts.remove(sc)
}
