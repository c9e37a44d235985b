package org.apache.spark.sql.execution.rtfilter

import java.util.{Collections, WeakHashMap}
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions, SparkSessionExtensionsProvider}

/**
 * What `spark.sql.extensions` names: adaptive execution's hooks, one for plans without it, and hints on their way to the scans
 * (checked on 4.3).
 */
class RtFilterExtension extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    RtFilterExtension.given.add(extensions)
    extensions.injectHintResolutionRule(_ => KeepHintWords)
    // Called when a session analyses its first plan, before anything can be cloned from it that runs one.
    extensions.injectPostHocResolutionRule { session => new LayerSession(session).beginFamily(); ResolveTableHints }
    extensions.injectPostHocResolutionRule(session => new StartHost(session))
    extensions.injectPreCBORule(_ => SpreadTableHints)
    extensions.injectPreCBORule(session => new StartHost(session))
    extensions.injectPreCBORule(session => new UseStarTrees(session))
    extensions.injectQueryStagePrepRule(session => new PlaceFilters(session))
    extensions.injectQueryStageOptimizerRule(session => new FillFilters(session))
    extensions.injectQueryStageOptimizerRule(session => new ResizeTasks(session))
    extensions.injectColumnar(session => new FilterUnstagedPlans(session))
  }
}

object RtFilterExtension {
  private val given = Collections.newSetFromMap(Collections.synchronizedMap(new WeakHashMap[SparkSessionExtensions, java.lang.Boolean]))

  /** Whether a session, or the one that it was cloned from, was made with the extension. Asks for none of its state, which takes long to make. */
  def isIn(session: SparkSession): Boolean = given.contains(SparkVersion.extensions(session))
}
