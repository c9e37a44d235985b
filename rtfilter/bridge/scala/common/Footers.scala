package org.apache.spark.sql.execution.rtfilter

import java.nio.{ByteBuffer, ByteOrder}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.FileSourceScanExec
import scala.util.Try
import scala.util.control.NonFatal

/** Tells the host which files a scan reads, and reads through Hadoop's FileSystem the footers that the host asks for. */
object Footers extends Logging {
  private val WaitMs = 60000L
  private val BatchBytes = 32 << 20
  private val LargestFooter = 256 << 20

  /** In the background, from the moment a placeholder is set. */
  def fetchAhead(layer: LayerSession, scan: FileSourceScanExec): Unit = PlannerHost.background.execute(() =>
    try {
      val columns = RuntimeFilter.in(scan).filterNot(_.isStatic).flatMap(_.references.toSeq.map(_.name)).distinct
      val files = ScanFiles.of(scan)
      val known = layer.ask("files", Seq("digest" -> files.digest, "columns" -> columns), timeoutMs = Some(WaitMs)).json
      if (!known.path("known").asBoolean(false)) fetch(layer, scan, files, columns)
    } catch { case NonFatal(e) => logDebug(s"rtfilter: footers of ${Snapshot.tableName(scan)} were not fetched ahead", e) })

  def fetch(layer: LayerSession, scan: FileSourceScanExec, files: ScanFiles, columns: Seq[String]): Unit = {
    val wanted = layer.ask("file_list", Seq("digest" -> files.digest, "columns" -> columns, "paths" -> files.paths.toSeq,
      "sizes" -> files.sizes.toSeq, "mtimes" -> files.mtimes.toSeq), timeoutMs = Some(WaitMs)).json
    val indices = Json.items(wanted, "read").map(_.asInt)
    if (indices.nonEmpty) {
      val relation = scan.relation
      val conf = relation.sparkSession.sessionState.newHadoopConfWithOptions(relation.options)
      send(layer, files, indices, conf)
    }
  }

  private def send(layer: LayerSession, files: ScanFiles, indices: Seq[Int], conf: Configuration): Unit = {
    var batch = Vector.empty[(Int, Try[Array[Byte]])]
    def size = batch.map(_._2.map(_.length).getOrElse(0)).sum
    def flush(): Unit = {
      var at = 0
      val items = batch.map {
        case (i, scala.util.Success(bytes)) => val item = Json.obj("index" -> i, "at" -> at, "count" -> bytes.length); at += bytes.length; item
        case (i, scala.util.Failure(e)) => Json.obj("index" -> i, "error" -> String.valueOf(e.getMessage))
      }
      layer.ask("footers", Seq("digest" -> files.digest, "items" -> items), batch.flatMap(_._2.toOption), Some(WaitMs))
      batch = Vector.empty
    }
    // Remote reads wait for the network, not for a core.
    indices.grouped(64).foreach { group =>
      val read = group.par(16)(i => i -> Try(tail(new Path(files.paths(i)), files.sizes(i), conf)))
      batch ++= read
      if (size > BatchBytes) flush()
    }
    if (batch.nonEmpty) flush()
  }

  private implicit class InParallel[A](items: Seq[A]) {
    def par[B](threads: Int)(f: A => B): Seq[B] = {
      val pool = java.util.concurrent.Executors.newFixedThreadPool(math.min(threads, items.size))
      try items.map(a => pool.submit(() => f(a))).map(_.get()) finally pool.shutdown()
    }
  }

  /** The file's footer, its length and the magic: the last bytes of a Parquet file. */
  private def tail(path: Path, size: Long, conf: Configuration): Array[Byte] = {
    val in = path.getFileSystem(conf).open(path)
    try {
      val end = new Array[Byte](8)
      in.readFully(size - 8, end)
      val footer = ByteBuffer.wrap(end).order(ByteOrder.LITTLE_ENDIAN).getInt
      if (footer <= 0 || footer > math.min(size - 8, LargestFooter)) throw new IllegalStateException(s"$path has no Parquet footer")
      val bytes = new Array[Byte](footer + 8)
      in.readFully(size - bytes.length, bytes)
      bytes
    } finally in.close()
  }
}
