package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import java.io.{BufferedInputStream, BufferedOutputStream, BufferedReader, DataInputStream, DataOutputStream, EOFException, IOException, InputStreamReader}
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{CompletableFuture, ConcurrentHashMap, LinkedBlockingQueue, TimeUnit, TimeoutException}
import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.locks.ReentrantLock
import org.apache.spark.internal.Logging
import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

/** The planner can't be asked now; the query runs as Spark planned it. */
final class HostUnavailable(message: String, cause: Throwable = null) extends Exception(message, cause)

/** One answer: its JSON and its binary body. */
final class Answer(val json: ObjectNode, body: Array[Byte]) {
  private def slice(field: ObjectNode, width: Int): ByteBuffer =
    ByteBuffer.wrap(body, field.get("at").asInt, field.get("count").asInt * width).order(ByteOrder.LITTLE_ENDIAN)
  def longs(field: ObjectNode): Array[Long] = { val a = new Array[Long](field.get("count").asInt); slice(field, 8).asLongBuffer.get(a); a }
  def ints(field: ObjectNode): Array[Int] = { val a = new Array[Int](field.get("count").asInt); slice(field, 4).asIntBuffer.get(a); a }
  def bytes(field: ObjectNode): Array[Byte] = { val a = new Array[Byte](field.get("count").asInt); slice(field, 1).get(a); a }
}

/** One run of the planner host: framed messages over its standard streams, answers in any order. docs/protocol.md has the format. */
final class HostProcess(python: String) extends Logging {
  private val process = {
    val builder = new ProcessBuilder(python, "-m", "rtfilter.host")
    builder.environment.put("PYTHONSAFEPATH", "1") // the driver's folder may hold a json.py
    builder.start()
  }
  private val pending = new ConcurrentHashMap[Long, CompletableFuture[Answer]]
  private val outbox = new LinkedBlockingQueue[(ObjectNode, Seq[Array[Byte]])]
  private val out = new DataOutputStream(new BufferedOutputStream(process.getOutputStream, 1 << 16))
  private val writing = new ReentrantLock
  /** Bytes of each request that has no answer yet, whoever has given up waiting for it; a host that reads nothing holds all of them in its pipe. */
  private val unanswered = new ConcurrentHashMap[Long, Integer]
  private val ids = new AtomicLong
  private val lastWords = mutable.Queue.empty[String]
  private val framesRead = new AtomicLong
  /** When it said something last, or was asked for something while it owed nothing. */
  @volatile private var heardAt = System.nanoTime()
  /** The frames read when a request ran out of time without another one meanwhile. */
  @volatile private var stalledAt = -1L
  /** What the pipe to the host holds, as the host says; a Linux user with many pipes gets small ones. Unknown means that nothing fits. */
  @volatile var pipeBytes = 0
  @volatile private var failure: Option[String] = None

  private val logThread = daemon("rtfilter-host-log")(forwardLog())
  daemon("rtfilter-host-write")(writeFrames())
  daemon("rtfilter-host-read")(readFrames())

  /** Done once the host has answered a greeting. */
  val ready = new CompletableFuture[Unit]

  def awaitReady(timeoutMs: Long): Unit = try ready.get(timeoutMs, TimeUnit.MILLISECONDS) catch {
    case _: TimeoutException => throw new HostUnavailable(s"the planner host was not ready within $timeoutMs ms (rtfilter.planner.timeoutMs)")
    case e: java.util.concurrent.ExecutionException => throw new HostUnavailable(e.getCause.getMessage, e.getCause)
  }

  def alive: Boolean = failure.isEmpty && process.isAlive
  def pid: Long = process.pid

  /**
   * Takes `message` over and waits at most `timeoutMs`. Of a host that said nothing all that time nobody waits for an answer until it says
   * something; when it has been silent for ten seconds it is taken for hung and is killed.
   */
  def ask(message: ObjectNode, body: Seq[Array[Byte]], timeoutMs: Long): Answer = {
    if (stalledAt == framesRead.get) {
      endIfHung(message)
      throw new HostUnavailable(failure.getOrElse(s"the planner host has not said anything for ${silentMs / 1000} s"))
    }
    val id = ids.incrementAndGet()
    if (pending.isEmpty) heardAt = System.nanoTime()
    val answer = new CompletableFuture[Answer]
    pending.put(id, answer)
    val before = framesRead.get
    try {
      send(message.put("id", id), body)
      failure.foreach(reason => answer.completeExceptionally(new HostUnavailable(reason)))
      answer.get(timeoutMs, TimeUnit.MILLISECONDS)
    } catch {
      case _: TimeoutException =>
        if (framesRead.get == before) { stalledAt = before; endIfHung(message) }
        throw new HostUnavailable(s"the planner host gave no answer to '${message.get("op").asText}' within $timeoutMs ms (rtfilter.planner.timeoutMs)")
      case e: java.util.concurrent.ExecutionException => throw new HostUnavailable(e.getCause.getMessage, e.getCause)
    } finally pending.remove(id)
  }

