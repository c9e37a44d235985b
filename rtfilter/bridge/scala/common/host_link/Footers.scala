package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.JsonNode
import java.net.URI
import java.nio.{ByteBuffer, ByteOrder}
import java.util.concurrent.ConcurrentHashMap
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.util.SerializableConfiguration
import scala.util.{Try, Using}
import scala.util.chaining._
import scala.util.control.NonFatal

/** Tells the host which files a scan reads, and reads through Hadoop's FileSystem the footers that the host asks for. */
object Footers extends Logging {
  private val WaitMs = 60000L
  private val BatchBytes = 32 << 20
  // What one job brings gathers in the driver: footers have some 10 to 1,000 KB.
  private val FilesPerJob = 512
  // Remote reads wait for the network, not for a core: what one task, and the driver, reads side by side.
  private val Threads = 32
  // Most footers are smaller. A second request takes longer than bytes that nobody needs.
  private val FirstRead = 64 << 10
  private val LargestFooter = 256 << 20

  /** In the background, from the moment a placeholder is set. */
  def fetchAhead(layer: LayerSession, scan: FileSourceScanExec): Unit =
    fetchAhead(layer, scan, RuntimeFilter.in(scan).filterNot(_.isStatic).flatMap(_.references.toSeq.map(_.name)).distinct, judged(scan))

  /** The columns that packs will be judged by, with their types: several columns together are for rows only. */
  private def judged(scan: FileSourceScanExec): Map[String, String] =
    RuntimeFilter.in(scan).filterNot(_.isStatic).map(_.references.toSeq).collect { case Seq(column) => column.name -> column.dataType.catalogString }.toMap

  def fetchAhead(layer: LayerSession, scan: FileSourceScanExec, columns: Seq[String], judged: Map[String, String] = Map.empty): Unit = {
    // The execution's, which a thread in the background is not in.
    val files = QueryLog.files(layer, scan)
    PlannerHost.background.execute(() => try {
      val known = layer.ask("files", Seq("digest" -> files.digest, "columns" -> columns, "types" -> judged), timeoutMs = Some(WaitMs)).json
      val told = if (known.path("known").asBoolean(false)) known else list(layer, files, columns, judged, Some(WaitMs)).tap(bring(layer, scan, files, _))
      if (told.path("indexes").asBoolean(false)) bringIndexes(layer, files, columns)
    } catch { case NonFatal(e) => logDebug(s"rtfilter: footers of ${Snapshot.tableName(scan)} were not fetched ahead", e) })
  }

  /** For a query that waits: footers that the host can't read itself come later, in the background. */
  def tell(layer: LayerSession, scan: FileSourceScanExec, files: ScanFiles, columns: Seq[String]): Unit = {
    val wanted = list(layer, files, columns, Map.empty, None)
    PlannerHost.background.execute(() => try bring(layer, scan, files, wanted)
      catch { case NonFatal(e) => logDebug(s"rtfilter: footers of ${Snapshot.tableName(scan)} were not fetched", e) })
  }

  private def list(layer: LayerSession, files: ScanFiles, columns: Seq[String], judged: Map[String, String], timeoutMs: Option[Long]): JsonNode =
    layer.ask("file_list", Seq("digest" -> files.digest, "columns" -> columns, "types" -> judged, "paths" -> files.paths.toSeq,
      "sizes" -> files.sizes.toSeq, "mtimes" -> files.mtimes.toSeq), timeoutMs = timeoutMs).json

  private def bring(layer: LayerSession, scan: FileSourceScanExec, files: ScanFiles, wanted: JsonNode): Unit = {
    val indices = Json.items(wanted, "read").map(_.asInt)
    if (indices.nonEmpty) send(layer, files, indices, scan.relation.sparkSession.sessionState.newHadoopConfWithOptions(scan.relation.options))
  }

  /** Carries out what the host wants of indexes on filesystems that it can't open, until it wants nothing more. */
  private def bringIndexes(layer: LayerSession, files: ScanFiles, columns: Seq[String]): Unit = {
    val conf = HadoopFiles.confOf(layer.session)
    var answer = layer.ask("index_files", Seq("digest" -> files.digest, "columns" -> columns), timeoutMs = Some(WaitMs)).json
    while (answer.hasNonNull("look")) {
      val done = Json.items(answer, "wants").par(8)(HadoopFiles.step(conf, _))
      answer = layer.ask("index_files", Seq("look" -> answer.get("look"), "answers" -> done), timeoutMs = Some(WaitMs)).json
    }
  }

