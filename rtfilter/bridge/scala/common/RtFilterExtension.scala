package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}

/** What `spark.sql.extensions` names: adaptive execution's two hooks, and one for plans without it (checked on 4.3). */
class RtFilterExtension extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectQueryStagePrepRule(session => new PlaceFilters(session))
    extensions.injectQueryStageOptimizerRule(session => new FillFilters(session))
    extensions.injectColumnar(session => new NarrowAtOnce(session))
  }
}
