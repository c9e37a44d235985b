package org.apache.spark.shuffle.sort

import java.io.IOException
import java.util.concurrent.atomic.AtomicInteger
import org.apache.spark.{SparkConf, TaskContext}
import org.apache.spark.shuffle.{ShuffleHandle, ShuffleReader, ShuffleReadMetricsReporter}

/** Spark's own, on a driver that reaches no executor: only tasks can read. */
class ExecutorsOnlyShuffleManager(conf: SparkConf) extends SortShuffleManager(conf) {
  override def getReader[K, C](handle: ShuffleHandle, startMapIndex: Int, endMapIndex: Int, startPartition: Int, endPartition: Int,
      context: TaskContext, metrics: ShuffleReadMetricsReporter): ShuffleReader[K, C] =
    if (TaskContext.get() != null) super.getReader(handle, startMapIndex, endMapIndex, startPartition, endPartition, context, metrics)
    else {
      ExecutorsOnlyShuffleManager.refused.incrementAndGet()
      throw new IOException("There is no way from here to there.")
    }
}

object ExecutorsOnlyShuffleManager {
  val refused = new AtomicInteger
}
