package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.execution.metric.SQLMetric

/**
 * The planner's numbers for reading keys first: a row group is read by ranges where their pages have at most `mostShare` of its bytes. After `groups` row
 * groups it goes on as long as the bytes that were spared are `worth` times the key bytes that were decoded twice.
 */
final case class KeyFirst(mostShare: Double, groups: Int, worth: Double)

/** What the tasks of a scan in one executor have seen of it. Once it has stopped it does not begin again. */
final class KeyFirstSoFar(limits: KeyFirst) {
  private var (groups, spared, twice) = (0, 0L, 0L)
  @volatile private var going = true

  def isGoing: Boolean = going
  def fits(bytes: Long, of: Long): Boolean = bytes <= of * limits.mostShare
  /** Whether this row group was the one that stops it. */
  def add(sparedBytes: Long, twiceBytes: Long): Boolean = synchronized {
    groups += 1
    spared += sparedBytes
    twice += twiceBytes
    val stops = going && groups >= limits.groups && spared < twice * limits.worth
    if (stops) going = false
    stops
  }
}

/** What readers count: of row groups that hold a wanted row their pages, all and those that were read, and the rows that were handed on. */
final case class RangeCounts(packsByKeys: SQLMetric, rowsWanted: SQLMetric, pagesTotal: SQLMetric, pagesKept: SQLMetric, stops: SQLMetric)
