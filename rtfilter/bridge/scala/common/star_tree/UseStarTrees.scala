package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import java.io.File
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.trees.TreePattern.AGGREGATE
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.datasources.HadoopFsRelation

/**
 * Before costs are looked at and joins are put in order: asks the host of each aggregate whether a star-tree answers it. Where no table of
 * it has a tree nobody is asked. Runs once; checked on 4.3.
 */
class UseStarTrees(session: SparkSession) extends Rule[LogicalPlan] {
  private lazy val layer = new LayerSession(session)

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.containsPattern(AGGREGATE) || !layer.enabled || !layer.usesStarTrees) plan
    else plan.transformUpWithPruning(_.containsPattern(AGGREGATE)) {
      // What a stream keeps from batch to batch has the form of its aggregates.
      case aggregate: Aggregate if !aggregate.isStreaming => LayerTime.in(layer, "star-trees")(served(aggregate))
    }

  private def served(aggregate: Aggregate): LogicalPlan = try {
    val fragment = new StarFragment(aggregate, UseStarTrees.hasTrees(layer, _))
    if (fragment.isEmpty) aggregate
    else {
      val started = System.nanoTime()
      val id = PlaceFilters.nextDecision()
      val answer = ask(fragment)
      val used = Option(answer.get("used")).filterNot(_.isNull)
      val plan = used.fold[LogicalPlan](aggregate)(new TreePlan(session, fragment, _, id).plan)
      val decision = Json.obj("decision" -> id, "candidates" -> Nil, "placeholders" -> Nil, "star_trees" -> answer.get("trees"),
        "warnings" -> Json.items(answer, "warnings"), "ms" -> (System.nanoTime() - started) / 1e6)
      Json.items(answer, "warnings").foreach(warning => layer.warnOnce(warning.asText))
      if (used.isDefined) plan.setTagValue(UseStarTrees.Original, aggregate)
      told(plan, id, decision)
    }
  } catch {
    case Survivable(e) =>
      val error = s"${LayerSession.sentence(e)} The aggregate is computed from its table."
      layer.warnOnce(error, e match { case _: Refused | _: HostUnavailable => None; case other => Some(other) })
      val id = PlaceFilters.nextDecision()
      told(aggregate, id, Json.obj("decision" -> id, "candidates" -> Nil, "placeholders" -> Nil, "star_trees" -> Nil, "error" -> error))
  }

  /** For reports of the query, and of plans that never run. */
  private def told(plan: LogicalPlan, id: String, decision: ObjectNode): LogicalPlan = {
    plan.setTagValue(UseStarTrees.Decision, Json.mapper.writeValueAsString(decision))
    QueryLog.planned(layer, id, decision)
    plan
  }

  /** File lists are told once: a list that the host does not know goes with the second question. */
  private def ask(fragment: StarFragment): JsonNode = {
    def asked(lists: Seq[Int]): JsonNode = layer.ask("star", Seq("fragment" -> fragment.toJson, "lists" -> lists.map { n =>
      val files = fragment.files(n)
      Json.obj("digest" -> files.digest, "paths" -> files.paths.toSeq, "sizes" -> files.sizes.toSeq, "mtimes" -> files.mtimes.toSeq)
    })).json
    val first = asked(Nil)
    val unknown = Json.items(first, "unknown").map(_.asInt)
    if (unknown.isEmpty) first else asked(unknown)
  }
}

object UseStarTrees {
  private val Folder = "@star_trees"
  val Decision: TreeNodeTag[String] = TreeNodeTag[String]("rtfilter.starTrees")
  val Original: TreeNodeTag[LogicalPlan] = TreeNodeTag[LogicalPlan]("rtfilter.withoutStarTree")

  private def hasTrees(layer: LayerSession, relation: HadoopFsRelation): Boolean =
    if (layer.storeLocation.nonEmpty) isThere(new Path(layer.storeLocation, Folder))
    else StaticPredicates.places(relation.location.rootPaths).exists(place => isThere(new Path(new Path(place, "_rtfilter"), Folder)))

  private def isThere(place: Path): Boolean = StaticPredicates.isLocal(place) && new File(place.toUri.getPath).isDirectory

  /** What was decided of the aggregates of a physical plan. Checked on 4.3: an aggregate's logical link is the plan's own node. */
  def decisions(plan: SparkPlan): Seq[String] = plan.collect { case node => node.logicalLink.flatMap(_.getTagValue(Decision)) }.flatten.distinct

  /** Into the record of the execution, when its plan is first prepared. */
  def tell(layer: LayerSession, plan: SparkPlan): Unit = if (!plan.exists(_.isInstanceOf[QueryStageExec])) decisions(plan).map(Json.parse).foreach(told =>
    QueryLog.planned(layer, told.get("decision").asText, told))

  /** Whether rows of a tree are read. */
  def isIn(plan: SparkPlan): Boolean = plan.exists { case TreeFiles(_, _) => true; case _ => false }

  /** A plan with the tables of its query where it reads trees, to be looked at and not to be run. Tags as in `decisions`. */
  def undone(plan: SparkPlan): SparkPlan = if (!isIn(plan)) plan else plan.transformDown {
    case node if original(node).isDefined => node.session.sessionState.planner.plan(original(node).get).next()
  }

  private def original(node: SparkPlan): Option[LogicalPlan] = node.logicalLink.flatMap(_.getTagValue(Original))

  /** A plan as it was before trees, its subqueries too. */
  def undone(plan: LogicalPlan): LogicalPlan = plan.transformDownWithSubqueries { case node if node.getTagValue(Original).isDefined => node.getTagValue(Original).get }
}
