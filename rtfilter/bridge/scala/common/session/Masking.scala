package org.apache.spark.sql.execution.rtfilter

/** Secrets that stand in URIs, masked in what goes into Spark's log: rtfilter/masking.py says what is masked. */
object Masking {
  private val UserInfo = """(?<![\w+.-])((?!abfss?:|wasbs?:)[a-zA-Z][a-zA-Z0-9+.-]*://)[^/@\s"'\\?#]+@""".r
  private val Query = """(?<![\w+.-])([a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'\\?#]*)\?[^\s"'\\]+""".r

  def apply(text: String): String = Query.replaceAllIn(UserInfo.replaceAllIn(text, "$1***@"), "$1?***")
}
