package org.apache.spark.sql.execution.rtfilter

import java.util.{Collections, LinkedHashMap, Map => JavaMap}

/** Maps for what nobody says the end of, such as sessions and tables: they keep the latest entries. */
object BoundedMap {
  /** A thread-safe map of at most that many entries; the one that was not used for the longest time goes first. */
  def apply[K, V](most: Int): JavaMap[K, V] = Collections.synchronizedMap(new LinkedHashMap[K, V](16, 0.75f, true) {
    override def removeEldestEntry(eldest: JavaMap.Entry[K, V]): Boolean = size > most
  })
}
