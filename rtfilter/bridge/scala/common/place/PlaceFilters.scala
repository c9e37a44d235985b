package org.apache.spark.sql.execution.rtfilter

import java.util.concurrent.atomic.AtomicLong
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.BaseJoinExec
import scala.util.Try

/**
 * First hook, at preparation and at every re-plan: shows the plan to the planner and puts in the placeholders that it answers.
 *
 * A plan in which every scan still waits gets its placeholders too. Adaptive execution may throw the next plan away, because that one has more
 * shuffles, and go on with this one. Checked on 4.3: AdaptiveSparkPlanExec compares the costs of both after this hook.
 *
 * `staticOnly`: there will be no moment at which keys could be filled in.
 */
class PlaceFilters(session: SparkSession, staticOnly: Boolean = false) extends Rule[SparkPlan] {
  private lazy val layer = new LayerSession(session)

  override def apply(plan: SparkPlan): SparkPlan = {
    QueryLog.prepared(layer, plan, staticOnly)
    if (!layer.enabled) plan
    else LayerTime.in(layer, "look")(try {
      GateChildren.noteStages(plan)
      FilterUnstagedPlans.markSeen(plan)
      UseStarTrees.tell(layer, plan)
      if (!PlaceFilters.concerns(plan) && !StaticPredicates.concerns(layer, plan) && !(layer.verify && UseStarTrees.isIn(plan)) || plan.exists(_.isInstanceOf[Gate])) plan
      else {
        if (Verification.wanted(layer, plan)) Verification.run(session, plan)
        LayerTime.in(layer, "compare")(QueryLog.answer(layer).flatMap(last => Try(last.onto(plan)).toOption.flatten)).getOrElse(place(plan))
      }
    } catch {
      case mismatch: ResultMismatch => throw mismatch
      case Survivable(e) => leaveAlone(plan, e)
    })
  }

  private def place(plan: SparkPlan): SparkPlan = {
    val started = System.nanoTime()
    val root = Snapshot.number(plan)
    val id = PlaceFilters.nextDecision()
    val nodes = LayerTime.in(layer, "snapshot")(Snapshot.nodes(root))
    LayerTime.in(layer, "conditions")(StaticPredicates.addTo(layer, root, nodes))
    val answer = LayerTime.in(layer, "ask for a plan")(
      layer.ask("plan", Seq("decision" -> id, "execution" -> layer.executionId, "static_only" -> staticOnly, "goes_on" -> layer.goesOn, "nodes" -> nodes)).json)
    for (field <- Seq("candidates", "placeholders", "unsettled") if !answer.path(field).isArray) throw new IllegalStateException(s"The planner's answer to a plan has no $field.")
    layer.warnOfIgnored()
    Json.items(answer, "warnings").foreach(warning => layer.warnOnce(warning.asText))
    val placements = Json.items(answer, "placeholders").map(Placement(_))
    val statics = Json.items(answer, "statics").map(StaticPlacement(_))
    val placed = if (placements.isEmpty && statics.isEmpty) plan else LayerTime.in(layer, "place")(new PlacedPlan(root, placements, statics).plan)
    val decision = Json.obj("decision" -> id, "ms" -> (System.nanoTime() - started) / 1e6, "candidates" -> answer.get("candidates"),
      "placeholders" -> answer.get("placeholders"), "warnings" -> Json.items(answer, "warnings"))
    placed.setTagValue(PlacedKey.Decision, Json.mapper.writeValueAsString(decision))
    QueryLog.planned(layer, id, decision)
    QueryLog.remember(layer, new ReusableAnswer(root, placements, statics, Json.items(answer, "unsettled").map(_.asInt), answer.path("wants_end").asBoolean(false)))
    if (!staticOnly) placed.foreach { case scan: FileSourceScanExec if RuntimeFilter.in(scan).nonEmpty => Footers.fetchAhead(layer, scan); case _ => }
    placed
  }

  private def leaveAlone(plan: SparkPlan, e: Throwable): SparkPlan = {
    val cause = e match { case _: Refused | _: HostUnavailable => None; case other => Some(other) }
    val text = s"${LayerSession.sentence(e)} The query runs as Spark planned it."
    layer.warnOnce(text, cause)
    val decision = Json.obj("candidates" -> Nil, "error" -> text)
    QueryLog.planned(layer, PlaceFilters.nextDecision(), decision)
    plan.setTagValue(PlacedKey.Decision, Json.mapper.writeValueAsString(decision))
    plan
  }
}

object PlaceFilters {
  private val decisions = new AtomicLong
  def nextDecision(): String = s"d${decisions.incrementAndGet()}"

  /** Without a join by equal keys and a scan that are still to run there is nothing to ask about. */
  def concerns(plan: SparkPlan): Boolean = plan.exists(hasKeys) && plan.exists(_.isInstanceOf[FileSourceScanExec])

  def hasKeys(plan: SparkPlan): Boolean = plan match { case join: BaseJoinExec => join.leftKeys.nonEmpty; case _ => false }

  /**
   * Whether nothing has run yet, or a scan's stage starts with this plan. Where each one waits for another stage still, that stage's end brings a
   * new plan, for which sizes are known better. Checked on 4.3: a stage starts once all stages below its exchange have ended.
   */
  def isDue(plan: SparkPlan): Boolean = {
    def waits(node: SparkPlan): Boolean =
      node match { case stage: QueryStageExec => !stage.isMaterialized; case other => other.isInstanceOf[Exchange] || other.children.exists(waits) }
    def scans(node: SparkPlan): Boolean = node.isInstanceOf[FileSourceScanExec] || !node.isInstanceOf[Exchange] && node.children.exists(scans)
    def starts(below: Seq[SparkPlan]): Boolean = below.exists(scans) && !below.exists(waits)
    !plan.exists(_.isInstanceOf[QueryStageExec]) || starts(Seq(plan)) || plan.exists(node => node.isInstanceOf[Exchange] && starts(node.children))
  }
}
