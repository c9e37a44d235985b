package org.apache.spark.sql.execution.rtfilter

import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}

/**
 * What `spark.sql.extensions` names: adaptive execution's hooks, one for plans without it, and hints on their way to the scans
 * (checked on 4.3).
 */
class RtFilterExtension extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectHintResolutionRule(_ => KeepHintWords)
    // Called when a session analyses its first plan, before anything can be cloned from it that runs one.
    extensions.injectPostHocResolutionRule { session => new LayerSession(session).beginFamily(); ResolveTableHints }
    extensions.injectPreCBORule(_ => SpreadTableHints)
    extensions.injectQueryStagePrepRule(session => new PlaceFilters(session))
    extensions.injectQueryStageOptimizerRule(session => new FillFilters(session))
    extensions.injectQueryStageOptimizerRule(session => new CutAgain(session))
    extensions.injectColumnar(session => new NarrowAtOnce(session))
  }
}
