package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.JsonNode

/** How keys are made of a column's values: `sign · value + by` for values from `low` to `high`. Those outside are kept, whatever the keys are. */
final case class KeyShift(sign: Int, by: Long, low: Long, high: Long) {
  /** The column's value of a key. No value of 64 bits gives a key for which this wraps round: such a key adds one that is not needed. */
  def value(key: Long): Long = sign * (key - by)
  def covers(value: Long): Boolean = low <= value && value <= high
  def keepsOutside: Boolean = low > Long.MinValue || high < Long.MaxValue

  def test(keys: KeyTest): KeyTest = if (keepsOutside) new KeysBetween(keys, low, high) else keys

  /** The ranges of keys, all of them covered, and what is outside. */
  def ranges(keys: KeyRanges): KeyRanges = {
    val below = if (low > Long.MinValue) Array(low - 1) else Array.emptyLongArray
    val above = if (high < Long.MaxValue) Array(high + 1) else Array.emptyLongArray
    new KeyRanges(below.map(_ => Long.MinValue) ++ keys.lows ++ above, below ++ keys.highs ++ above.map(_ => Long.MaxValue))
  }
}

object KeyShift {
  def apply(json: JsonNode): KeyShift = KeyShift(json.get("sign").asInt, json.get("by").asLong,
    json.get("low").asLong(Long.MinValue), json.get("high").asLong(Long.MaxValue))
}
