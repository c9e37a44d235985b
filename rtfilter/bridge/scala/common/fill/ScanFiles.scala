package org.apache.spark.sql.execution.rtfilter

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.FileIndex

/** The files that a scan may read, as Spark lists them, and a digest of their identities; listed once, by who needs them first. Sizes in bytes, times in ms. */
final class ScanFiles(location: FileIndex, partitionFilters: Seq[Expression]) {
  private lazy val files = location.listFiles(partitionFilters, Nil).flatMap(_.files)
  lazy val (paths, sizes, mtimes) = (files.map(_.getPath.toString).toArray, files.map(_.getLen).toArray, files.map(_.getModificationTime).toArray)
  lazy val digest: String = {
    val sha = MessageDigest.getInstance("SHA-256")
    paths.indices.foreach { i =>
      sha.update(paths(i).getBytes(UTF_8))
      sha.update(ByteBuffer.allocate(16).putLong(sizes(i)).putLong(mtimes(i)).array)
    }
    sha.digest().map(b => f"$b%02x").mkString
  }
}
