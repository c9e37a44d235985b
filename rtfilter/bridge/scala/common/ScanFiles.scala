package org.apache.spark.sql.execution.rtfilter

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import org.apache.spark.sql.catalyst.expressions.PlanExpression
import org.apache.spark.sql.execution.FileSourceScanExec

/** The files that a scan may read, as Spark lists them, and a digest of their identities. Sizes in bytes, times in ms. */
final class ScanFiles(val paths: Array[String], val sizes: Array[Long], val mtimes: Array[Long]) {
  lazy val digest: String = {
    val sha = MessageDigest.getInstance("SHA-256")
    paths.indices.foreach { i =>
      sha.update(paths(i).getBytes(UTF_8))
      sha.update(ByteBuffer.allocate(16).putLong(sizes(i)).putLong(mtimes(i)).array)
    }
    sha.digest().map(b => f"$b%02x").mkString
  }
}

object ScanFiles {
  /** Partition filters that hold a subquery (dynamic partition pruning) are left out: the list may only be too long. */
  def of(scan: FileSourceScanExec): ScanFiles = {
    val static = scan.partitionFilters.filterNot(_.exists(_.isInstanceOf[PlanExpression[_]]))
    val files = scan.relation.location.listFiles(static, Nil).flatMap(_.files)
    new ScanFiles(files.map(_.getPath.toString).toArray, files.map(_.getLen).toArray, files.map(_.getModificationTime).toArray)
  }
}
