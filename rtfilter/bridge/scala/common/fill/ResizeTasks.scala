package org.apache.spark.sql.execution.rtfilter

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{CoalescedPartitionSpec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.exchange.ENSURE_REQUIREMENTS
import org.apache.spark.sql.internal.SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES

/**
 * Third hook, before a stage runs: shuffles that filters made smaller are cut into tasks as the planner says
 * (planner/decision/shuffle_tasks.py).
 *
 * Checked on 4.3: injected rules come after CoalesceShufflePartitions, which cuts all shuffles of a join at the same reducers. So all reads
 * that are cut alike are cut again alike, or none of them. Split partitions, of a skewed join or a local read, stand for several reads of one
 * reducer: a plan with any is left alone. So is a shuffle that a user asked for, whose size is that of files perhaps.
 */
class ResizeTasks(session: SparkSession) extends Rule[SparkPlan] {
  private lazy val layer = new LayerSession(session)

  override def apply(plan: SparkPlan): SparkPlan = try {
    val reads = plan.collect { case read: AQEShuffleReadExec => new CutRead(read) }
    if (reads.isEmpty || !layer.enabled || reads.exists(!_.read.isCoalescedRead)) plan
    else recut(plan, reads.groupBy(_.cut).values.filter(group => group.forall(_.known) && group.exists(_.filters.nonEmpty)).toSeq)
  } catch {
    case e if FillFilters.isCancellation(e) => throw e
    case Survivable(e) => layer.warnOnce(s"${LayerSession.sentence(e)} The query runs with the tasks that Spark planned."); plan
  }

  private def recut(plan: SparkPlan, groups: Seq[Seq[CutRead]]): SparkPlan = if (groups.isEmpty) plan else {
    val answers = Json.items(LayerTime.in(layer, "share out")(layer.ask("tasks", Seq("groups" -> groups.map(asked))).json), "groups")
    val cuts = groups.zip(answers).collect { case (group, answer) if !answer.isNull =>
      val cut = Json.items(answer, "ranges").map(range => range.get(0).asInt -> range.get(1).asInt)
      require(cut.head._1 == 0 && cut.last._2 == group.head.sizes.length && cut.forall(range => range._1 < range._2) && cut.zip(cut.drop(1)).forall { case (a, b) => a._2 == b._1 }, s"gaps in $cut.")
      group.head.cut -> cut
    }.toMap
    plan.transform { case read: AQEShuffleReadExec =>
      val old = new CutRead(read)
      cuts.get(old.cut).fold(read)(cut => read.copy(partitionSpecs = cut.map { case (first, end) =>
        CoalescedPartitionSpec(first, end, old.sizes.slice(first, end).sum) }))
    }
  }

  private def asked(group: Seq[CutRead]): Map[String, Any] = {
    val shuffles = group.distinctBy(_.statistics.get.shuffleId)
    Map("tasks" -> group.head.read.partitionSpecs.size, "advisory_bytes" -> session.sessionState.conf.getConf(ADVISORY_PARTITION_SIZE_IN_BYTES),
      "reducer_bytes" -> shuffles.map(_.sizes.toSeq).transpose.map(_.sum),
      "shuffles" -> shuffles.map(s => Map("bytes" -> s.sizes.sum, "rows" -> s.stage.get.getRuntimeStatistics.rowCount, "filters" -> s.filters)))
  }
}

/** A shuffle's read that Spark cut into runs of reducers. */
final class CutRead(val read: AQEShuffleReadExec) {
  val stage = Some(read.child).collect { case stage: ShuffleQueryStageExec => stage }
  val statistics = stage.flatMap(_.mapStats)
  lazy val sizes: Array[Long] = statistics.get.bytesByPartitionId
  lazy val filters: Seq[ObjectNode] = stage.get.shuffle.collect {
    case rows: RowFilterExec => RowMetrics(rows.filter, rows.metrics).toJson
    case scan: NarrowedScan => ScanMetrics(scan).toJson
  }
  def known: Boolean = statistics.isDefined && stage.get.shuffle.shuffleOrigin == ENSURE_REQUIREMENTS

  /** Equal for reads that are cut alike. */
  def cut: (Seq[Any], Int) = (read.partitionSpecs.map { case CoalescedPartitionSpec(first, end, _) => first -> end; case other => other }, stage.fold(-1)(_.shuffle.numPartitions))
}
