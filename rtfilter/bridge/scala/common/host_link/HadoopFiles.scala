package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import java.io.{ByteArrayOutputStream, FileNotFoundException}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.hadoop.fs.Options.CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE
import org.apache.hadoop.io.IOUtils
import org.apache.spark.api.java.JavaRDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

/**
 * Carries out single steps on files of any filesystem that Spark reaches, with Hadoop's configuration and credentials: for indexes and
 * tables that Python can't open. What is done, and in which order, is the asker's to know (docs/protocol.md, "index_files").
 */
object HadoopFiles {
  // A fresh copy of Hadoop's configuration with the session's entries (newHadoopConf checked on 4.3).
  def confOf(session: SparkSession): Configuration = session.sessionState.newHadoopConf()

  /** The steps of a JSON array, one after the other: an array of their answers. */
  def steps(session: SparkSession, wishes: String): String = {
    val conf = confOf(session)
    Json.mapper.writeValueAsString(Json.array(Json.mapper.readTree(wishes).elements.asScala.map(step(conf, _)).toSeq))
  }

  /** One step; what goes wrong is in its answer. */
  def step(conf: Configuration, wish: JsonNode): ObjectNode = try {
    val path = new Path(wish.get("path").asText)
    val fs = path.getFileSystem(conf)
    wish.get("op").asText match {
      case "qualify" => Json.obj("path" -> fs.makeQualified(path).toString, "scheme" -> fs.getUri.getScheme,
        "conditional" -> fs.hasPathCapability(path, FS_OPTION_CREATE_CONDITIONAL_OVERWRITE))
      case "status" => entry(fs.getFileStatus(path))
      case "list" => Json.obj("entries" -> fs.listStatus(path).toSeq.map(entry))
      case "text" => Json.obj("text" -> new String(opened(fs, path)(_.readNBytes(wish.get("most").asInt)), UTF_8))
      case "down" => opened(fs, path)(IOUtils.copyBytes(_, Files.newOutputStream(Paths.get(wish.get("local").asText)), wish.get("most").asLong, true)); Json.obj()
      case "up" => fs.copyFromLocalFile(false, true, new Path("file", null, wish.get("local").asText), path); Json.obj()
      case "rename" => Json.obj("done" -> fs.rename(path, new Path(wish.get("to").asText)))
      case "delete" => Json.obj("done" -> fs.delete(path, false))
    }
  } catch {
    case _: FileNotFoundException => Json.obj("missing" -> true)
    case NonFatal(e) => Json.obj("error" -> e.toString)
  }

  /**
   * Makes a file that is not there yet; fails if it is. `conditional`: for stores that make objects in close(), and there check the name.
   * After a failed write nothing is closed: that would publish half a file on such a store.
   */
  def create(session: SparkSession, path: String, content: Array[Byte], conditional: Boolean): Unit = {
    val target = new Path(path)
    val fs = target.getFileSystem(confOf(session))
    val out = if (!conditional) fs.create(target, false)
    else fs.createFile(target).create().recursive().must(FS_OPTION_CREATE_CONDITIONAL_OVERWRITE, true).build()
    out.write(content)
    out.close()
  }

  def read(session: SparkSession, path: String, at: Long, count: Int): Array[Byte] =
    opened(new Path(path).getFileSystem(confOf(session)), new Path(path)) { in => val bytes = new Array[Byte](count); in.readFully(at, bytes); bytes }

  /**
   * A record for each request, made in a task of its own: a length (int, big-endian), the request's JSON of that length with what the
   * file's size and time were afterwards, and the bytes of its `ranges` (pairs of offset and count). For tables that only Spark can open.
   */
  def parts(session: SparkSession, requests: java.util.List[String]): JavaRDD[Array[Byte]] = {
    val conf = new SerializableConfiguration(confOf(session))
    JavaRDD.fromRDD(session.sparkContext.parallelize(requests.asScala.toSeq, math.max(1, requests.size)).map(part(_, conf.value)))
  }

  private def part(request: String, conf: Configuration): Array[Byte] = {
    val header = Json.parse(request)
    val bytes = new ByteArrayOutputStream
    try {
      val path = new Path(header.get("path").asText)
      val fs = path.getFileSystem(conf)
      opened(fs, path)(in => Json.items(header, "ranges").foreach { range =>
        val part = new Array[Byte](range.get(1).asInt)
        in.readFully(range.get(0).asLong, part)
        bytes.write(part)
      })
      header.set[JsonNode]("after", entry(fs.getFileStatus(path)))
    } catch { case NonFatal(e) => bytes.reset(); header.put("error", e.toString) }
    val text = Json.mapper.writeValueAsBytes(header)
    ByteBuffer.allocate(4 + text.length + bytes.size).putInt(text.length).put(text).put(bytes.toByteArray).array()
  }

  private def entry(status: FileStatus): ObjectNode = Json.obj("path" -> status.getPath.toString, "name" -> status.getPath.getName,
    "directory" -> status.isDirectory, "bytes" -> status.getLen, "mtime_ms" -> status.getModificationTime)

  private def opened[A](fs: FileSystem, path: Path)(use: org.apache.hadoop.fs.FSDataInputStream => A): A = {
    val in = fs.open(path)
    try use(in) finally in.close()
  }
}