  private def silentMs: Long = (System.nanoTime() - heardAt) / 1000000
  private def endIfHung(message: ObjectNode): Unit =
    if (silentMs >= HostProcess.HungMs) fail(s"no answer to '${message.get("op").asText}', nor to anything else, for ${silentMs / 1000} s")

  def fail(reason: String): Unit = synchronized {
    process.destroyForcibly()
    if (failure.isEmpty) {
      logThread.join(500) // what it said last is the best explanation
      failure = Some(s"the planner host ($python) is gone: $reason$lastWordsText")
      pending.values.forEach(p => { p.completeExceptionally(new HostUnavailable(failure.get)); () })
    }
  }

  /** End of input ends the host; it is killed when it does not go. */
  def close(): Unit = {
    failure = Some("the application has ended")
    // A writer that a full pipe holds up has the stream's lock.
    if (writing.tryLock(1, TimeUnit.SECONDS)) try process.getOutputStream.close() catch { case NonFatal(_) => } finally writing.unlock()
    if (!process.waitFor(1, TimeUnit.SECONDS)) process.destroyForcibly()
  }

  private def lastWordsText: String = lastWords.synchronized { if (lastWords.isEmpty) "" else lastWords.mkString("; it said: ", " | ", "") }

  /** What surely fits into the pipe is written at once, for a switch of threads takes as long as planning; all else by a thread that may hang. */
  private def send(message: ObjectNode, body: Seq[Array[Byte]]): Unit =
    if (body.isEmpty && outbox.isEmpty && writing.tryLock()) try {
      val text = Json.mapper.writeValueAsBytes(message)
      if (unanswered.values.asScala.foldLeft(text.length + 8)(_ + _) <= pipeBytes / 4)
        try write(message, text, body) catch { case e: IOException => fail(String.valueOf(e.getMessage)) }
      else outbox.put((message, body))
    } finally writing.unlock()
    else outbox.put((message, body))

  private def writeFrames(): Unit = while (failure.isEmpty) Option(outbox.poll(10, TimeUnit.SECONDS)).foreach { case (message, body) =>
    writing.lock()
    try write(message, Json.mapper.writeValueAsBytes(message), body) finally writing.unlock()
  }

  private def write(message: ObjectNode, text: Array[Byte], body: Seq[Array[Byte]]): Unit = {
    val bodyLength = body.map(_.length).sum
    unanswered.put(message.get("id").asLong, text.length + bodyLength + 8)
    out.writeInt(text.length)
    out.writeInt(bodyLength)
    out.write(text)
    body.foreach(part => out.write(part))
    out.flush()
  }

  private def readFrames(): Unit = {
    val in = new DataInputStream(new BufferedInputStream(process.getInputStream, 1 << 16))
    while (true) {
      val (textLength, bodyLength) = (in.readInt(), in.readInt())
      if (textLength <= 0 || textLength > (256 << 20) || bodyLength < 0 || bodyLength > (1 << 30))
        throw new IllegalStateException(s"a frame of $textLength and $bodyLength bytes is none of ours")
      val text = new Array[Byte](textLength)
      val body = new Array[Byte](bodyLength)
      in.readFully(text)
      in.readFully(body)
      val json = Json.parse(text)
      heardAt = System.nanoTime()
      framesRead.incrementAndGet()
      unanswered.remove(json.path("id").asLong)
      Option(pending.get(json.path("id").asLong)).foreach(_.complete(new Answer(json, body)))
    }
  }

  private def forwardLog(): Unit = {
    val lines = new BufferedReader(new InputStreamReader(process.getErrorStream, UTF_8))
    Iterator.continually(lines.readLine()).takeWhile(_ != null).foreach { line =>
      lastWords.synchronized { lastWords.enqueue(line.take(300)); if (lastWords.size > 5) lastWords.dequeue() }
      logWarning(Masking(s"planner host: $line"))
    }
  }

  private def daemon(name: String)(body: => Unit): Thread = {
    val thread = new Thread(() =>
      try body catch {
        case _: EOFException => fail("it ended")
        case e: Throwable => fail(Option(e.getMessage).getOrElse(e.getClass.getSimpleName))
      }, name)
    thread.setDaemon(true)
    thread.start()
    thread
  }
}

object HostProcess {
  private val HungMs = 10000L
}
