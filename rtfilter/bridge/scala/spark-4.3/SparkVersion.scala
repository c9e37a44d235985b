package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.{classic, SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.analysis.FunctionRegistryBase
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{FileSourceScanExec, QueryExecution}
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetOptions}

/** What differs between Spark versions and fits a line. This folder: 4.3. */
object SparkVersion {
  /** Exactly Spark's own Parquet reader: subclasses (Delta's, say) may add meaning, and 4.3 can read streams and archives. */
  def readsPlainParquet(scan: FileSourceScanExec): Boolean = isPlainParquet(scan.relation) && scan.stream.isEmpty

  def isPlainParquet(relation: HadoopFsRelation): Boolean = relation.fileFormat.getClass == classOf[ParquetFileFormat] &&
    !new ParquetOptions(relation.options, relation.sparkSession.sessionState.conf).archiveFormatEnabled

  /** A query in a clone of its session, with options set there and nowhere else. */
  def queryInOwnSession(session: SparkSession, logical: LogicalPlan, options: Map[String, String]): QueryExecution = {
    val own = session.asInstanceOf[classic.SparkSession].cloneSession()
    (options ++ Seq(LayerOptions.OfFrame -> "true", LayerOptions.Family -> sessionId(own))).foreach { case (key, value) => own.conf.set(key, value) }
    classic.Dataset.ofRows(own, logical).queryExecution
  }

  /** What a clone of a session takes over, to be compared: conf, current catalog and schema, temporary views, functions. Views and functions by identity. */
  def stateOf(session: SparkSession): AnyRef = {
    val state = session.asInstanceOf[classic.SparkSession].sessionState
    def entries(functions: FunctionRegistryBase[_]) = functions.listFunction().map(id => id -> functions.lookupFunctionBuilder(id).map(b => System.identityHashCode(b))).toMap
    val views = state.catalog.listLocalTempViews("*").map(id => id.table -> state.catalog.getRawTempView(id.table).map(v => System.identityHashCode(v))).toMap
    (state.conf.getAllConfs, state.catalogManager.currentCatalog.name, state.catalogManager.currentNamespace.toSeq, views,
      entries(state.functionRegistry), entries(state.tableFunctionRegistry), state.experimentalMethods.extraStrategies, state.experimentalMethods.extraOptimizations)
  }

  /** One object for a session and all that are cloned from it. */
  def extensions(session: SparkSession): SparkSessionExtensions = session.asInstanceOf[classic.SparkSession].extensions

  def sessionId(session: SparkSession): String = session.asInstanceOf[classic.SparkSession].sessionUUID
}
