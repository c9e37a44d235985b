package org.apache.spark.sql.execution.rtfilter

import scala.collection.mutable

/**
 * How long the layer itself holds up a query in the driver, in nanoseconds by step. A step inside another one counts for itself only, so that all
 * steps add up to the whole. What runs in the background is not in it.
 */
final class LayerTime {
  private val spent = mutable.LinkedHashMap.empty[String, Long]
  def add(step: String, nanos: Long): Unit = synchronized { spent(step) = spent.getOrElse(step, 0L) + nanos }
  def toMs: Map[String, Double] = synchronized(spent.map { case (step, nanos) => step -> nanos / 1e6 }.toMap)
}

object LayerTime {
  private final class Step(val name: String, val outer: Step) {
    val began: Long = System.nanoTime()
    var inner = 0L
    var steps: List[(String, Long)] = Nil
  }
  private val current = new ThreadLocal[Step]

  /** Of the step that this thread is in, what another process took. */
  def elsewhere(name: String, nanos: Long): Unit = Option(current.get).foreach { step => step.inner += nanos; step.steps ::= name -> nanos }

  /** Runs `body` as a step of the execution that this thread is in; one that nobody keeps a record of is not counted. */
  def in[T](layer: LayerSession, name: String)(body: => T): T = {
    val step = new Step(name, current.get)
    current.set(step)
    try body finally {
      val took = System.nanoTime() - step.began
      val all = (name -> (took - step.inner)) :: step.steps
      current.set(step.outer)
      if (step.outer == null) QueryLog.spent(layer, all)
      else { step.outer.inner += took; step.outer.steps = all ::: step.outer.steps }
    }
  }
}