  private def send(layer: LayerSession, files: ScanFiles, indices: Seq[Int], conf: Configuration): Unit = {
    var batch = Vector.empty[Tail]
    var size = 0L
    def flush(): Unit = {
      var at = 0
      val items = batch.map {
        case Tail(i, Right(bytes)) => val item = Json.obj("index" -> i, "at" -> at, "count" -> bytes.length); at += bytes.length; item
        case Tail(i, Left(error)) => Json.obj("index" -> i, "error" -> error)
      }
      layer.ask("footers", Seq("digest" -> files.digest, "items" -> items), batch.flatMap(_.bytes.toOption), Some(WaitMs))
      batch = Vector.empty; size = 0
    }
    val wanted = indices.map(i => (i, files.paths(i), files.sizes(i)))
    def take(tails: Seq[Tail]): Unit = {
      tails.foreach { tail =>
        batch :+= tail
        size += tail.bytes.map(_.length).getOrElse(0)
        // A frame of a gigabyte would be the end of the host.
        if (size > BatchBytes) flush()
      }
      if (batch.nonEmpty) flush()
    }
    if (wanted.size >= layer.number("rtfilter.footers.jobFromFiles", 10000L)) wanted.grouped(FilesPerJob).foreach(group => take(readInTasks(layer.session.sparkContext, group, conf)))
    else Using.resource(new FooterClients(conf, wanted.size > Threads))(clients => wanted.grouped(8 * Threads).foreach(group => take(group.par(Threads)(read(_, clients)))))
  }

  /** A job of its own, not of the query whose execution and job group this thread has (local properties checked on 4.3). */
  private def readInTasks(sc: SparkContext, group: Seq[(Int, String, Long)], conf: Configuration): Seq[Tail] = {
    val shared = new SerializableConfiguration(conf)
    val before = sc.getLocalProperties
    sc.setLocalProperties(new java.util.Properties)
    try {
      sc.setJobGroup("rtfilter footers", s"rtfilter: footers of ${group.size} files")
      sc.parallelize(group, math.min(group.size, sc.defaultParallelism)).mapPartitions(files => Using.resource(new FooterClients(shared.value, many = true))(clients => files.toSeq.par(Threads)(read(_, clients)).iterator)).collect().toSeq
    } finally sc.setLocalProperties(before)
  }

  private def read(file: (Int, String, Long), clients: FooterClients): Tail =
    Tail(file._1, Try(tail(new Path(file._2), file._3, clients)).toEither.left.map(e => String.valueOf(e.getMessage)))

  private implicit class InParallel[A](items: Seq[A]) {
    def par[B](threads: Int)(f: A => B): Seq[B] = {
      val pool = java.util.concurrent.Executors.newFixedThreadPool(math.max(1, math.min(threads, items.size)))
      try items.map(a => pool.submit(() => f(a))).map(_.get()) finally pool.shutdown()
    }
  }

  /** The file's footer, its length and the magic: the last bytes of a Parquet file. Told the length, S3A asks for no status (openFile checked on Hadoop 3.5). */
  private def tail(path: Path, size: Long, clients: FooterClients): Array[Byte] = {
    val in = clients.of(path).openFile(path).opt("fs.option.openfile.length", size.toString).opt("fs.option.openfile.read.policy", "random").build().get()
    def last(count: Int): Array[Byte] = { val bytes = new Array[Byte](count); in.readFully(size - count, bytes); bytes }
    try {
      val end = last(math.min(size, FirstRead).toInt)
      val footer = ByteBuffer.wrap(end).order(ByteOrder.LITTLE_ENDIAN).getInt(end.length - 8)
      if (footer <= 0 || footer > math.min(size - 8, LargestFooter)) throw new IllegalStateException(s"$path has no Parquet footer")
      if (footer + 8 <= end.length) end.takeRight(footer + 8) else last(footer + 8)
    } finally in.close()
  }
}

/** The raw end of file number `index` of a list, or why it can't be read. */
final case class Tail(index: Int, bytes: Either[String, Array[Byte]])

/**
 * The filesystems that footers are read from. S3A of Hadoop 3.5 has the stream type `analytics` by default. It asks for the status of each file first, and 32
 * threads together opened some 28 files a second at 30 ms a request, while the query's own tasks waited. `classic`, as before, takes one request a footer. A client of one's own
 * takes a moment to make, so a few footers are read with the query's.
 */
final class FooterClients(conf: Configuration, many: Boolean) extends AutoCloseable {
  private val own = new ConcurrentHashMap[URI, FileSystem]
  private lazy val classic = { val copy = new Configuration(conf); copy.set("fs.s3a.input.stream.type", "classic"); copy }

  def of(path: Path): FileSystem =
    if (many && path.toUri.getScheme == "s3a") own.computeIfAbsent(path.toUri.resolve("/"), FileSystem.newInstance(_, classic)) else path.getFileSystem(conf)

  override def close(): Unit = own.values.forEach(_.close())
}
